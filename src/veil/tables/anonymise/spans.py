"""What a class publishes of a column: an interval, a common ancestor, or the set of its values."""

import numpy as np

from veil.core.types import Ids
from veil.tables.column import MISSING, Column, written
from veil.tables.hierarchy import TOP, Hierarchy


def published(column: Column, hierarchy: Hierarchy | None, owner: Ids) -> Column:
    """Give all rows of a class (n,) one label of a column.

    Numbers become [smallest-largest], others their lowest common ancestor in the hierarchy, else
    the set {a, b} of their values. A class with missing values alone keeps them; one with some has
    the top instead.
    """
    classes = int(owner.max(initial=-1)) + 1
    there = column.codes != MISSING
    known = np.bincount(owner[there], minlength=classes)
    mixed = (known > 0) & (known < np.bincount(owner, minlength=classes))
    whole = owner[there], column.codes[there], classes
    if column.numeric:
        codes, labels = _intervals(column, *whole)
    elif hierarchy is not None:
        codes, labels = _ancestors(column, hierarchy, *whole)
    else:
        codes, labels = _sets(column, *whole)
    codes[mixed] = len(labels)
    codes[known == 0] = MISSING
    return Column.of_codes(codes[owner], [*labels, TOP])


def _extremes(owner: Ids, codes: Ids, classes: int) -> tuple[Ids, Ids]:
    """Return the smallest and the largest code of each class."""
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
    if column.written is not None:
        names = column.categories
        return at, [f"[{names[pair // width]}-{names[pair % width]}]" for pair in pairs.tolist()]
    least, most = (column.numbers[part].tolist() for part in (pairs // width, pairs % width))
    return at, [f"[{written(a)}-{written(b)}]" for a, b in zip(least, most, strict=True)]


def _ancestors(
    column: Column, hierarchy: Hierarchy, owner: Ids, codes: Ids, classes: int
) -> tuple[Ids, list[str]]:
    leaves = hierarchy.at(column)
    made = np.full(classes, -1)
    labels: list[str] = []
    for names, told in zip(hierarchy.labels, hierarchy.codes, strict=True):
        low, high = _extremes(owner, told[leaves][codes], classes)
        settled = (made < 0) & (low == high)
        made[settled] = len(labels) + low[settled]
        labels.extend(names)
    return made, labels


def _sets(column: Column, owner: Ids, codes: Ids, classes: int) -> tuple[Ids, list[str]]:
    width = len(column.categories)
    pairs = np.unique(owner * width + codes)
    at: dict[tuple[int, ...], int] = {}
    made = np.zeros(classes, dtype=np.int64)
    first = np.flatnonzero(np.diff(pairs // max(1, width), prepend=-1))
    for group in np.split(pairs, first[1:]) if len(pairs) else []:
        members = tuple((group % width).tolist())
        made[group[0] // width] = at.setdefault(members, len(at))
    names = column.categories
    return made, [_set([names[member] for member in members]) for members in at]


def _set(members: list[str]) -> str:
    return members[0] if len(members) == 1 else "{" + ", ".join(members) + "}"
