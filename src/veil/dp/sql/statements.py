"""Write the statements of a plan for an engine: rows, samples, joins and sums.

A uniform sample of each unit's rows in each group counts, and a uniform sample of its groups. The
sample is decided by a hash of a secret seed, the unit, the group, and the rank of a row among the
unit's rows in that group, sorted by value. For every seed, a unit's sample therefore depends only
on its own rows, and adding or removing one unit does not affect any other: the sensitivities are
proved from this. The storage order of rows does not matter; rows that are equal in all columns
used are interchangeable.

`sum_groups` takes such samples for sums on engines where joins are faster than window functions.
Most units have no more rows than count, and are summed directly; window functions process only the
others. A group is selected by the smallest hash. If two groups of a unit have the same hash, which
happens once in 2^64, the smallest key decides, so that even then only the unit's rows matter.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from veil.dp.sql.conditions import Conditions, Term, Terms, constant
from veil.dp.sql.engine import (
    Bindings,
    Dialect,
    Statement,
    of,
    part,
    quote_name,
    ranked,
    same,
    select,
    within,
)
from veil.dp.sql.parsing import Place
from veil.dp.sql.plan import NoisyQuantity, Plan
from veil.dp.sql.quantities import TINY, Count, Distinct, Levels, Quantity, Rank, Sum, Units
from veil.dp.sql.query import Query
from veil.dp.sql.schema import Key

_FEW = 64  # keys bound one by one


@dataclass(frozen=True, slots=True)
class Rows:
    """A subquery with columns u (the unit), g0, g1 ... (the groups) and v0, v1 ... (values)."""

    sql: str
    keys: int
    values: int

    @property
    def groups(self) -> list[str]:
        """Names of the columns to group by."""
        return [f"g{i}" for i in range(self.keys)]

    @property
    def numbers(self) -> list[str]:
        """Names of the value columns."""
        return [f"v{i}" for i in range(self.values)]


def rows_of(plan: Plan, bindings: Bindings, values: Sequence[str]) -> Rows:
    """Write the rows after JOIN and WHERE; `values` are SQL expressions."""
    query = plan.query
    keys = [_key(place, bindings) for place in query.keys]
    parts = [f"{sql} AS g{i}" for i, (sql, _) in enumerate(keys)]
    parts += [f"{sql} AS v{i}" for i, sql in enumerate(values)]
    tests = [test for _, test in keys]
    if query.where is not None:
        conditions = Conditions(query.sources, bindings, query.values)
        tests.append(conditions.condition(query.where))
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
    return bindings.speech.unit(column, f"t{at}.{quote_name(column.name)}")


def _tables(query: Query, bindings: Bindings) -> str:
    tables = [f"{table.sql} AS t{at}" for at, (_, table) in enumerate(query.sources.tables)]
    first = _unit(query, bindings)
    joined = [
        f" JOIN {sql} ON {first} = {_unit(query, bindings, at)}"
        for at, sql in enumerate(tables[1:], start=1)
    ]
    return "".join([tables[0], *joined])


def _key(place: Place, bindings: Bindings) -> tuple[str, str]:
    """Return the SQL of a key to group by, and the test that a row has a group."""
    column, terms = place.listed.column, Terms(bindings)
    sql = bindings.speech.read(column, place.sql)
    if column.kind == "number" and not column.whole:
        sql = f"({sql} + {bindings.bind(0.0, 'number')})"  # -0.0 is 0.0
    keys = place.listed.keys
    if keys is None:
        if column.kind == "text":
            sql = bindings.speech.key(column, place.sql)
        return sql, f"{sql} IS NOT NULL"
    constants = [key for key in keys if key is not None]
    tests = [f"{sql} IS NULL"] if len(constants) < len(keys) else []
    if len(constants) > _FEW:
        tests.append(
            bindings.speech.member(sql, bindings.bind_list(constants, _listed_kind(place)))
        )
    elif constants:
        operands = [Term(column.kind, sql, whole=column.whole),
                  *(terms.fixed(constant(key), column.kind) for key in constants)]  # fmt: skip
        x, *others = terms.alike(operands)
        tests.append(f"{x.sql} IN ({', '.join(term.sql for term in others)})")
    return sql, f"({' OR '.join(tests)})"


def _listed_kind(place: Place) -> str:
    column = place.listed.column
    return "whole" if column.whole else column.kind


def level_of(place: Place, levels: Levels, bindings: Bindings) -> str:
    """Write the integer that encodes a value; NULL stays NULL."""
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
    """Write the square of a number; near 0 it is 0, because some engines fail on underflow."""
    tiny, under = bindings.bind(TINY, "number"), bindings.bind(-TINY, "number")
    zero = bindings.bind(0.0, "number")
    return f"(CASE WHEN {y} > {under} AND {y} < {tiny} THEN {zero} ELSE {y} * {y} END)"


def value_of(place: Place, bindings: Bindings) -> str:
    """Write a value in comparable form."""
    return bindings.speech.read(place.listed.column, place.sql)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Maximum rows of a unit per group, and maximum groups; None for all groups."""

    rows: int
    groups: int | None


