"""Policies: the budget, tables and columns that the owner of a database allows.

::

    [budget]
    epsilon = 3.0
    delta = 1e-6
    accountant = "basic"
    ledger = "pums.ledger"

    [tables.visits]
    unit = "person"
    max_rows = 5
    max_groups = 2

    [tables.visits.columns]
    age = {bounds = [0, 100]}
    sex = {keys = [0, 1]}
    ward = {}

Queries can name only listed columns, and sum only columns with bounds. The ledger is a file next
to the policy; ``ledger = "none"`` gives every program the whole budget.
"""

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.core.errors import InputError
from veil.core.formatting import printable
from veil.dp.sql.engine import (
    ANY,
    Column,
    Engine,
    FoundTable,
    Statement,
    canonical,
    quote_name,
    select,
)

Key = str | int | float | bool | None
_BYTES = 10_000_000  # of a policy file
_LARGEST, _LEAST = 1e30, 1e-30  # magnitude of bounds, and their smallest difference
_KEYS = 100_000  # per column


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


NO_LEDGER = "none"


class BudgetRule(_Part):
    """The total budget of all answers, and its ledger.

    `ledger` is a file, shared by all programs that use it, or "none", which must be explicit:
    every program that opens the database then has the whole budget.
    """

    epsilon: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    accountant: Literal["basic", "advanced", "zcdp", "pld"] = "basic"
    ledger: str | None = None

    @model_validator(mode="after")
    def _holds(self) -> "BudgetRule":
        if not (self.ledger or "").strip():
            raise _unfit(
                "'ledger' must be a file that records spending, such as \"people.ledger\", or"
                f' "{NO_LEDGER}" if every program may spend the whole budget again'
            )
        return self


class ColumnRule(_Part):
    """What queries may do with a column, besides comparing it.

    With ``nullable = false`` the owner asserts that the column has no NULL even if the table does
    not declare it: COUNT of the column then equals COUNT(*), and epsilon is split over fewer
    numbers.
    """

    bounds: tuple[float, float] | None = None
    keys: tuple[Key, ...] | None = None
    nullable: bool = True

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, data: Any) -> Any:  # noqa: ANN401 - checked right after
        if not isinstance(data, Mapping):
            return data
        fields = dict(data)
        for name in ("bounds", "keys"):
            if isinstance(fields.get(name), list | tuple):
                fields[name] = tuple(map(_native, fields[name]))
        return fields

    @model_validator(mode="after")
    def _holds(self) -> "ColumnRule":
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise _unfit("'bounds' must be two numbers, the lower first")
        if self.bounds is not None and not _usable(*self.bounds):
            raise _unfit(f"'bounds' must be 0 or from {_LEAST:g} to {_LARGEST:g} in magnitude")
        if self.keys is not None:
            _check_keys(self.keys)
        return self


class TableRule(_Part):
    """The unit of a table, how many rows per unit count, and the listed columns.

    Without a `unit`, every row is a separate unit.
    """

    unit: str | None = None
    max_rows: Annotated[int, Field(ge=1, le=10**6)] = 1
    max_groups: Annotated[int, Field(ge=1, le=10**6)] = 1
    columns: dict[str, ColumnRule] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _holds(self) -> "TableRule":
        if self.unit is None and (self.max_rows, self.max_groups) != (1, 1):
            raise _unfit(
                "'max_rows' and 'max_groups' need a 'unit', because without one every row is a"
                " unit"
            )
        return self


class Policy(_Part):
    """A whole policy."""

    budget: BudgetRule
    tables: Annotated[dict[str, TableRule], Field(min_length=1)]


class Loaded(NamedTuple):
    """A policy, and the folder of its ledger."""

    policy: Policy
    folder: Path

    @property
    def ledger(self) -> Path | None:
        """Path of the ledger, or None."""
        name = self.policy.budget.ledger
        return None if name in (None, NO_LEDGER) else self.folder / Path(name).expanduser()


