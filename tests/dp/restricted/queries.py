"""Queries of sets, and what follows from sums by elimination with fractions."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from veil.core.errors import RefusedError
from veil.dp.restricted import Mask, StatisticalDatabase

Set = Sequence[bool] | Mask
Decisions = list[tuple[Set, str, float | None]]  # None: refused


def members(n: int, *places: int) -> Mask:
    """Return a set by its members."""
    return np.isin(np.arange(n), places)


def asked(database: StatisticalDatabase, sets: Sequence[Set], what: str) -> Decisions:
    """Ask one after the other, and return what came."""
    found: Decisions = []
    for mask in sets:
        try:
            found.append((mask, what, database.ask(mask, what)))
        except RefusedError:
            found.append((mask, what, None))
    return found


def rational_rows(sets: Sequence[Set]) -> list[list[Fraction]]:
    """Return the reduced rows of sets over the rational numbers."""
    rows: list[list[Fraction]] = []
    for mask in sets:
        row = [Fraction(int(one)) for one in mask]
        for other in rows:
            row = _without(row, other)
        if any(row):
            lead = next(one for one in row if one)
            row = [one / lead for one in row]
            rows = [*(_without(other, row) for other in rows), row]
    return rows


def _without(row: list[Fraction], other: list[Fraction]) -> list[Fraction]:
    pivot = next(place for place, one in enumerate(other) if one)
    return [one - row[pivot] * two for one, two in zip(row, other, strict=True)]


def unit_follows(sets: Sequence[Set]) -> bool:
    """Tell whether the sums of sets tell a single value."""
    return any(sum(one != 0 for one in row) == 1 for row in rational_rows(sets))


def hostile() -> tuple[list[Mask], int]:
    """Return sets that tell all values, but none modulo 2^61 - 1, and the number of values.

    With x, x' = -y and x + x' = -y of the next step, each y is twice the one before; 61 steps make
    a circle, and 2^61 = 1 closes it modulo that prime alone.
    """
    n, sets = 3 * 61, []
    for step in range(61):
        x, again, y, following = 3 * step, 3 * step + 1, 3 * step + 2, (3 * step + 5) % n
        sets += [members(n, x, y), members(n, again, y), members(n, x, again, following)]
    return sets, n