def sample_rows(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write the sampled rows as a query with the columns u, g0 ... and v0 ..."""
    seed, digest = bindings.seed(), bindings.speech.digest
    own = ["u", *rows.groups]
    columns = [*own, *rows.numbers]
    extra, tests = [ranked("row_number", own, rows.numbers, "place")], list[str]()
    if bounds.groups is not None:
        order = [digest(seed, own), *rows.groups]
        extra.append(ranked("dense_rank", ["u"], order, "k"))
        tests.append(f"k <= {bounds.groups}")
    inner = select([*columns, *extra], within(rows.sql, "r"))
    by_hash = [digest(seed, [*own, "place"]), "place"]
    sampled = ranked("row_number", own, by_hash, "drawn")
    middle = select([*columns, sampled], within(inner, "a"), tests)
    return select(columns, within(middle, "b"), [f"drawn <= {bounds.rows}"])


def count_units(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write the sampled groups of each unit, with the bounded number of rows n in each."""
    own = ["u", *rows.groups]
    least = bindings.speech.least("COUNT(*)", str(bounds.rows))
    inner = select([*own, f"{least} AS n"], within(rows.sql, "r"), by=own)
    if bounds.groups is None:
        return inner
    order = [bindings.speech.digest(bindings.seed(), own), *rows.groups]
    outer = select([*own, "n", ranked("row_number", ["u"], order, "k")], within(inner, "a"))
    return select([*own, "n"], within(outer, "b"), [f"k <= {bounds.groups}"])


def sum_groups(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write sums per group: g0 ..., units, n, and the count and sum of each value."""
    own = ["u", *rows.groups]
    parts = _select_groups(rows, bounds, bindings)
    single = bounds.groups == 1
    ends = [f"{word}({g}) AS {name}{g}" for g in rows.groups for word, name in _ENDS]
    sums = [f"{word}({v}) AS {name}{v}" for v in rows.numbers for word, name in _SUMS]
    columns = ["u", *ends] if single else own
    by = ["u"] if single else own
    parts.append(
        part("e", select([*columns, "COUNT(*) AS n", *sums], "j", by=by), materialised=True)
    )
    easy = [f"e.n <= {bounds.rows}"]
    easy += [f"e.{g} IS NOT DISTINCT FROM e.m{g}" for g in rows.groups] if single else []
    if not rows.numbers:  # it does not matter which rows count
        totals = ["COUNT(*)", f"SUM(least(n, {bounds.rows}))"]
        return _joined(parts, select([*rows.groups, *totals], "e", by=rows.groups))
    parts += _hard(rows, bounds, bindings, easy)
    simple = ["1 AS units", "n", *(f"{name}{v}" for v in rows.numbers for _, name in _SUMS)]
    picked = ["CASE WHEN drawn = 1 THEN 1 ELSE 0 END", "1"]
    for v in rows.numbers:
        picked += [f"CASE WHEN {v} IS NULL THEN 0 ELSE 1 END", v]
    union = " UNION ALL ".join(
        [select([*rows.groups, *simple], "e", easy), select([*rows.groups, *picked], "picked")]
    )
    totals = ["SUM(units)", "SUM(n)"]
    totals += [f"SUM({name}{v})" for v in rows.numbers for _, name in _SUMS]
    return _joined(parts, select([*rows.groups, *totals], within(union, "q"), by=rows.groups))


def _joined(parts: list[str], final: str) -> str:
    return f"WITH {', '.join(parts)} {final}"


_ENDS = (("MIN", ""), ("MAX", "m"))
_SUMS = (("COUNT", "c"), ("SUM", "s"))


def _hard(rows: Rows, bounds: Bounds, bindings: Bindings, easy: list[str]) -> list[str]:
    """Write the sample of rows of units with more rows or groups than count."""
    own, numbers, seed = ["u", *rows.groups], rows.numbers, bindings.seed()
    place = ranked("row_number", of("j", own), of("j", numbers), "place")
    many = within(select([*own, "n"], "e", [f"NOT ({' AND '.join(easy)})"]), "d")
    joined = f"j JOIN {many} ON j.u = d.u"
    columns = [*of("j", [*own, *numbers]), "d.n", place]
    hard = part("hard", select(columns, joined, same("j", "d", rows.groups)))
    if bounds.rows == 1:  # a uniform rank, without a second window function
        chance = f"{bindings.speech.digest(seed, [*own, 'n'])} % CAST(n AS UBIGINT)"
        test = f"CAST(place AS UBIGINT) = 1 + {chance}"
        return [
            hard,
            part("picked", select([*rows.groups, *numbers, "1 AS drawn"], "hard", [test])),
        ]
    order = [bindings.speech.digest(seed, [*own, "place"]), "place"]
    sampled = select([*own, *numbers, ranked("row_number", own, order, "drawn")], "hard")
    picked = select(
        [*rows.groups, *numbers, "drawn"], within(sampled, "d"), [f"drawn <= {bounds.rows}"]
    )
    return [hard, part("picked", picked)]


def _select_groups(rows: Rows, bounds: Bounds, bindings: Bindings) -> list[str]:
    """Write j, the rows of the selected groups."""
    if bounds.groups is None:
        return [part("j", rows.sql)]
    own, columns = ["u", *rows.groups], ["u", *rows.groups, *rows.numbers]
    digest = bindings.speech.digest(bindings.seed(), own)
    if bounds.groups == 1:
        return [
            part("r", select([*columns, f"{digest} AS h"], within(rows.sql, "a"))),
            part("m", select(["u", "MIN(h) AS h"], "r", by=["u"])),
            part(
                "j",
                select(of("r", columns), "r JOIN m ON r.u = m.u AND r.h = m.h"),
                materialised=True,
            ),
        ]
    pairs = within(select([f"DISTINCT {', '.join(own)}"], "r"), "p")
    ordered = ranked("row_number", ["u"], [digest, *rows.groups], "k")
    selected = select(own, within(select([*own, ordered], pairs), "o"), [f"k <= {bounds.groups}"])
    on = " AND ".join(["r.u = m.u", *same("r", "m", rows.groups)])
    return [
        part("r", rows.sql, materialised=True),
        part("m", selected),
        part("j", select(of("r", columns), f"r JOIN m ON {on}"), materialised=True),
    ]


Group = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A number in a result row: its index, its quantity, and its weight in it."""

    at: int
    quantity: Quantity
    weight: int = 1


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement and the layout of its rows: keys, then numbers, or a cell and its count."""

    statement: Statement
    keys: int
    parts: tuple[Part, ...] = ()
    rank: Place | None = None


@dataclass(slots=True)
class Exact:
    """Exact results before noise: numbers per group, and for ranks cells with counts."""

    numbers: dict[Group, dict[Quantity, int]]
    cells: dict[tuple[Group, Place], list[tuple[int, int]]]


def write_statements(plan: Plan, speech: Dialect) -> list[PlannedStatement]:
    """Return the statements of a plan: one for all numbers, and one per column with ranks."""
    numbers = [item for item in plan.measured if not isinstance(item.quantity, Rank)]
    ranks = {
        item.quantity.place: item for item in plan.measured if isinstance(item.quantity, Rank)
    }
    statements = [_numbers(plan, numbers, speech)] if numbers else []
    return statements + [_cells(plan, place, item, speech) for place, item in ranks.items()]


def exact_of(
    planned: Sequence[PlannedStatement], answers: Sequence[Iterable[tuple[Any, ...]]]
) -> Exact:
    """Return the exact results from the rows of each statement."""
    exact = Exact({}, {})
    for statement, rows in zip(planned, answers, strict=True):
        for row in rows:
            group = tuple(row[: statement.keys])
            numbers = exact.numbers.setdefault(group, {})
            if statement.rank is not None:
                pairs = exact.cells.setdefault((group, statement.rank), [])
                pairs.append((int(row[statement.keys]), int(row[statement.keys + 1])))
            for term in statement.parts:
                number = term.weight * int(row[term.at] or 0)
                numbers[term.quantity] = numbers.get(term.quantity, 0) + number
    return exact


def _bounds(plan: Plan) -> Bounds:
    free = not plan.query.keys or (
        plan.combinations is not None and len(plan.combinations) <= plan.max_groups
    )
    return Bounds(plan.max_rows, None if free else plan.max_groups)


def _numbers(plan: Plan, measured: Sequence[NoisyQuantity], speech: Dialect) -> PlannedStatement:
    bindings = Bindings(speech)
    quantities = [item.quantity for item in measured]
    values = [_value(item, bindings) for item in measured if not _is_plain(item.quantity)]
    rows = rows_of(plan, bindings, values)
    if plan.bounded and speech.fast and not any(isinstance(item, Distinct) for item in quantities):
        sql = sum_groups(rows, _bounds(plan), bindings)
        return PlannedStatement(
            bindings.statement(sql), rows.keys, _joined_parts(measured, rows.keys)
        )
    if plan.bounded and not values:
        sums = ["SUM(n)" if isinstance(item, Count) else "COUNT(*)" for item in quantities]
        sql = _grouped(rows, sums, count_units(rows, _bounds(plan), bindings))
        parts = tuple(Part(rows.keys + i, item) for i, item in enumerate(quantities))
        return PlannedStatement(bindings.statement(sql), rows.keys, parts)
    inner = sample_rows(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    totals, parts = _totals(measured, rows, speech, bounded=plan.bounded)
    return PlannedStatement(bindings.statement(_grouped(rows, totals, inner)), rows.keys, parts)


def _grouped(rows: Rows, totals: Sequence[str], inner: str) -> str:
    return select([*rows.groups, *totals], within(inner, "q"), by=rows.groups)


def _is_plain(quantity: Quantity) -> bool:
    """Return whether a quantity needs no value of a row."""
    return isinstance(quantity, Units) or quantity == Count()


def _value(measured: NoisyQuantity, bindings: Bindings) -> str:
    quantity = measured.quantity
    if isinstance(quantity, Sum | Rank) and measured.levels is not None:
        return level_of(quantity.place, measured.levels, bindings)
    if isinstance(quantity, Units) or quantity.place is None:
        raise AssertionError(quantity)
    value = value_of(quantity.place, bindings)
    return f"CASE WHEN {value} IS NOT NULL THEN 1 END" if isinstance(quantity, Count) else value


def _totals(
    measured: Sequence[NoisyQuantity], rows: Rows, speech: Dialect, *, bounded: bool
) -> tuple[list[str], tuple[Part, ...]]:
    """Return the aggregate expressions over sampled rows, and their parts."""
    totals: list[str] = []
    parts: list[Part] = []

    def add(sql: str, quantity: Quantity, weight: int = 1) -> None:
        parts.append(Part(rows.keys + len(totals), quantity, weight))
        totals.append(sql)

    columns = iter(rows.numbers)
    for item in measured:
        quantity = item.quantity
        if isinstance(quantity, Units):
            add("COUNT(DISTINCT u)" if bounded else "COUNT(*)", quantity)
            continue
        v = "*" if _is_plain(quantity) else next(columns)
        if isinstance(quantity, Sum) and item.levels is not None:
            for sql, weight in speech.total(v):
                add(sql, quantity, weight)
            add(f"COUNT({v})", quantity, item.levels.offset)
        else:
            add(f"COUNT({'DISTINCT ' if isinstance(quantity, Distinct) else ''}{v})", quantity)
    return totals, tuple(parts)


def _joined_parts(measured: Sequence[NoisyQuantity], keys: int) -> tuple[Part, ...]:
    """Return the parts of the numbers of `sum_groups`."""
    parts: list[Part] = []
    at = keys + 2
    for item in measured:
        quantity = item.quantity
        if _is_plain(quantity):
            parts.append(Part(keys if isinstance(quantity, Units) else keys + 1, quantity))
            continue
        if isinstance(quantity, Sum) and item.levels is not None:
            parts += [Part(at, quantity, item.levels.offset), Part(at + 1, quantity)]
        else:
            parts.append(Part(at, quantity))
        at += 2
    return tuple(parts)


def _cells(plan: Plan, place: Place, measured: NoisyQuantity, speech: Dialect) -> PlannedStatement:
    bindings = Bindings(speech)
    rows = rows_of(plan, bindings, [_value(measured, bindings)])
    inner = sample_rows(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    columns = [*rows.groups, "v0"]
    sql = select([*columns, "COUNT(*)"], within(inner, "q"), ["v0 IS NOT NULL"], columns)
    return PlannedStatement(bindings.statement(sql), rows.keys, rank=place)
