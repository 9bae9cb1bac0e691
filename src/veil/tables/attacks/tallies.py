"""How many originals agree with a released row in which columns.

An agreement is a number whose bit j says that column j agrees. A tally lists, for some released
patterns, the agreements that occur and how many originals have each; n x n is never held.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.attacks.patterns import BLOCK, Grid, Patterns
from veil.tables.labels import Bools, Cover
from veil.tables.table import row_classes

Counts = NDArray[np.int32]
_SHORT = 16  # columns whose bits fit into a short number
_DENSE = 12  # columns up to which all agreements are counted at once
_ENTRIES = 2**25  # counts of subsets that are held: 128 MB
_PAIR, _ROW = 4.0, 80.0  # nanoseconds of a column of a pair, and of a row in a subset


class Tally(NamedTuple):
    """Released patterns (t,) in order, an agreement of each (t,), and its originals (t,)."""

    rows: Ids
    agreements: Ids
    counts: Floats


class Bit:
    """What a column tells of a pair, as one bit of an agreement."""

    def __init__(self, cover: Cover, column: int, wide: int) -> None:
        self.labels, self.values = cover.labels, cover.values
        self._cover = cover
        self._bit = np.array(1 << column, dtype=np.uint16 if wide <= _SHORT else np.int64)

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Return the bit of labels that cover values."""
        return self._cover.between(labels, values) * self._bit


class Tallies:
    """Counts agreements of released patterns with known ones."""

    def __init__(self, covers: Sequence[Cover], released: Patterns, known: Patterns) -> None:
        self._covers, self._released, self._known = covers, released, known
        self._wide = len(covers)
        self._subsets: Counts | None = None
        codes = self._labelled() if self._short() else None
        if codes is not None:
            self._subsets = _exactly(_at_least(released.codes, codes, known.sizes), self._wide)

    def __iter__(self) -> Iterator[Tally]:
        """Give tallies of all released patterns, some at a time."""
        if self._subsets is not None:
            step = max(1, BLOCK // (8 << self._wide))
            for start in range(0, len(self._released), step):
                yield _listed(self._subsets[:, start : start + step].T, start)
            return
        bits = [Bit(cover, column, self._wide) for column, cover in enumerate(self._covers)]
        grid = Grid(bits, self._known.codes, np.bitwise_or, released=False)
        count = _dense if self._wide <= _DENSE else _sorted
        for part in grid.blocks(len(self._released)):
            pairs = grid.block(self._released.codes[part])
            yield count(pairs, self._known.sizes, part.start, self._wide)

    def agreements(self, released: Ids, known: Ids) -> Bools:
        """Tell of pairs of patterns which columns agree (n, columns)."""
        labels, values = self._released.codes[released], self._known.codes[known]
        columns = [
            cover.between(labels[:, j], values[:, j]) for j, cover in enumerate(self._covers)
        ]
        return np.stack(columns, axis=1)

    def _short(self) -> bool:
        """Whether counting by subsets of columns is faster than by pairs, and fits."""
        rows, across = len(self._released), len(self._known)
        if self._wide > _DENSE or rows << self._wide > _ENTRIES:
            return False
        return _ROW * (rows + across) * (1 << self._wide) < _PAIR * self._wide * rows * across

    def _labelled(self) -> Ids | None:
        """Return known patterns by the one label of each value, or None if some have several."""
        made = []
        for column, cover in enumerate(self._covers):
            used = self._released.codes[:, column]
            alone = cover.alone(used[used < cover.labels])
            if alone is None:
                return None
            made.append(alone[self._known.codes[:, column]])
        return np.stack(made, axis=1)


def _at_least(released: Ids, known: Ids, sizes: Floats) -> Counts:
    """Count the originals that agree in all columns of each subset (subsets, released)."""
    count, wide = released.shape
    both = np.concatenate([released, known])
    made: Counts = np.empty((1 << wide, count), dtype=np.int32)

    def visit(subset: int, numbers: Ids, start: int) -> None:
        held = np.bincount(numbers[count:], sizes, minlength=int(numbers.max()) + 1)
        made[subset] = held[numbers[:count]]
        for column in range(start, wide):
            finer = row_classes([numbers, both[:, column]], len(both))
            visit(subset | 1 << column, finer, column + 1)

    visit(0, np.zeros(len(both), dtype=np.int64), 0)
    return made


def _exactly(counts: Counts, wide: int) -> Counts:
    """Turn counts of agreeing at least in a subset into those of agreeing exactly in it."""
    for column in range(wide):
        cube = counts.reshape(-1, 2, 1 << column, counts.shape[1])
        cube[:, 0] -= cube[:, 1]
    return counts


def _listed(table: NDArray[Any], start: int) -> Tally:
    """List what is above 0 in a table (released, agreements)."""
    rows, agreements = np.nonzero(table)
    return Tally(rows + start, agreements, table[rows, agreements].astype(np.float64))


def _dense(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) in a table of all that are possible."""
    count = pairs.shape[1]
    keys = pairs + (np.arange(count) << wide)
    weights = np.broadcast_to(sizes[:, None], pairs.shape).ravel()
    table = np.bincount(keys.ravel(), weights, minlength=count << wide)
    return _listed(table.reshape(count, 1 << wide), start)


def _sorted(pairs: NDArray[Any], sizes: Floats, start: int, wide: int) -> Tally:
    """Count agreements (known, b) of many columns by sorting them, one released at a time."""
    del wide
    made = []
    for row, column in enumerate(pairs.T):
        agreements, places = np.unique(column, return_inverse=True)
        rows = np.full(len(agreements), start + row)
        counts = np.bincount(places, sizes).astype(np.float64)
        made.append(Tally(rows, agreements.astype(np.int64), counts))
    return Tally(*(np.concatenate(part) for part in zip(*made, strict=True)))
