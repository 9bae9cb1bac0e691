"""What the owner of a database allows, held against the database.

What the owner of a database allows: the budget, the tables, whose rows they hold, and columns.

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

A column that is not listed cannot be named, and one without bounds cannot be added up. The ledger
is a file next to the policy; ``ledger = "none"`` gives every program the whole budget.
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
_BYTES = 10_000_000  # of a file
_LARGEST, _LEAST = 1e30, 1e-30  # bounds of a column, and how far apart
_KEYS = 100_000  # of a column


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


NO_LEDGER = "none"


class BudgetRule(_Part):
    """What all answers together may cost, and where that is written down.

    `ledger` is a file, shared by all programs that name it, or "none": every program that opens
    the database then has the whole budget, which the owner must say in so many words.
    """

    epsilon: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    accountant: Literal["basic", "advanced", "zcdp", "pld"] = "basic"
    ledger: str | None = None

    @model_validator(mode="after")
    def _holds(self) -> "BudgetRule":
        if not (self.ledger or "").strip():
            raise _unfit(
                "'ledger' must be a file that keeps what was spent, as \"people.ledger\", or"
                f' "{NO_LEDGER}" if every program may spend the whole budget again'
            )
        return self


class ColumnRule(_Part):
    """What may be done with a column, beyond comparing it.

    With ``nullable = false`` the owner says that it has no NULL, where the table does not say so:
    COUNT(*) then stands for COUNT of the column, too, and epsilon is split over fewer numbers.
    """

    bounds: tuple[float, float] | None = None
    keys: tuple[Key, ...] | None = None
    nullable: bool = True

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, given: Any) -> Any:  # noqa: ANN401 - checked right after
        if not isinstance(given, Mapping):
            return given
        made = dict(given)
        for name in ("bounds", "keys"):
            if isinstance(made.get(name), list | tuple):
                made[name] = tuple(map(_plain, made[name]))
        return made

    @model_validator(mode="after")
    def _holds(self) -> "ColumnRule":
        if self.bounds is not None and not self.bounds[0] < self.bounds[1]:
            raise _unfit("'bounds' must be two numbers, the lower one first")
        if self.bounds is not None and not _usable(*self.bounds):
            raise _unfit(f"'bounds' must be 0 or from {_LEAST:g} to {_LARGEST:g} in size")
        if self.keys is not None:
            _check_keys(self.keys)
        return self


class TableRule(_Part):
    """Whose rows a table holds, how many of a unit count, and which columns may be named.

    Without a `unit` every row is a unit of its own.
    """

    unit: str | None = None
    max_rows: Annotated[int, Field(ge=1, le=10**6)] = 1
    max_groups: Annotated[int, Field(ge=1, le=10**6)] = 1
    columns: dict[str, ColumnRule] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _holds(self) -> "TableRule":
        if self.unit is None and (self.max_rows, self.max_groups) != (1, 1):
            raise _unfit(
                "'max_rows' and 'max_groups' need a 'unit': without one every row is a unit"
            )
        return self


class Policy(_Part):
    """The whole policy, as it is written down."""

    budget: BudgetRule
    tables: Annotated[dict[str, TableRule], Field(min_length=1)]


class Loaded(NamedTuple):
    """A policy, and the folder that its ledger is looked up in."""

    policy: Policy
    folder: Path

    @property
    def ledger(self) -> Path | None:
        """Where the budget is kept, if it is."""
        named = self.policy.budget.ledger
        return None if named in (None, NO_LEDGER) else self.folder / Path(named).expanduser()


def load_policy(given: object) -> Loaded:
    """Read a policy from a mapping or a TOML file; whatever is wrong with it is said at once."""
    if isinstance(given, Policy):
        return Loaded(given, Path())
    if isinstance(given, Mapping):
        return Loaded(_checked(given), Path())
    if isinstance(given, str | Path):
        path = Path(given)
        return Loaded(_checked(_read(path)), path.parent)
    raise InputError("A policy must be a mapping or the path of a TOML file.")


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _BYTES:
            raise InputError(f"The policy {path} must have at most {_BYTES:,} bytes.")
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"The policy {path} cannot be read: {reason}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise InputError(
            f"The policy {path} must be a TOML file in UTF-8; check its quotes and brackets."
        ) from None
    except RecursionError:
        raise InputError(f"The policy {path} is nested too deeply.") from None


def _checked(given: Mapping[str, Any]) -> Policy:
    try:
        return Policy.model_validate(dict(given))
    except ValidationError as error:
        raise InputError(_sentence(error.errors())) from None


def _plain(value: object) -> object:
    """Return a day or a time as it is compared; a number of NumPy as one of Python."""
    if isinstance(value, datetime | date):
        return canonical(value)
    item = getattr(value, "item", None)
    return item() if callable(item) and not isinstance(value, int | float) else value


def _usable(low: float, high: float) -> bool:
    """Tell whether no arithmetic with bounds is too large or too small for doubles."""
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
        raise _unfit("'keys' must be all numbers or all texts")


def _unfit(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("unfit", "{sentence}", {"sentence": sentence})


def _sentence(details: list[ErrorDetails]) -> str:
    """Render the most telling error in one sentence: a misspelt name comes first."""
    detail = min(details, key=lambda each: each["type"] != "extra_forbidden")
    place = ".".join(part for part in map(str, detail["loc"]) if "[" not in part) or "its top"
    if detail["type"] == "extra_forbidden":
        return f"The policy has an entry '{place}' that is not known; check its spelling."
    if detail["type"] == "missing":
        return f"The policy lacks '{place}'; add it."
    if detail["type"] == "unfit":
        return f"In the policy, at {place}: {detail['msg']}."
    said = detail["msg"].replace("Input should be", "must be").partition(", got ")[0]
    return f"In the policy, {place} {said[:1].lower() + said[1:]}."


_WHOLE = 2**63


@dataclass(frozen=True, slots=True)
class ListedColumn:
    """A column that may be named: what it is, and what may be done with it."""

    column: Column
    bounds: tuple[float, float] | None
    keys: tuple[Key, ...] | None  # in their own order, as they are compared


@dataclass(frozen=True, slots=True)
class Table:
    """A table that may be asked; without a `unit` a row is a unit."""

    name: str
    sql: str
    unit: Column | None
    max_rows: int
    max_groups: int
    columns: Mapping[str, ListedColumn]


def tables_of(policy: Policy, engine: Engine) -> dict[str, Table]:
    """Return the tables of a policy as they are in a database, or say what is missing."""
    return {name: _table(name, rule, engine) for name, rule in policy.tables.items()}


def _table(name: str, rule: TableRule, engine: Engine) -> Table:
    found = engine.table(name)
    if found is None:
        raise InputError(
            f"The policy lists the table '{printable(name)}', which the database does not have; it"
            " must be a table and not a view, since a row of a view can be of several units."
        )
    unit = None if rule.unit is None else _column(name, rule.unit, found)
    listed = {one: _listed(name, one, its, found) for one, its in rule.columns.items()}
    columns = [quote_name(one.name) for one in [unit] if one] + list(map(quote_name, listed))
    try:
        nothing = select(columns or ["1"], f"{found.sql} LIMIT 0")
        engine.run([Statement(nothing, ())])
    except Exception:  # noqa: BLE001 - of the engine, whichever it is
        raise InputError(
            f"The database does not let this user read the table '{printable(name)}'."
        ) from None
    return Table(name, found.sql, unit, rule.max_rows, rule.max_groups, listed)


def _column(table: str, name: str, found: FoundTable) -> Column:
    where = f"'{printable(table)}.{printable(name)}'"
    if name not in found.columns:
        raise InputError(f"The policy names the column {where}, which the database does not have.")
    column = found.columns[name]
    if column is None:
        raise InputError(
            f"The column {where} is of a type that is not read: it must hold numbers, texts, truth"
            " values, days or times."
        )
    return column


def _listed(table: str, name: str, rule: ColumnRule, found: FoundTable) -> ListedColumn:
    where = f"'{printable(table)}.{printable(name)}'"
    column = _typed(_column(table, name, found), rule, where)
    if rule.bounds is not None and column.kind != "number":
        raise InputError(f"The column {where} has bounds, but does not hold numbers.")
    keys = None if rule.keys is None else tuple(_key(key, column, where) for key in rule.keys)
    if keys is not None:
        keys = tuple(sorted(dict.fromkeys(keys), key=order))
    sure = column.nullable and rule.nullable
    return ListedColumn(replace(column, nullable=sure), rule.bounds, keys)


def _typed(column: Column, rule: ColumnRule, where: str) -> Column:
    """Take the kind of a column that is of no type from what the policy says of it."""
    if column.read != ANY:
        return column
    if rule.bounds is None and not rule.keys:
        raise InputError(
            f"The column {where} is of no type; declare one, or give it bounds or keys in the"
            " policy."
        )
    texts = any(isinstance(key, str) for key in rule.keys or ())
    return replace(column, kind="text" if texts else "number")


def order(key: Key) -> tuple[bool, Key]:
    """Sort keys by themselves, with NULL before all others."""
    return (key is not None, 0 if key is None else key)


def _key(key: Key, column: Column, where: str) -> Key:
    """Return a key as it is compared."""
    if key is None:
        return None
    if column.kind == "time":
        key = canonical(key)
    if isinstance(key, str) != (column.kind != "number") or key is None:
        raise InputError(f"The keys of the column {where} must be of the kind that it holds.")
    if isinstance(key, str) and not storable(key):
        raise InputError(f"The keys of the column {where} must be texts in Unicode without NUL.")
    if column.whole and not (isinstance(key, int) and -_WHOLE <= key < _WHOLE):
        raise InputError(f"The keys of the column {where} must be whole numbers of 64 bits.")
    return key


def storable(text: str) -> bool:
    """Tell whether every engine can compare a text: no NUL, no halves of characters."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text
