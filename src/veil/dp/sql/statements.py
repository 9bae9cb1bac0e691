"""The statements of a plan, written for an engine: rows, samples, joins and sums.

What of a unit counts: a uniform sample of its rows in each group, and of its groups.
Which ones is decided by a hash of a secret seed, the unit, the group, and the place of a row among
the unit's own rows of that group in the order of their values. So for every seed a unit's rows
decide alone what of it counts, and one unit more or less changes nothing of another: that is what
the sensitivities are proved by. The order in which rows are stored plays no part; rows that are
equal in all that is used may be exchanged.

The same sample as `veil.dp.sql.statements`, for sums, where joins are faster than windows.
Most units have no more rows than count, and are added up as they are; windows see the others
alone. A group is chosen by the least hash; where two groups of a unit have the same one, which
happens once in 2^64, the least key decides, so that even then the unit alone does.
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """How many rows of a unit count in a group, and in how many groups; None: in all."""

    rows: int
    groups: int | None


def sample_rows(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write the rows that count, as a query with the columns u, g0 ... and v0 ..."""
    seed, digest = bindings.seed(), bindings.speech.digest
    own = ["u", *rows.groups]
    columns = [*own, *rows.numbers]
    extra, kept = [ranked("row_number", own, rows.numbers, "place")], list[str]()
    if bounds.groups is not None:
        order = [digest(seed, own), *rows.groups]
        extra.append(ranked("dense_rank", ["u"], order, "k"))
        kept.append(f"k <= {bounds.groups}")
    inner = select([*columns, *extra], within(rows.sql, "r"))
    by_hash = [digest(seed, [*own, "place"]), "place"]
    drawn = ranked("row_number", own, by_hash, "drawn")
    middle = select([*columns, drawn], within(inner, "a"), kept)
    return select(columns, within(middle, "b"), [f"drawn <= {bounds.rows}"])