def load_policy(source: object) -> Loaded:
    """Return a policy from a mapping or a TOML file, or raise InputError."""
    if isinstance(source, Policy):
        return Loaded(source, Path())
    if isinstance(source, Mapping):
        return Loaded(_checked(source), Path())
    if isinstance(source, str | Path):
        path = Path(source)
        return Loaded(_checked(_read(path)), path.parent)
    raise InputError("A policy must be a mapping or the path of a TOML file.")


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _BYTES:
            raise InputError(f"The policy {path} must be at most {_BYTES:,} bytes.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"Cannot read the policy {path}: {reason}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(
            f"The policy {path} must be a TOML file in UTF-8. Check its quotes and brackets."
        ) from None
    except RecursionError:
        raise InputError(f"The policy {path} is nested too deeply.") from None


def _checked(data: Mapping[str, Any]) -> Policy:
    try:
        return Policy.model_validate(dict(data))
    except ValidationError as error:
        raise InputError(_sentence(error.errors())) from None


def _native(value: object) -> object:
    """Return a date or time in canonical form, and a NumPy number as a Python one."""
    if isinstance(value, datetime | date):
        return canonical(value)
    item = getattr(value, "item", None)
    return item() if callable(item) and not isinstance(value, int | float) else value


def _usable(low: float, high: float) -> bool:
    """Return whether arithmetic with these bounds stays within the range of doubles."""
    sizes = [abs(end) for end in (low, high) if end] + [high - low]
    return all(_LEAST <= size <= 2 * _LARGEST for size in sizes)


def _check_keys(keys: tuple[Key, ...]) -> None:
    if not keys or len(keys) > _KEYS:
        raise _unfit(f"'keys' must list 1 to {_KEYS:,} values")
    if len(set(keys)) < len(keys):
        raise _unfit("'keys' must list each value once")
    for key in keys:
        if isinstance(key, float) and not math.isfinite(key):
            raise _unfit("'keys' must be finite")
    kinds = {isinstance(key, str) for key in keys if key is not None}
    if len(kinds) > 1:
        raise _unfit("'keys' must be all numbers or all strings")


def _unfit(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("unfit", "{sentence}", {"sentence": sentence})


def _sentence(details: list[ErrorDetails]) -> str:
    """Return the most useful error as one sentence; misspelt names come first."""
    detail = min(details, key=lambda item: item["type"] != "extra_forbidden")
    place = ".".join(part for part in map(str, detail["loc"]) if "[" not in part) or "its top"
    if detail["type"] == "extra_forbidden":
        return f"The policy has an unknown entry '{place}'. Check its spelling."
    if detail["type"] == "missing":
        return f"The policy needs '{place}'. Add it."
    if detail["type"] == "unfit":
        return f"In the policy, at {place}: {detail['msg']}."
    message = detail["msg"].replace("Input should be", "must be").partition(", got ")[0]
    return f"In the policy, {place} {message[:1].lower() + message[1:]}."


_WHOLE = 2**63


@dataclass(frozen=True, slots=True)
class ListedColumn:
    """A column that queries can name, with its rule."""

    column: Column
    bounds: tuple[float, float] | None
    keys: tuple[Key, ...] | None  # sorted, in canonical form


@dataclass(frozen=True, slots=True)
class Table:
    """A table that can be queried; without a `unit`, each row is a unit."""

    name: str
    sql: str
    unit: Column | None
    max_rows: int
    max_groups: int
    columns: Mapping[str, ListedColumn]


def tables_of(policy: Policy, engine: Engine) -> dict[str, Table]:
    """Return the tables of a policy, checked against the database."""
    return {name: _table(name, rule, engine) for name, rule in policy.tables.items()}


def _table(name: str, rule: TableRule, engine: Engine) -> Table:
    source = engine.table(name)
    if source is None:
        raise InputError(
            f"The policy lists table '{printable(name)}', but the database has no such table."
            " Views are not allowed, because a row of a view can belong to several units."
        )
    unit = None if rule.unit is None else _column(name, rule.unit, source)
    listed = {
        column: _listed(name, column, column_rule, source)
        for column, column_rule in rule.columns.items()
    }
    columns = [quote_name(column.name) for column in [unit] if column] + list(
        map(quote_name, listed)
    )
    try:
        nothing = select(columns or ["1"], f"{source.sql} LIMIT 0")
        engine.run([Statement(nothing, ())])
    except Exception:  # noqa: BLE001 - of the engine, whichever it is
        raise InputError(f"This database user cannot read table '{printable(name)}'.") from None
    return Table(name, source.sql, unit, rule.max_rows, rule.max_groups, listed)


def _column(table: str, name: str, source: FoundTable) -> Column:
    where = f"'{printable(table)}.{printable(name)}'"
    if name not in source.columns:
        raise InputError(f"The policy lists column {where}, but the database has no such column.")
    column = source.columns[name]
    if column is None:
        raise InputError(
            f"Column {where} has an unsupported type. It must contain numbers, text, booleans,"
            " dates or times."
        )
    return column


def _listed(table: str, name: str, rule: ColumnRule, source: FoundTable) -> ListedColumn:
    where = f"'{printable(table)}.{printable(name)}'"
    column = _typed(_column(table, name, source), rule, where)
    if rule.bounds is not None and column.kind != "number":
        raise InputError(f"Column {where} has bounds in the policy, but does not contain numbers.")
    keys = None if rule.keys is None else tuple(_key(key, column, where) for key in rule.keys)
    if keys is not None:
        keys = tuple(sorted(dict.fromkeys(keys), key=order))
    sure = column.nullable and rule.nullable
    return ListedColumn(replace(column, nullable=sure), rule.bounds, keys)


def _typed(column: Column, rule: ColumnRule, where: str) -> Column:
    """Infer the kind of a column without a type from the policy."""
    if column.read != ANY:
        return column
    if rule.bounds is None and not rule.keys:
        raise InputError(
            f"Column {where} has no declared type. Declare one, or add bounds or keys to the"
            " policy."
        )
    texts = any(isinstance(key, str) for key in rule.keys or ())
    return replace(column, kind="text" if texts else "number")


def order(key: Key) -> tuple[bool, Key]:
    """Return a sort key: NULL first, then by value."""
    return (key is not None, 0 if key is None else key)


def _key(key: Key, column: Column, where: str) -> Key:
    """Return a key in canonical form, or raise InputError."""
    if key is None:
        return None
    if column.kind == "time":
        key = canonical(key)
    if isinstance(key, str) != (column.kind != "number") or key is None:
        raise InputError(f"The keys of column {where} must have the type of the column.")
    if isinstance(key, str) and not storable(key):
        raise InputError(f"The keys of column {where} must be Unicode text without NUL.")
    if column.whole and not (isinstance(key, int) and -_WHOLE <= key < _WHOLE):
        raise InputError(f"The keys of column {where} must be 64-bit integers.")
    return key


def storable(text: str) -> bool:
    """Return whether every engine can compare a string: no NUL, no lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
