"""What the owner of a database allows: the budget, the tables, whose rows they hold, and columns.

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

A column that is not listed cannot be named, and one without bounds cannot be added up.
"""

import math
import tomllib
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from veil.core.errors import InputError
from veil.dp.database.times import canonical

Key = str | int | float | bool | None
_BYTES = 10_000_000  # of a file
_LARGEST, _LEAST = 1e30, 1e-30  # bounds of a column, and how far apart
_KEYS = 100_000  # of a column


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, strict=True)


class BudgetRule(_Part):
    """What all answers together may cost."""

    epsilon: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(ge=0, lt=1)] = 0.0
    accountant: Literal["basic", "advanced", "zcdp", "pld"] = "basic"
    ledger: str | None = None


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
        return None if named is None else self.folder / Path(named).expanduser()


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
