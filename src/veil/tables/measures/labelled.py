"""What the labels of a released column tell less than the values did."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import MISSING
from veil.tables.criteria.criterion import Bools
from veil.tables.hierarchy import TOP, Hierarchy
from veil.tables.measures.meaning import Meaning, Meanings
from veil.tables.measures.pair import Pair


@dataclass(frozen=True)
class Lost:
    """Sums over the cells of a column; None where some label is no generalisation of its value.

    Attributes
    ----------
    level
        Of levels over heights; also None where a label is on no level.
    bits
        Of log2(f(label) / f(value)), by frequencies in the original.
    width
        Of shares of the domain.
    """

    level: float | None = None
    bits: float | None = None
    width: float | None = None


def lost(pair: Pair, name: str, gone: Ids, level: int | None = None) -> Lost:
    """Add up over the released cells of a column, and those of the rows that are gone.

    `level` is that of the whole column, where it is known.
    """
    column, released = pair.original.column(name), pair.released.column(name)
    n, width = len(column), released.different + 1
    key = (column.codes[pair.required_rows] + 1) * width + released.codes + 1
    pairs, counts = _counted(key, (column.different + 1) * width)
    value, label = pairs // width - 1, pairs % width - 1
    hierarchy = pair.original.hierarchies.get(name)
    meanings = pair.bins(name).meanings
    meant = [*meanings.of(released.categories), meanings.star]  # the last: what is missing
    mass = np.bincount(column.codes + 1, minlength=column.different + 1).astype(np.float64)
    rows, holds = _covered(meant, label, value, mass)
    star = np.array([*(text == TOP for text in released.categories), True])[label]
    kept = (value == MISSING) & (label == MISSING)
    if not (holds | star | kept).all():
        return Lost()
    rows = np.where(kept, mass[0], np.where(star, n, rows))
    wide = np.where(kept, 0.0, np.array([one.loss for one in meant])[label])
    levels = _levels(released.categories, meanings, hierarchy, level)
    own = 0.0 if level is None or hierarchy is None else level / max(1, hierarchy.height)
    high = np.where(kept, own, levels[label])
    away = float(np.log2(n / mass[column.codes[gone] + 1]).sum())
    return Lost(
        None if np.isnan(high).any() else float(counts @ high) + len(gone),
        float(counts @ np.log2(rows / mass[value + 1])) + away,
        float(counts @ wide) + len(gone),
    )


def _counted(key: Ids, top: int) -> tuple[Ids, Ids]:
    """Return the different keys below `top`, and how often each occurs."""
    if top > 4 * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key)
    pairs = np.flatnonzero(counts)
    return pairs, counts[pairs]


def _covered(
    meant: Sequence[Meaning], label: Ids, value: Ids, mass: Floats
) -> tuple[Floats, Bools]:
    """Return how many rows each label stands for, and whether its value is one of them (m,)."""
    rows, holds = np.zeros(len(label)), np.zeros(len(label), dtype=np.bool_)
    orders = {id(one.order): one.order for one in meant}
    which = np.array([id(one.order) for one in meant])
    start = np.array([one.start for one in meant])
    stop = np.array([one.stop for one in meant])
    for number, order in orders.items():
        here = np.flatnonzero(which[label] == number)
        sums = np.append(0.0, np.cumsum(mass[order + 1]))
        place = np.full(len(mass), -1)
        place[order] = np.arange(len(order))
        first, last = start[label[here]], stop[label[here]]
        rows[here] = sums[last] - sums[first]
        at = place[value[here]]  # the last place, of what is missing, is in no order
        holds[here] = (first <= at) & (at < last)
    return rows, holds


def _levels(
    labels: Sequence[str], meanings: Meanings, hierarchy: Hierarchy | None, level: int | None
) -> Floats:
    """Return the level over the height of each label and of what is missing; nan for none."""
    made = np.full(len(labels) + 1, np.nan)
    made[-1] = 1.0
    if level is not None and hierarchy is not None:
        made[:-1] = level / max(1, hierarchy.height)
        return made
    found = {} if hierarchy is None else hierarchy.found
    height = 1 if hierarchy is None else max(1, hierarchy.height)
    values = set(meanings.column.categories)
    for at, label in enumerate(labels):
        if label in values:
            made[at] = 0.0
        elif label in found:
            made[at] = found[label][0] / height
        elif label == TOP:
            made[at] = 1.0
    return made
