"""Classes of rows that look alike: their sizes, and how confidential values spread over them."""

from dataclasses import dataclass, replace

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import Column

_ROOM = 4  # cells of a dense table of counts for each entry, above which keys are sorted


@dataclass(frozen=True, eq=False)
class Spread:
    """How often each value of a confidential column is in each class.

    Attributes
    ----------
    owner
        The class of each entry (entries,), ascending; a class and a value that meet are one entry.
    value
        The category (entries,); `values` itself stands for a value that is missing.
    count
        How many rows (entries,).
    values, classes
        How many categories and classes there are.
    """

    owner: Ids
    value: Ids
    count: Ids
    values: int
    classes: int

    @property
    def known(self) -> "Spread":
        """The same without values that are missing."""
        there = self.value < self.values
        if there.all():
            return self
        return replace(
            self, owner=self.owner[there], value=self.value[there], count=self.count[there]
        )

    @property
    def sizes(self) -> Floats:
        """Rows of each class (classes,)."""
        return self.sums(self.count)

    def sums(self, amounts: Ids | Floats) -> Floats:
        """Add up amounts (entries,) by class (classes,)."""
        made = np.bincount(self.owner, amounts, minlength=self.classes)
        return np.asarray(made, dtype=np.float64)

    @property
    def shares(self) -> Floats:
        """Each entry's share of its class (entries,)."""
        return self.count / self.sizes[self.owner]

    def relabelled(self, labels: Ids, values: int) -> "Spread":
        """Return the same with another label for each category; several may become one."""
        told = np.append(labels, values)  # what is missing stays so
        if len(np.unique(told)) == len(told):
            return replace(self, value=told[self.value], values=values)
        return spread(self.owner, told[self.value], values, self.classes, self.count)


@dataclass(frozen=True, eq=False)
class Classes:
    """Sizes of classes (m,), and per confidential column how its values spread over them."""

    sizes: Ids
    spreads: tuple[Spread, ...] = ()


def spread(owner: Ids, value: Ids, values: int, classes: int, count: Ids | None = None) -> Spread:
    """Count the values (n,) of rows by their class (n,); `values` stands for a missing one."""
    width = values + 1
    key = owner * width + value
    if classes * width <= _ROOM * len(key) + 1024:
        dense = np.bincount(key, count, minlength=classes * width)
        keys = np.flatnonzero(dense)
        counts = dense[keys].astype(np.int64)
    else:
        keys, at = np.unique(key, return_inverse=True)
        counts = np.bincount(at, count).astype(np.int64)
    return Spread(keys // width, keys % width, counts, values, classes)


def valued(column: Column) -> tuple[Ids, int]:
    """Return the category of each row (n,), one more for a missing one, and their number."""
    values = column.different
    return np.where(column.codes < 0, values, column.codes), values


def shares(column: Column, counts: Ids | None = None) -> Floats:
    """Return the share of each category in a whole column, and of what is missing at the end.

    `counts` says of how many records each row is (n,).
    """
    value, values = valued(column)
    total = len(column) if counts is None else int(counts.sum())
    return np.bincount(value, counts, minlength=values + 1) / max(1, total)
