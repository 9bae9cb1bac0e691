"""Strict multidimensional partitioning: all parts of a round are cut at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.anonymise.scale import Scale
from veil.tables.criteria.classes import Classes, spread
from veil.tables.criteria.criterion import Bools, Criterion, passing

_ROOM = 4  # cells of a dense table of counts for each item, above which items are sorted


@dataclass(frozen=True, eq=False)
class Items:
    """Different rows: ranks (columns, m), how often each occurs, and confidential values."""

    ranks: Ids
    weight: Ids
    values: tuple[tuple[Ids, int], ...]  # per confidential column: value (m,), how many there are

    def classes(self, some: Ids, owner: Ids, count: int) -> Classes:
        """Return the classes that some items make, by the class of each."""
        weight = self.weight[some]
        sizes = np.bincount(owner, weight, minlength=count).astype(np.int64)
        return Classes(
            sizes,
            tuple(
                spread(owner, value[some], values, count, weight) for value, values in self.values
            ),
        )


@dataclass(frozen=True, eq=False)
class _Round:
    """Parts that may still be cut: items in the order of parts, and where parts begin."""

    items: Ids
    starts: Ids

    @property
    def parts(self) -> int:
        return len(self.starts)

    @property
    def owner(self) -> Ids:
        return np.repeat(np.arange(self.parts), np.diff(np.append(self.starts, len(self.items))))


def partitioned(items: Items, scales: Sequence[Scale], criteria: tuple[Criterion, ...]) -> Ids:
    """Return the class of each item (m,).

    Each part is cut at the median of the column in which it is widest, or of the next one, as
    long as both sides satisfy the criteria.
    """
    made = np.zeros(len(items.weight), dtype=np.int64)
    count = 0
    now = _Round(np.arange(len(made)), np.zeros(1, dtype=np.int64))
    while now.parts:
        owner = now.owner
        cut, left = _cuts(items, scales, criteria, now, owner)
        done = ~cut[owner]
        final = np.cumsum(~cut) - 1 + count
        made[now.items[done]] = final[owner[done]]
        count += int((~cut).sum())
        now = _halves(now.items[~done], owner[~done], left[~done])
    return made


def _halves(items: Ids, owner: Ids, left: Bools) -> _Round:
    """Put the two sides of each part after each other."""
    new = np.diff(owner, prepend=-1) > 0
    begins = np.flatnonzero(new)
    part = np.cumsum(new) - 1
    before: Ids = np.cumsum(left) - left  # items on the left before each, in all parts
    base: Ids = before[begins]
    lefts = np.diff(np.append(base, np.count_nonzero(left)))
    within: Ids = before - base[part]
    place = np.where(left, begins[part] + within, np.arange(len(items)) + lefts[part] - within)
    ordered = np.empty_like(items)
    ordered[place] = items
    return _Round(ordered, np.stack([begins, begins + lefts], axis=1).ravel())


def _widths(items: Items, scales: Sequence[Scale], now: _Round) -> Floats:
    """Return how wide each part is in each column (parts, columns)."""
    made = np.empty((now.parts, len(scales)))
    for column, scale in enumerate(scales):
        ranks = items.ranks[column, now.items]
        low = np.minimum.reduceat(ranks, now.starts)
        high = np.maximum.reduceat(ranks, now.starts)
        made[:, column] = (scale.places[high] - scale.places[low]) / scale.range
    return made


def _cuts(
    items: Items,
    scales: Sequence[Scale],
    criteria: tuple[Criterion, ...],
    now: _Round,
    owner: Ids,
) -> tuple[Bools, Bools]:
    """Say which parts (parts,) can be cut, and which items (m,) are then on the left."""
    widths = _widths(items, scales, now)
    order = np.argsort(-widths, axis=1, kind="stable")
    cut = np.zeros(now.parts, dtype=np.bool_)
    left = np.zeros(len(now.items), dtype=np.bool_)
    for turn in range(len(scales)):
        column = order[:, turn]
        trying = ~cut & (widths[np.arange(now.parts), column] > 0)
        if not trying.any():
            break
        here = np.flatnonzero(trying[owner])
        mine = owner[here]
        part = (np.cumsum(trying) - 1)[mine]
        some = now.items[here]
        ranks = items.ranks.ravel()[column[mine] * len(items.weight) + some]
        middle = _medians(part, ranks, items.weight[some])[part]
        number = np.flatnonzero(trying)
        for side in (ranks < middle, ranks <= middle):
            sides = items.classes(some, 2 * part + ~side, 2 * len(number))
            passed = passing(criteria, sides) & (sides.sizes > 0)
            good = passed.reshape(-1, 2).all(axis=1) & ~cut[number]
            cut[number[good]] = True
            chosen = good[part]
            left[here[chosen]] = side[chosen]
    return cut, left


def _medians(part: Ids, ranks: Ids, weight: Ids) -> Ids:
    """Return the upper middle of the ranks of each part."""
    sizes = np.bincount(part, weight).astype(np.int64)
    half = sizes // 2
    top = int(ranks.max()) + 1
    if len(sizes) * top <= _ROOM * len(part) + 1024:
        table = np.bincount(part * top + ranks, weight, minlength=len(sizes) * top)
        below = table.reshape(-1, top).cumsum(axis=1) <= half[:, None]
        return np.asarray(below.sum(axis=1), dtype=np.int64)
    key: Ids = part * top + ranks
    place: Ids = np.cumsum(sizes) - sizes + half
    if weight.max() == 1:
        key.sort()
        return key[place] % top
    order = np.argsort(key)
    at = np.searchsorted(np.cumsum(weight[order]), place, side="right")
    return key[order[at]] % top
