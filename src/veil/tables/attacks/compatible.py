"""Which released rows a target may be, by what their labels cover."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.attacks.patterns import Grid, Patterns, told
from veil.tables.labels import UNCOVERED, Bools, Cover
from veil.tables.table import row_classes

_EXACT = 2**24  # up to which single precision counts without error


class Compatible:
    """Patterns of released labels beside patterns of known values.

    Where each value is covered by one label of its column, values are replaced by their labels,
    and equal rows are compatible; else all pairs of patterns are compared, in blocks.
    """

    def __init__(self, covers: Sequence[Cover], released: Patterns, known: Patterns) -> None:
        self._covers, self._released, self._known = covers, released, known
        self._classes = self._joined()

    def holds(self, released: Ids, known: Ids) -> Bools:
        """Tell which pairs of patterns, by their numbers, are compatible."""
        pairs = told(self._covers, self._released.codes[released], self._known.codes[known])
        found: Bools = np.logical_and.reduce(pairs)
        return found

    def over_released(self, weights: Floats) -> Floats:
        """Add up weights (released, v) over what is compatible with each known pattern."""
        return self._sums(weights, over_released=True)

    def over_known(self, weights: Floats) -> Floats:
        """Add up weights (known, v) over what is compatible with each released pattern."""
        return self._sums(weights, over_released=False)

    def _sums(self, weights: Floats, *, over_released: bool) -> Floats:
        if self._classes is not None:
            labels, values = self._classes
            over, to = (labels, values) if over_released else (values, labels)
            return _by_class(weights, over, to)
        across, asked = self._released.codes, self._known.codes
        if not over_released:
            across, asked = asked, across
        grid = Grid(self._covers, across, np.logical_and, released=over_released)
        made = np.empty((len(asked), weights.shape[1]))
        short = bool(weights.sum(axis=0).max(initial=0.0) < _EXACT)
        factors: NDArray[Any] = weights.astype(np.float32 if short else np.float64)
        for part in grid.blocks(len(asked)):
            made[part] = grid.block(asked[part]).astype(factors.dtype).T @ factors
        return made

    def _joined(self) -> tuple[Ids, Ids] | None:
        """Give both sides the numbers of their labels, if each value has one; -1 is for none."""
        coded = []
        for column, cover in enumerate(self._covers):
            alone = cover.alone(self._released.codes[:, column])
            if alone is None:
                return None
            coded.append(alone[self._known.codes[:, column]])
        values = np.stack(coded, axis=1)
        both = np.concatenate([self._released.codes, values])
        classes = row_classes(list(both.T), len(both))
        labels = classes[: len(self._released)]
        return labels, np.where(
            (values == UNCOVERED).any(axis=1), -1, classes[len(self._released) :]
        )


def _by_class(weights: Floats, over: Ids, to: Ids) -> Floats:
    """Add up weights by the class of their rows, and look the sums up; none for class -1."""
    count = max(int(over.max(initial=-1)), int(to.max(initial=-1))) + 1
    held = over >= 0
    sums = np.stack(
        [np.bincount(over[held], column[held], minlength=count) for column in weights.T], axis=1
    )
    return np.where(to[:, None] >= 0, sums[to], 0.0)
