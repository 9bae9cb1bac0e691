"""The policy held against the database: every table and column that it lists is there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from veil.core.errors import InputError
from veil.core.formatting import printable
from veil.dp.database.engines.engine import ANY, Column, Engine, Found, Statement, quoted
from veil.dp.database.pieces import select
from veil.dp.database.policy import ColumnRule, Key, Policy, TableRule
from veil.dp.database.times import canonical

_WHOLE = 2**63


@dataclass(frozen=True, slots=True)
class Listed:
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
    columns: Mapping[str, Listed]


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
    columns = [quoted(one.name) for one in [unit] if one] + list(map(quoted, listed))
    try:
        nothing = select(columns or ["1"], f"{found.sql} LIMIT 0")
        engine.run([Statement(nothing, ())])
    except Exception:  # noqa: BLE001 - of the engine, whichever it is
        raise InputError(
            f"The database does not let this user read the table '{printable(name)}'."
        ) from None
    return Table(name, found.sql, unit, rule.max_rows, rule.max_groups, listed)


def _column(table: str, name: str, found: Found) -> Column:
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


def _listed(table: str, name: str, rule: ColumnRule, found: Found) -> Listed:
    where = f"'{printable(table)}.{printable(name)}'"
    column = _typed(_column(table, name, found), rule, where)
    if rule.bounds is not None and column.kind != "number":
        raise InputError(f"The column {where} has bounds, but does not hold numbers.")
    keys = None if rule.keys is None else tuple(_key(key, column, where) for key in rule.keys)
    if keys is not None:
        keys = tuple(sorted(dict.fromkeys(keys), key=order))
    sure = column.nullable and rule.nullable
    return Listed(replace(column, nullable=sure), rule.bounds, keys)


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
