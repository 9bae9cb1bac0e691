"""The nearest patterns of the other side, all that are as near included."""

from collections.abc import Sequence

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.attacks.apart import Apart
from veil.tables.attacks.halves import Halves, within
from veil.tables.attacks.mixed import Mixed, line_columns
from veil.tables.attacks.patterns import Patterns, told
from veil.tables.attacks.trees import Trees
from veil.tables.labels import Bools
from veil.tables.table import row_classes

_MUCH = 50_000_000  # steps beyond which numbers and categories are searched apart


class Nearest:
    """For patterns that are asked of, the nearest patterns across.

    Numbers without intervals are searched by trees, few different values by halves of the columns,
    and n x n is never held. `released` says whether what lies across are released labels.
    """

    def __init__(
        self, aparts: Sequence[Apart], asked: Patterns, across: Patterns, *, released: bool
    ) -> None:
        self._aparts, self._asked, self._across = aparts, asked, across
        self._released = released
        self._search = _search(aparts, asked.codes, across.codes, released=released)
        self.best = self._found()
        self._limit = within(self.best)

    def holds(self, asked: Ids, across: Ids) -> Bools:
        """Tell of pairs of patterns whether the second is among the nearest of the first."""
        labels, values = self._asked.codes[asked], self._across.codes[across]
        if self._released:
            labels, values = values, labels
        total = np.zeros(len(asked))
        for part in told(self._aparts, labels, values):
            total += part
        found: Bools = total <= self._limit[asked]
        return found

    def sums(self, which: Ids, weights: Floats) -> Floats:
        """Add up weights (across, v) over all nearest of some patterns."""
        return self._search.sums(which, self._limit[which], weights)

    def _found(self) -> Floats:
        """Return the sum of squares (Gower: of distances) of the nearest (asked,)."""
        if not isinstance(self._search, Halves):
            return self._search.best()
        made = np.zeros(len(self._asked))
        todo = np.flatnonzero(~self._equal())
        made[todo] = self._search.least(todo)
        return made

    def _equal(self) -> Bools:
        """Tell which patterns have an equal one across: nothing can be nearer."""
        labels, values = self._asked.codes, self._across.codes
        if self._released:
            labels, values = values, labels
        columns = [one.equal()[labels[:, at]] for at, one in enumerate(self._aparts)]
        matched = np.stack(columns, axis=1)
        both = np.concatenate([matched, values])
        classes = row_classes(list(both.T), len(both))
        mine, theirs = classes[: len(matched)], classes[len(matched) :]
        mine = np.where((matched < 0).any(axis=1), -1, mine)
        if self._released:
            mine, theirs = theirs, mine
        return np.isin(mine, theirs[theirs >= 0])


def _search(
    aparts: Sequence[Apart], asked: Ids, across: Ids, *, released: bool
) -> Trees | Mixed | Halves:
    """Choose how to search: numbers by trees, few different values by halves of the columns."""
    trees = Trees.of(aparts, asked, across, released=released)
    if trees is not None:
        return trees
    halves = Halves(aparts, asked, across, released=released)
    if halves.cost > _MUCH and line_columns(aparts, asked, across, released=released):
        mixed = Mixed(aparts, asked, across, released=released)
        if mixed.cost < halves.cost:
            return mixed
    return halves
