"""Mondrian: strict multidimensional partitioning."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column
from veil.tables.criteria import (
    Anonymiser,
    Bools,
    Classes,
    Criterion,
    category_codes,
    passing,
    spread,
)
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.mechanism import GROUPS, Grid, Masked, Presets, group_sizes
from veil.tables.table import Table, row_classes


@dataclass(frozen=True, eq=False)
class Scale:
    """The order of a column's values.

    Numbers are ordered by size; categories as their hierarchy lists them, otherwise
    alphabetically. A missing value comes after the last one, one step away.

    Attributes
    ----------
    ranks
        Rank of each row (n,).
    places
        Position of each rank.
    range
        Distance from the first to the last value that is not missing; 1 if they are equal.
    """

    ranks: Ids
    places: Floats
    range: float

    @classmethod
    def of(cls, column: Column, hierarchy: Hierarchy | None, name: str) -> "Scale":
        """Return the order of a column's values."""
        count = column.different
        if column.numeric:
            if not np.isfinite(column.numbers).all():
                raise InputError(
                    f"The column '{name}' must have finite numbers. Remove the infinite ones."
                )
            category, places = np.arange(count), column.numbers.astype(np.float64)
        elif hierarchy is not None:
            leaves = hierarchy.at(column)
            category = np.argsort(leaves)
            places = leaves[category].astype(np.float64)
        else:
            category, places = np.arange(count), np.arange(count, dtype=np.float64)
        rank = np.empty(count + 1, dtype=np.int64)
        rank[category] = np.arange(count)
        rank[-1] = count  # of the code of a missing value, -1
        width = float(places[-1] - places[0]) if count > 1 else 1.0
        if column.missing.any():
            behind = places[-1] + width / max(1, count - 1) if count else 0.0
            places = np.append(places, behind)
        return cls(rank[column.codes], places, width)


_ROOM = 4  # cells of a dense table of counts per item, beyond which items are sorted


@dataclass(frozen=True, eq=False)
class Items:
    """Distinct rows: ranks (columns, m), their counts, and confidential values."""

    ranks: Ids
    weight: Ids
    values: tuple[tuple[Ids, int], ...]  # per confidential column: value (m,), number of values

    def classes(self, selected: Ids, owner: Ids, count: int) -> Classes:
        """Return the classes of the selected items, whose class numbers are `owner`."""
        weight = self.weight[selected]
        sizes = np.bincount(owner, weight, minlength=count).astype(np.int64)
        return Classes(
            sizes,
            tuple(
                spread(owner, value[selected], values, count, weight)
                for value, values in self.values
            ),
        )


@dataclass(frozen=True, eq=False)
class _Round:
    """Parts that may still be cut: items ordered by part, and the start of each part."""

    items: Ids
    starts: Ids

    @property
    def parts(self) -> int:
        return len(self.starts)

    @property
    def owner(self) -> Ids:
        return np.repeat(np.arange(self.parts), np.diff(np.append(self.starts, len(self.items))))


def partition_items(items: Items, scales: Sequence[Scale], criteria: tuple[Criterion, ...]) -> Ids:
    """Return the class of each item (m,).

    Each part is cut at the median of its widest column whose two sides satisfy the criteria.
    """
    classes = np.zeros(len(items.weight), dtype=np.int64)
    count = 0
    now = _Round(np.arange(len(classes)), np.zeros(1, dtype=np.int64))
    while now.parts:
        owner = now.owner
        cut, on_left = _cuts(items, scales, criteria, now, owner)
        done = ~cut[owner]
        final = np.cumsum(~cut) - 1 + count
        classes[now.items[done]] = final[owner[done]]
        count += int((~cut).sum())
        now = _halves(now.items[~done], owner[~done], on_left[~done])
    return classes


