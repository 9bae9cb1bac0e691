"""The labels of a column at every level of its hierarchy, over the values that it has."""

from dataclasses import dataclass, field

import numpy as np

from veil.core.types import Ids
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Ladder:
    """Levels of one column.

    A missing value is a label of its own until the top, where all are one.

    Attributes
    ----------
    codes
        Per level the label of each category (categories,), or (categories + 1,) where a value is
        missing: the code of a missing one, -1, finds its own at the end.
    labels
        Per level the labels that occur; None for what is missing.
    leaves
        Per level, of how many leaves of the hierarchy each label is.
    domain
        How many leaves the hierarchy has.
    """

    codes: tuple[Ids, ...]
    labels: tuple[tuple[str | None, ...], ...]
    leaves: tuple[Ids, ...]
    domain: int
    _maps: dict[tuple[int, int], Ids] = field(default_factory=dict)

    @property
    def height(self) -> int:
        """The level of the top."""
        return len(self.codes) - 1

    def map(self, low: int, high: int) -> Ids:
        """Return the label at a level of each label at a lower one."""
        found = self._maps.get((low, high))
        if found is None:
            found = np.zeros(len(self.labels[low]), dtype=np.int64)
            found[self.codes[low]] = self.codes[high]
            self._maps[low, high] = found
        return found

    @classmethod
    def of(cls, column: Column, hierarchy: Hierarchy) -> "Ladder":
        """Look up the values that a column has."""
        leaves = hierarchy.at(column)
        gaps = bool(column.missing.any())
        codes, labels, under = [], [], []
        for level, (names, told) in enumerate(zip(hierarchy.labels, hierarchy.codes, strict=True)):
            used, at = np.unique(told[leaves], return_inverse=True)
            names_here: list[str | None] = [names[code] for code in used]
            below = np.bincount(told, minlength=len(names))[used]
            if gaps and level and level == hierarchy.height and len(used):
                at = np.append(at, 0)
            elif gaps:
                at = np.append(at, len(used))
                names_here.append(None)
                below = np.append(below, 1)
            codes.append(at.astype(np.int64))
            labels.append(tuple(names_here))
            under.append(below)
        return cls(tuple(codes), tuple(labels), tuple(under), len(hierarchy.leaves))
