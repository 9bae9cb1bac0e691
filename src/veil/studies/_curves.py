"""From the tidy table to curves of the risk-utility plane."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from veil.studies._names import Key as Key
from veil.studies._names import short_names
from veil.studies.table import Row
from veil.text.mechanisms.find import direction

PLAIN = "plain"
UTILITY = "ndcg@10"
MEASURES = ("lazy", "active", "motivated", "persistent")


@dataclass(frozen=True, slots=True)
class Point:
    """One configuration in the plane."""

    risk: Row
    utility: Row


@dataclass(frozen=True, slots=True)
class Curve:
    """The points of one mechanism, in order of its parameter, towards the more useful end."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One plane: a collection and engine, an attacker, and the measure of the attacker's success.

    `plain` is the utility without any protection, `lost` the number of configurations that have
    no place in the plane, because a figure is missing or not a number.
    """

    collection: str
    engine: str
    attacker: str
    measure: str
    curves: tuple[Curve, ...]
    plain: Row | None
    chance: float | None
    lost: int


def key(row: Row) -> Key:
    """Return what the rows of one curve have in common.

    >>> row = Row("c", "e", "vickrey", "vickrey(epsilon=5.0, t=0.75)", "epsilon", 5.0, 50,
    ...           "risk", "lazy", "inference", 0.1, 0.0, 0.2, 43)
    >>> key(row)
    ('vickrey', 'epsilon', 'vickrey(t=0.75)')
    """
    if not row.parameter:
        return row.mechanism, "", row.spec
    swept = rf"\b{re.escape(row.parameter)}=[^,()]*"
    rest = re.sub(rf"{swept},\s*|,\s*{swept}|{swept}", "", row.spec, count=1)
    return row.mechanism, row.parameter, rest.removesuffix("()")


def names(rows: Iterable[Row]) -> dict[tuple[Key, int], str]:
    """Name each curve by its mechanism, and by what tells it from the others of that mechanism.

    Size 0 stands for the curve whatever the number of variants.
    """
    sizes: dict[Key, set[int]] = {}
    for row in rows:
        if row.mechanism != PLAIN:
            counted = sizes.setdefault(key(row), set())
            if row.kind == "risk":
                counted.add(row.size)
    short = short_names(sizes)
    named: dict[tuple[Key, int], str] = {}
    for one, counted in sizes.items():
        named[one, 0] = short[one]
        for size in sorted(counted):
            several = len(counted) > 1
            named[one, size] = (
                f"{short[one]}, {size} variant{'s' if size > 1 else ''}" if several else short[one]
            )
    return named


def panels(rows: Sequence[Row]) -> list[Panel]:
    """Join each risk with the utility of the same configuration."""
    utility = _utilities(rows)
    cells: dict[tuple[str, str, str, str], list[Point]] = {}
    for row in rows:
        if row.kind == "risk":
            for found in utility.get((row.collection, row.spec, row.size), [_missing(row)]):
                if not row.engine or found.engine in ("", row.engine):
                    engine = found.engine or row.engine
                    place = (row.collection, engine, row.attacker, row.measure)
                    cells.setdefault(place, []).append(Point(row, found))
    order = list(dict.fromkeys((c, e, a) for c, e, a, _ in cells))
    places = sorted(cells, key=lambda cell: (order.index(cell[:3]), rank(cell[3])))
    named = names(rows)
    return [_panel(place, cells[place], named, rows) for place in places]


def rank(measure: str) -> tuple[int, str]:
    """Order measures of risk from the least to the most able attacker, others last."""
    known = measure in MEASURES
    return (MEASURES.index(measure) if known else len(MEASURES), measure)


def is_utility(row: Row) -> bool:
    """Whether this is the utility that the plane shows."""
    return row.kind == "utility" and row.measure.casefold() == UTILITY


def _utilities(rows: Sequence[Row]) -> dict[tuple[str, str, int], list[Row]]:
    found: dict[tuple[str, str, int], list[Row]] = {}
    for row in filter(is_utility, rows):
        found.setdefault((row.collection, row.spec, row.size), []).append(row)
    return found


def _missing(row: Row) -> Row:
    gap = math.nan
    return Row(
        row.collection, row.engine, row.mechanism, row.spec, row.parameter, row.value, row.size,
        "utility", UTILITY, "", gap, gap, gap, 0,
    )  # fmt: skip


def _ordered(points: Sequence[Point]) -> tuple[Point, ...]:
    """Order points towards the more useful: the sign of an area depends on the direction."""
    first = points[0].risk
    turned = direction(first.mechanism, first.parameter) == "private"
    return tuple(sorted(points, key=lambda point: point.risk.value, reverse=turned))


def _panel(
    place: tuple[str, str, str, str],
    points: list[Point],
    named: dict[tuple[Key, int], str],
    rows: Sequence[Row],
) -> Panel:
    collection, engine, attacker, measure = place
    lines: dict[str, list[Point]] = {}
    lost = 0
    for point in points:
        if point.risk.mechanism == PLAIN:
            continue
        if math.isfinite(point.risk.score) and math.isfinite(point.utility.score):
            lines.setdefault(named[key(point.risk), point.risk.size], []).append(point)
        else:
            lost += 1
    curves = tuple(Curve(name, _ordered(line)) for name, line in lines.items())
    plain = [
        row
        for row in filter(is_utility, rows)
        if row.mechanism == PLAIN
        and (row.collection, row.engine) == (collection, engine)
        and math.isfinite(row.score)
    ]
    chances = [point.risk.chance for point in points if point.risk.chance is not None]
    chance = max((one for one in chances if math.isfinite(one)), default=None)
    return Panel(
        collection, engine, attacker, measure, curves, plain[0] if plain else None, chance, lost
    )