def _halves(items: Ids, owner: Ids, on_left: Bools) -> _Round:
    """Split each part into its two sides."""
    new = np.diff(owner, prepend=-1) > 0
    begins = np.flatnonzero(new)
    part = np.cumsum(new) - 1
    before: Ids = np.cumsum(on_left) - on_left  # items on the left before each, in all parts
    base: Ids = before[begins]
    left_sizes = np.diff(np.append(base, np.count_nonzero(on_left)))
    within: Ids = before - base[part]
    place = np.where(
        on_left, begins[part] + within, np.arange(len(items)) + left_sizes[part] - within
    )
    ordered = np.empty_like(items)
    ordered[place] = items
    return _Round(ordered, np.stack([begins, begins + left_sizes], axis=1).ravel())


def _widths(items: Items, scales: Sequence[Scale], now: _Round) -> Floats:
    widths = np.empty((now.parts, len(scales)))
    for column, scale in enumerate(scales):
        ranks = items.ranks[column, now.items]
        low = np.minimum.reduceat(ranks, now.starts)
        high = np.maximum.reduceat(ranks, now.starts)
        widths[:, column] = (scale.places[high] - scale.places[low]) / scale.range
    return widths


def _cuts(
    items: Items,
    scales: Sequence[Scale],
    criteria: tuple[Criterion, ...],
    now: _Round,
    owner: Ids,
) -> tuple[Bools, Bools]:
    """Return which parts (parts,) can be cut, and which items (m,) are then on the left."""
    widths = _widths(items, scales, now)
    order = np.argsort(-widths, axis=1, kind="stable")
    cut = np.zeros(now.parts, dtype=np.bool_)
    on_left = np.zeros(len(now.items), dtype=np.bool_)
    for turn in range(len(scales)):
        column = order[:, turn]
        trying = ~cut & (widths[np.arange(now.parts), column] > 0)
        if not trying.any():
            break
        here = np.flatnonzero(trying[owner])
        mine = owner[here]
        part = (np.cumsum(trying) - 1)[mine]
        tried = now.items[here]
        ranks = items.ranks.ravel()[column[mine] * len(items.weight) + tried]
        middle = _medians(part, ranks, items.weight[tried])[part]
        number = np.flatnonzero(trying)
        for side in (ranks < middle, ranks <= middle):
            sides = items.classes(tried, 2 * part + ~side, 2 * len(number))
            passed = passing(criteria, sides) & (sides.sizes > 0)
            good = passed.reshape(-1, 2).all(axis=1) & ~cut[number]
            cut[number[good]] = True
            moved = good[part]
            on_left[here[moved]] = side[moved]
    return cut, on_left


def _medians(part: Ids, ranks: Ids, weight: Ids) -> Ids:
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


def published(column: Column, hierarchy: Hierarchy | None, owner: Ids) -> Column:
    """Return a column in which all rows of a class (n,) have the same label.

    Numbers become [smallest-largest]; categories their lowest common ancestor in the hierarchy, or
    the set {a, b} of their values. A class whose values are all missing keeps them; one with some
    missing values gets the top.
    """
    classes = int(owner.max(initial=-1)) + 1
    present = column.codes != MISSING
    counts = np.bincount(owner[present], minlength=classes)
    mixed = (counts > 0) & (counts < np.bincount(owner, minlength=classes))
    whole = owner[present], column.codes[present], classes
    if column.numeric:
        codes, labels = _intervals(column, *whole)
    elif hierarchy is not None:
        codes, labels = _ancestors(column, hierarchy, *whole)
    else:
        codes, labels = _sets(column, *whole)
    codes[mixed] = len(labels)
    codes[counts == 0] = MISSING
    return Column.of_codes(codes[owner], [*labels, TOP])


def _extremes(owner: Ids, codes: Ids, classes: int) -> tuple[Ids, Ids]:
    low = np.full(classes, np.iinfo(np.int64).max)
    high = np.full(classes, -1)
    np.minimum.at(low, owner, codes)
    np.maximum.at(high, owner, codes)
    return np.where(high < 0, 0, low), np.maximum(high, 0)


def _intervals(column: Column, owner: Ids, codes: Ids, classes: int) -> tuple[Ids, list[str]]:
    low, high = _extremes(owner, codes, classes)
    width = column.different + 1
    pairs, at = np.unique(low * width + high, return_inverse=True)
    if not len(codes):
        return at, [""]
    names = column.categories
    return at, [f"[{names[pair // width]}-{names[pair % width]}]" for pair in pairs.tolist()]


