"""The statements of a plan, written for an engine, and what their answers mean."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from veil.dp.database.bindings import Bindings
from veil.dp.database.bounding import Bounds, counted, sampled
from veil.dp.database.engines.engine import Speech, Statement
from veil.dp.database.joining import summed
from veil.dp.database.names import Place
from veil.dp.database.pieces import select, within
from veil.dp.database.plan import Measured, Plan
from veil.dp.database.policy import Key
from veil.dp.database.quantities import Count, Distinct, Quantity, Rank, Sum, Units
from veil.dp.database.writing import Rows, level_of, rows_of, value_of

Group = tuple[Key, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A number of an answer: where it is, of which quantity, and how often it counts for it."""

    at: int
    quantity: Quantity
    weight: int = 1


@dataclass(frozen=True, slots=True)
class Asked:
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


def asked_of(plan: Plan, speech: Speech) -> list[Asked]:
    """Write the statements of a plan: one for all numbers, and one for each column with ranks."""
    numbers = [one for one in plan.measured if not isinstance(one.quantity, Rank)]
    ranks = {one.quantity.place: one for one in plan.measured if isinstance(one.quantity, Rank)}
    found = [_numbers(plan, numbers, speech)] if numbers else []
    return found + [_cells(plan, place, one, speech) for place, one in ranks.items()]


def exact_of(asked: Sequence[Asked], answers: Sequence[Iterable[tuple[Any, ...]]]) -> Exact:
    """Read the answers."""
    found = Exact({}, {})
    for one, rows in zip(asked, answers, strict=True):
        for row in rows:
            group = tuple(row[: one.keys])
            numbers = found.numbers.setdefault(group, {})
            if one.rank is not None:
                pairs = found.cells.setdefault((group, one.rank), [])
                pairs.append((int(row[one.keys]), int(row[one.keys + 1])))
            for part in one.parts:
                number = part.weight * int(row[part.at] or 0)
                numbers[part.quantity] = numbers.get(part.quantity, 0) + number
    return found


def _bounds(plan: Plan) -> Bounds:
    free = not plan.query.keys or (
        plan.combinations is not None and len(plan.combinations) <= plan.max_groups
    )
    return Bounds(plan.max_rows, None if free else plan.max_groups)


def _numbers(plan: Plan, measured: Sequence[Measured], speech: Speech) -> Asked:
    bindings = Bindings(speech)
    quantities = [one.quantity for one in measured]
    values = [_value(one, bindings) for one in measured if not _is_plain(one.quantity)]
    rows = rows_of(plan, bindings, values)
    if plan.bounded and speech.fast and not any(isinstance(one, Distinct) for one in quantities):
        sql = summed(rows, _bounds(plan), bindings)
        return Asked(bindings.statement(sql), rows.keys, _joined(measured, rows.keys))
    if plan.bounded and not values:
        sums = ["SUM(n)" if isinstance(one, Count) else "COUNT(*)" for one in quantities]
        sql = _grouped(rows, sums, counted(rows, _bounds(plan), bindings))
        parts = tuple(Part(rows.keys + i, one) for i, one in enumerate(quantities))
        return Asked(bindings.statement(sql), rows.keys, parts)
    inner = sampled(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    totals, parts = _totals(measured, rows, speech, bounded=plan.bounded)
    return Asked(bindings.statement(_grouped(rows, totals, inner)), rows.keys, parts)


def _grouped(rows: Rows, totals: Sequence[str], inner: str) -> str:
    return select([*rows.groups, *totals], within(inner, "q"), by=rows.groups)


def _is_plain(quantity: Quantity) -> bool:
    """Tell whether a quantity takes no value of a row."""
    return isinstance(quantity, Units) or quantity == Count()


def _value(one: Measured, bindings: Bindings) -> str:
    quantity = one.quantity
    if isinstance(quantity, Sum | Rank) and one.levels is not None:
        return level_of(quantity.place, one.levels, bindings)
    if isinstance(quantity, Units) or quantity.place is None:
        raise AssertionError(quantity)
    value = value_of(quantity.place, bindings)
    return f"CASE WHEN {value} IS NOT NULL THEN 1 END" if isinstance(quantity, Count) else value


def _totals(
    measured: Sequence[Measured], rows: Rows, speech: Speech, *, bounded: bool
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


def _joined(measured: Sequence[Measured], keys: int) -> tuple[Part, ...]:
    """Find the numbers of `summed`: units, rows, and two of each value."""
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


def _cells(plan: Plan, place: Place, one: Measured, speech: Speech) -> Asked:
    bindings = Bindings(speech)
    rows = rows_of(plan, bindings, [_value(one, bindings)])
    inner = sampled(rows, _bounds(plan), bindings) if plan.bounded else rows.sql
    named = [*rows.groups, "v0"]
    sql = select([*named, "COUNT(*)"], within(inner, "q"), ["v0 IS NOT NULL"], named)
    return Asked(bindings.statement(sql), rows.keys, rank=place)
