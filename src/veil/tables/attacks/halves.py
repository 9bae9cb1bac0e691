"""Sums over columns for all pairs of patterns, by two halves of the columns.

What is asked of are R patterns, what lies across are N. Let the first half of the columns have
K1' different patterns among those asked of, and the second K2 among those across. The least sum of
one half is found once for each of K1' and each of K2, in K1' N steps, and the least total in R K2
more: far fewer than R N where columns repeat their values.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.attacks.apart import Apart
from veil.tables.attacks.patterns import BLOCK, Patterns, rows_across

SAME = 1e-10  # squares of distances that differ by no more, as a share, are the same
_ZERO = 1e-20  # and so are those below this, in squares of the scale


def within(best: Floats) -> Floats:
    """Return up to where something is as near as the best."""
    return best * (1 + SAME) + _ZERO


class _Sweep(NamedTuple):
    """Some patterns of the first half: who asks, their places, all sums, and the least ones."""

    rows: Ids
    at: Ids
    sums: Floats  # (across, b), by patterns of the second half
    lowest: Floats  # (patterns of the second half across, b)


class Halves:
    """Distances of patterns asked of (R, columns) and patterns across (N, columns)."""

    def __init__(
        self, aparts: Sequence[Apart], asked: Ids, across: Ids, *, released: bool
    ) -> None:
        self._aparts, self._released = aparts, released
        self.cost, self._columns = _split(asked, across)
        self._asked = [_patterns(asked, columns) for columns in self._columns]
        self._across = [_patterns(across, columns) for columns in self._columns]
        self._order = np.argsort(self._across[1].at, kind="stable")
        self._starts = np.flatnonzero(np.diff(self._across[1].at[self._order], prepend=-1))
        self._sizes = np.bincount(self._across[1].at)

    def least(self, which: Ids) -> Floats:
        """Return the least sum of some patterns."""
        made = np.empty(len(which))
        for sweep in self._sweeps(which):
            for chosen, total in self._totals(which, sweep):
                made[chosen] = total.min(axis=0)
        return made

    def sums(self, which: Ids, limit: Floats, weights: Floats) -> Floats:
        """Add up weights (N, v) over what is within a limit that nothing but the least is."""
        made = np.empty((len(which), weights.shape[1]))
        held = weights[self._order]
        for sweep in self._sweeps(which):
            near = sweep.sums <= np.repeat(within(sweep.lowest), self._sizes, axis=0)
            tied = [np.add.reduceat(near * one[:, None], self._starts, axis=0) for one in held.T]
            for chosen, total in self._totals(which, sweep):
                reached = total <= limit[chosen]
                at = sweep.at[chosen]
                for column, weight in enumerate(tied):
                    made[chosen, column] = (weight.take(at, axis=1) * reached).sum(axis=0)
        return made

    def _sweeps(self, which: Ids) -> Iterator["_Sweep"]:
        """Go over the patterns of the first half, some at a time."""
        wanted = self._asked[0].at[which]
        first = self._across[0].at[self._order]
        for part in _blocks(len(self._asked[0]), len(first)):
            rows = np.flatnonzero((wanted >= part.start) & (wanted < part.stop))
            if len(rows):
                table = self._table(0, self._asked[0].codes[part])
                sums = table.take(first, axis=0)
                lowest = np.minimum.reduceat(sums, self._starts, axis=0)
                yield _Sweep(rows, wanted - part.start, sums, lowest)

    def _totals(self, which: Ids, sweep: "_Sweep") -> Iterator[tuple[Ids, Floats]]:
        """Add the second half to the least of the first: (patterns of the second across, b)."""
        for part in _blocks(len(sweep.rows), len(sweep.lowest)):
            chosen = sweep.rows[part]
            total = self._table(1, self._asked[1].codes[self._asked[1].at[which[chosen]]])
            total += sweep.lowest.take(sweep.at[chosen], axis=1)
            yield chosen, total

    def _table(self, half: int, codes: Ids) -> Floats:
        """Return sums over one half of the columns (its patterns across, b)."""
        across = self._across[half].codes
        total = np.zeros((len(across), len(codes)))
        for place, column in enumerate(self._columns[half]):
            rows = rows_across(self._aparts[column], codes[:, place], released=self._released)
            total += rows.take(across[:, place], axis=0)
        return total


def _split(asked: Ids, across: Ids) -> tuple[int, tuple[list[int], list[int]]]:
    """Choose two halves of the columns that make the search short, and say how short."""
    pairs = zip(asked.T, across.T, strict=True)
    order = np.argsort([len(np.unique(a)) / len(np.unique(b)) for a, b in pairs], kind="stable")
    made = []
    for cut in range(len(order) + 1):
        first, second = order[:cut].tolist(), order[cut:].tolist()
        cost = len(_patterns(asked, first)) * len(across)
        cost += len(asked) * len(_patterns(across, second))
        made.append((cost, (first, second)))
    return min(made)


def _patterns(codes: Ids, columns: Sequence[int]) -> Patterns:
    return Patterns.of_codes(codes[:, list(columns)])


def _blocks(n: int, wide: int) -> Iterator[slice]:
    step = max(1, BLOCK // (8 * max(1, wide)))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))