def _ancestors(
    column: Column, hierarchy: Hierarchy, owner: Ids, codes: Ids, classes: int
) -> tuple[Ids, list[str]]:
    leaves = hierarchy.at(column)
    label_codes = np.full(classes, -1)
    labels: list[str] = []
    for names, level_codes in zip(hierarchy.labels, hierarchy.codes, strict=True):
        low, high = _extremes(owner, level_codes[leaves][codes], classes)
        settled = (label_codes < 0) & (low == high)
        label_codes[settled] = len(labels) + low[settled]
        labels.extend(names)
    return label_codes, labels


def _sets(column: Column, owner: Ids, codes: Ids, classes: int) -> tuple[Ids, list[str]]:
    width = len(column.categories)
    pairs = np.unique(owner * width + codes)
    at: dict[tuple[int, ...], int] = {}
    set_codes = np.zeros(classes, dtype=np.int64)
    first = np.flatnonzero(np.diff(pairs // max(1, width), prepend=-1))
    for group in np.split(pairs, first[1:]) if len(pairs) else []:
        members = tuple((group % width).tolist())
        set_codes[group[0] // width] = at.setdefault(members, len(at))
    names = column.categories
    return set_codes, [_set([names[member] for member in members]) for members in at]


def _set(members: list[str]) -> str:
    return members[0] if len(members) == 1 else "{" + ", ".join(members) + "}"


class Mondrian(Anonymiser):
    """Cut the table in two repeatedly, and publish what the rows of each part share.

    A part is cut at the median m of the column with the largest width (its range over that of the
    table; ties go to the first column): x < m goes to the left or, if that side is empty or a side
    does not satisfy the criteria, x <= m. If no cut satisfies them, the next widest column is
    tried. In each part, numbers are published as [smallest-largest], categories as their lowest
    common ancestor or, without a hierarchy, as the set of their values. No row is suppressed.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan. Mondrian multidimensional k-anonymity. ICDE 2006, Figure 3
    (strict partitioning). doi:10.1109/ICDE.2006.101
    """

    name: ClassVar[str] = "mondrian"
    grid: ClassVar[Grid | None] = Grid("mondrian", "k", GROUPS, groups=True)
    presets: ClassVar[Presets | None] = lambda table: [
        f"mondrian(k={k})" for k in group_sizes(table)
    ]

    @override
    def mask(self, table: Table, columns: Sequence[str], rng: Generator) -> Masked:
        del rng
        self.require_feasible(table)
        rows = len(table)
        groups = self.groups(table, columns)
        masked = {
            name: published(table.column(name), table.hierarchies.get(name), groups)
            for name in columns
        }
        return Masked(
            table.changed(masked),
            np.arange(rows),
            self.guarantee_for(table, columns),
            groups=groups,
        )

    def groups(self, table: Table, columns: Sequence[str]) -> Ids:
        """Return the part that each row belongs to (n,)."""
        scales = [
            Scale.of(table.column(name), table.hierarchies.get(name), name) for name in columns
        ]
        values = [category_codes(table.column(name)) for name in self.requirements.columns(table)]
        item = row_classes(
            [scale.ranks for scale in scales] + [value for value, _ in values], len(table)
        )
        weight = np.bincount(item)
        first = np.empty(len(weight), dtype=np.int64)
        first[item[::-1]] = np.arange(len(table))[::-1]
        items = Items(
            np.stack([scale.ranks[first] for scale in scales]),
            weight,
            tuple((value[first], count) for value, count in values),
        )
        criteria = self.requirements.criteria(table)
        everything = np.arange(len(weight))
        whole = items.classes(everything, np.zeros_like(everything), 1)
        if not passing(criteria, whole).all():
            raise InputError(
                "The table as a whole does not meet the requirements, so no part of it can. Lower"
                " k or l, or raise t or c."
            )
        return partition_items(items, scales, criteria)[item]
