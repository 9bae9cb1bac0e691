"""The rows of a query, as a subquery: whose they are, their groups, and numbers to add up."""

from collections.abc import Sequence
from dataclasses import dataclass

from veil.dp.database.bindings import Bindings
from veil.dp.database.conditions import Conditions
from veil.dp.database.engines.engine import quoted
from veil.dp.database.names import Place
from veil.dp.database.pieces import select
from veil.dp.database.plan import Plan
from veil.dp.database.quantities import TINY, Levels
from veil.dp.database.query import Query
from veil.dp.database.terms import Term, Terms, constant

_FEW = 64  # keys that have a mark each


@dataclass(frozen=True, slots=True)
class Rows:
    """A subquery with columns u (the unit), g0, g1 ... (the groups) and v0, v1 ... (values)."""

    sql: str
    keys: int
    values: int

    @property
    def groups(self) -> list[str]:
        """The names of the columns that groups are made by."""
        return [f"g{i}" for i in range(self.keys)]

    @property
    def numbers(self) -> list[str]:
        """The names of the columns of values."""
        return [f"v{i}" for i in range(self.values)]


def rows_of(plan: Plan, bindings: Bindings, values: Sequence[str]) -> Rows:
    """Write the rows after JOIN and WHERE; values are written already."""
    query = plan.query
    keys = [_key(place, bindings) for place in query.keys]
    parts = [f"{sql} AS g{i}" for i, (sql, _) in enumerate(keys)]
    parts += [f"{sql} AS v{i}" for i, sql in enumerate(values)]
    tests = [test for _, test in keys]
    if query.where is not None:
        made = Conditions(query.sources, bindings, query.values)
        tests.append(made.condition(query.where))
    unit = _unit(query, bindings)
    if unit is not None:
        parts.insert(0, f"{unit} AS u")
        tests.append(f"{unit} IS NOT NULL")
    sql = select(parts or ["1 AS one"], _tables(query, bindings), tests)
    return Rows(sql, len(keys), len(values))


def _unit(query: Query, bindings: Bindings, at: int = 0) -> str | None:
    column = query.sources.tables[at][1].unit
    if column is None:
        return None
    return bindings.speech.unit(column, f"t{at}.{quoted(column.name)}")


def _tables(query: Query, bindings: Bindings) -> str:
    tables = [f"{table.sql} AS t{at}" for at, (_, table) in enumerate(query.sources.tables)]
    first = _unit(query, bindings)
    joined = [
        f" JOIN {sql} ON {first} = {_unit(query, bindings, at)}"
        for at, sql in enumerate(tables[1:], start=1)
    ]
    return "".join([tables[0], *joined])


def _key(place: Place, bindings: Bindings) -> tuple[str, str]:
    """Return a key as it is grouped by, and the test of whether a row has a group."""
    column, terms = place.listed.column, Terms(bindings)
    sql = bindings.speech.read(column, place.sql)
    if column.kind == "number" and not column.whole:
        sql = f"({sql} + {bindings.bind(0.0, 'number')})"  # -0.0 is 0.0
    keys = place.listed.keys
    if keys is None:
        if column.kind == "text":
            sql = bindings.speech.key(column, place.sql)
        return sql, f"{sql} IS NOT NULL"
    named = [key for key in keys if key is not None]
    tests = [f"{sql} IS NULL"] if len(named) < len(keys) else []
    if len(named) > _FEW:
        tests.append(bindings.speech.member(sql, bindings.bind_list(named, _listed_kind(place))))
    elif named:
        wanted = [Term(column.kind, sql, whole=column.whole),
                  *(terms.fixed(constant(key), column.kind) for key in named)]  # fmt: skip
        x, *others = terms.alike(wanted)
        tests.append(f"{x.sql} IN ({', '.join(one.sql for one in others)})")
    return sql, f"({' OR '.join(tests)})"


def _listed_kind(place: Place) -> str:
    column = place.listed.column
    return "whole" if column.whole else column.kind


def level_of(place: Place, levels: Levels, bindings: Bindings) -> str:
    """Write the whole number that stands for a value; NULL stays NULL."""
    column, speech = place.listed.column, bindings.speech
    x = speech.read(column, place.sql)
    x = speech.double(x) if column.whole else x
    bind = {name: bindings.bind(value, "number") for name, value in (
        ("low", levels.low), ("near", levels.low + TINY), ("high", levels.high),
        ("rate", levels.rate), ("rounding", levels.rounding),
    )}  # fmt: skip
    moved = (
        f"(CASE WHEN {x} >= {bind['high']} THEN {bind['high']} WHEN {x} > {bind['near']} THEN {x}"
        f" WHEN {x} <= {bind['near']} THEN {bind['low']} END)"
    )
    if levels.square:
        moved = _squared(f"({moved} - {bindings.bind(levels.middle, 'number')})", bindings)
    else:
        moved = f"({moved} - {bind['low']})"
    return speech.whole(f"({moved} * {bind['rate']} + {bind['rounding']})")


def _squared(y: str, bindings: Bindings) -> str:
    """Square a number; what is nearly 0 is 0, since some engines fail where a square is not."""
    tiny, under = bindings.bind(TINY, "number"), bindings.bind(-TINY, "number")
    zero = bindings.bind(0.0, "number")
    return f"(CASE WHEN {y} > {under} AND {y} < {tiny} THEN {zero} ELSE {y} * {y} END)"


def value_of(place: Place, bindings: Bindings) -> str:
    """Write a value as it is compared."""
    return bindings.speech.read(place.listed.column, place.sql)