def count_units(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write units with their groups and their number of rows n there, where only that is used."""
    own = ["u", *rows.groups]
    least = bindings.speech.least("COUNT(*)", str(bounds.rows))
    inner = select([*own, f"{least} AS n"], within(rows.sql, "r"), by=own)
    if bounds.groups is None:
        return inner
    order = [bindings.speech.digest(bindings.seed(), own), *rows.groups]
    outer = select([*own, "n", ranked("row_number", ["u"], order, "k")], within(inner, "a"))
    return select([*own, "n"], within(outer, "b"), [f"k <= {bounds.groups}"])


def sum_groups(rows: Rows, bounds: Bounds, bindings: Bindings) -> str:
    """Write sums per group: g0 ..., units, n, and two of each value: how many, and their sum."""
    own = ["u", *rows.groups]
    parts = _chosen(rows, bounds, bindings)
    single = bounds.groups == 1
    ends = [f"{word}({g}) AS {name}{g}" for g in rows.groups for word, name in _ENDS]
    sums = [f"{word}({v}) AS {name}{v}" for v in rows.numbers for word, name in _SUMS]
    columns = ["u", *ends] if single else own
    by = ["u"] if single else own
    parts.append(part("e", select([*columns, "COUNT(*) AS n", *sums], "j", by=by), kept=True))
    easy = [f"e.n <= {bounds.rows}"]
    easy += [f"e.{g} IS NOT DISTINCT FROM e.m{g}" for g in rows.groups] if single else []
    if not rows.numbers:  # which of its rows count makes no difference
        totals = ["COUNT(*)", f"SUM(least(n, {bounds.rows}))"]
        return _joined(parts, select([*rows.groups, *totals], "e", by=rows.groups))
    parts += _hard(rows, bounds, bindings, easy)
    simple = ["1 AS units", "n", *(f"{name}{v}" for v in rows.numbers for _, name in _SUMS)]
    drawn = ["CASE WHEN drawn = 1 THEN 1 ELSE 0 END", "1"]
    for v in rows.numbers:
        drawn += [f"CASE WHEN {v} IS NULL THEN 0 ELSE 1 END", v]
    both = " UNION ALL ".join(
        [select([*rows.groups, *simple], "e", easy), select([*rows.groups, *drawn], "picked")]
    )
    totals = ["SUM(units)", "SUM(n)"]
    totals += [f"SUM({name}{v})" for v in rows.numbers for _, name in _SUMS]
    return _joined(parts, select([*rows.groups, *totals], within(both, "q"), by=rows.groups))


def _joined(parts: list[str], final: str) -> str:
    return f"WITH {', '.join(parts)} {final}"


_ENDS = (("MIN", ""), ("MAX", "m"))
_SUMS = (("COUNT", "c"), ("SUM", "s"))


def _hard(rows: Rows, bounds: Bounds, bindings: Bindings, easy: list[str]) -> list[str]:
    """Draw rows of units that have more than count."""
    own, numbers, seed = ["u", *rows.groups], rows.numbers, bindings.seed()
    place = ranked("row_number", of("j", own), of("j", numbers), "place")
    many = within(select([*own, "n"], "e", [f"NOT ({' AND '.join(easy)})"]), "d")
    joined = f"j JOIN {many} ON j.u = d.u"
    columns = [*of("j", [*own, *numbers]), "d.n", place]
    hard = part("hard", select(columns, joined, same("j", "d", rows.groups)))
    if bounds.rows == 1:  # any place is as likely, and no second window is needed
        chance = f"{bindings.speech.digest(seed, [*own, 'n'])} % CAST(n AS UBIGINT)"
        test = f"CAST(place AS UBIGINT) = 1 + {chance}"
        return [
            hard,
            part("picked", select([*rows.groups, *numbers, "1 AS drawn"], "hard", [test])),
        ]
    order = [bindings.speech.digest(seed, [*own, "place"]), "place"]
    drawn = select([*own, *numbers, ranked("row_number", own, order, "drawn")], "hard")
    picked = select(
        [*rows.groups, *numbers, "drawn"], within(drawn, "d"), [f"drawn <= {bounds.rows}"]
    )
    return [hard, part("picked", picked)]


def _chosen(rows: Rows, bounds: Bounds, bindings: Bindings) -> list[str]:
    """Write j, the rows of the groups that are chosen."""
    if bounds.groups is None:
        return [part("j", rows.sql)]
    own, columns = ["u", *rows.groups], ["u", *rows.groups, *rows.numbers]
    digest = bindings.speech.digest(bindings.seed(), own)
    if bounds.groups == 1:
        return [
            part("r", select([*columns, f"{digest} AS h"], within(rows.sql, "a"))),
            part("m", select(["u", "MIN(h) AS h"], "r", by=["u"])),
            part("j", select(of("r", columns), "r JOIN m ON r.u = m.u AND r.h = m.h"), kept=True),
        ]
    pairs = within(select([f"DISTINCT {', '.join(own)}"], "r"), "p")
    ordered = ranked("row_number", ["u"], [digest, *rows.groups], "k")
    chosen = select(own, within(select([*own, ordered], pairs), "o"), [f"k <= {bounds.groups}"])
    on = " AND ".join(["r.u = m.u", *same("r", "m", rows.groups)])
    return [
        part("r", rows.sql, kept=True),
        part("m", chosen),
        part("j", select(of("r", columns), f"r JOIN m ON {on}"), kept=True),
    ]


Group = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A number of an answer: where it is, of which quantity, and how often it counts for it."""

    at: int
    quantity: Quantity
    weight: int = 1


@dataclass(frozen=True, slots=True)
class PlannedStatement:
    """A statement, and how its rows are read: keys, then numbers; or a cell and its count."""

    statement: Statement
    keys: int
    parts: tuple[Part, ...] = ()
    rank: Place | None = None


@dataclass(slots=True)
class Exact:
    """What the data say, before noise: of each group numbers, and for ranks cells with counts."""

    numbers: dict[Group, dict[Quantity, int]]
    cells: dict[tuple[Group, Place], list[tuple[int, int]]]


def write_statements(plan: Plan, speech: Dialect) -> list[PlannedStatement]:
    """Write the statements of a plan: one for all numbers, and one for each column with ranks."""
    numbers = [one for one in plan.measured if not isinstance(one.quantity, Rank)]
    ranks = {one.quantity.place: one for one in plan.measured if isinstance(one.quantity, Rank)}
    found = [_numbers(plan, numbers, speech)] if numbers else []
    return found + [_cells(plan, place, one, speech) for place, one in ranks.items()]


def exact_of(
    asked: Sequence[PlannedStatement], answers: Sequence[Iterable[tuple[Any, ...]]]
) -> Exact:
    """Read the answers."""
    found = Exact({}, {})
    for one, rows in zip(asked, answers, strict=True):
        for row in rows:
            group = tuple(row[: one.keys])
            numbers = found.numbers.setdefault(group, {})
            if one.rank is not None:
                pairs = found.cells.setdefault((group, one.rank), [])
                pairs.append((int(row[one.keys]), int(row[one.keys + 1])))
            for term in one.parts:
                number = term.weight * int(row[term.at] or 0)
                numbers[term.quantity] = numbers.get(term.quantity, 0) + number
    return found


def _bounds(plan: Plan) -> Bounds:
    free = not plan.query.keys or (
        plan.combinations is not None and len(plan.combinations) <= plan.max_groups
    )
    return Bounds(plan.max_rows, None if free else plan.max_groups)


def _numbers(plan: Plan, measured: Sequence[NoisyQuantity], speech: Dialect) -> PlannedStatement:
    bindings = Bindings(speech)
    quantities = [one.quantity for one in measured]
    values = [_value(one, bindings) for one in measured if not _is_plain(one.quantity)]
    rows = rows_of(plan, bindings, values)
    if plan.bounded and speech.fast and not any(isinstance(one, Distinct) for one in quantities):
        sql = sum_groups(rows, _bounds(plan), bindings)
        return PlannedStatement(
            bindings.statement(sql), rows.keys, _joined_parts(measured, rows.keys)
        )
    if plan.bounded and not values:
        sums = ["SUM(n)" if isinstance(one, Count) else "COUNT(*)" for one in quantities]
        sql = _grouped(rows, sums, count_units(rows, _bounds(plan), bindings))
        parts = tuple(Part(rows.keys + i, one) for i, one in enumerate(quantities))
        return PlannedStatement(bindings.statement(sql), rows.keys, parts)
    inner = sample_rows(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    totals, parts = _totals(measured, rows, speech, bounded=plan.bounded)
    return PlannedStatement(bindings.statement(_grouped(rows, totals, inner)), rows.keys, parts)


def _grouped(rows: Rows, totals: Sequence[str], inner: str) -> str:
    return select([*rows.groups, *totals], within(inner, "q"), by=rows.groups)


def _is_plain(quantity: Quantity) -> bool:
    """Tell whether a quantity takes no value of a row."""
    return isinstance(quantity, Units) or quantity == Count()


def _value(one: NoisyQuantity, bindings: Bindings) -> str:
    quantity = one.quantity
    if isinstance(quantity, Sum | Rank) and one.levels is not None:
        return level_of(quantity.place, one.levels, bindings)
    if isinstance(quantity, Units) or quantity.place is None:
        raise AssertionError(quantity)
    value = value_of(quantity.place, bindings)
    return f"CASE WHEN {value} IS NOT NULL THEN 1 END" if isinstance(quantity, Count) else value


def _totals(
    measured: Sequence[NoisyQuantity], rows: Rows, speech: Dialect, *, bounded: bool
) -> tuple[list[str], tuple[Part, ...]]:
    """Write what is added up of the rows that count."""
    totals: list[str] = []
    parts: list[Part] = []

    def add(sql: str, quantity: Quantity, weight: int = 1) -> None:
        parts.append(Part(rows.keys + len(totals), quantity, weight))
        totals.append(sql)

    columns = iter(rows.numbers)
    for one in measured:
        quantity = one.quantity
        if isinstance(quantity, Units):
            add("COUNT(DISTINCT u)" if bounded else "COUNT(*)", quantity)
            continue
        v = "*" if _is_plain(quantity) else next(columns)
        if isinstance(quantity, Sum) and one.levels is not None:
            for sql, weight in speech.total(v):
                add(sql, quantity, weight)
            add(f"COUNT({v})", quantity, one.levels.offset)
        else:
            add(f"COUNT({'DISTINCT ' if isinstance(quantity, Distinct) else ''}{v})", quantity)
    return totals, tuple(parts)


def _joined_parts(measured: Sequence[NoisyQuantity], keys: int) -> tuple[Part, ...]:
    """Find the numbers of `sum_groups`: units, rows, and two of each value."""
    parts: list[Part] = []
    at = keys + 2
    for one in measured:
        quantity = one.quantity
        if _is_plain(quantity):
            parts.append(Part(keys if isinstance(quantity, Units) else keys + 1, quantity))
            continue
        if isinstance(quantity, Sum) and one.levels is not None:
            parts += [Part(at, quantity, one.levels.offset), Part(at + 1, quantity)]
        else:
            parts.append(Part(at, quantity))
        at += 2
    return tuple(parts)


def _cells(plan: Plan, place: Place, one: NoisyQuantity, speech: Dialect) -> PlannedStatement:
    bindings = Bindings(speech)
    rows = rows_of(plan, bindings, [_value(one, bindings)])
    inner = sample_rows(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    named = [*rows.groups, "v0"]
    sql = select([*named, "COUNT(*)"], within(inner, "q"), ["v0 IS NOT NULL"], named)
    return PlannedStatement(bindings.statement(sql), rows.keys, rank=place)
