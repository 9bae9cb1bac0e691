"""The least change of counts, with all sums kept, that leaves no small count."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.counts.axis import interior
from veil.tables.counts.cells import Cells
from veil.tables.counts.lines import Lines
from veil.tables.counts.release import Mask
from veil.tables.counts.solver import SECONDS, is_whole, minimise, scipy_module


@dataclass(frozen=True, eq=False)
class Adjustment:
    """Gains p and losses m of counts from the threshold on; small ones become T b + q.

    T is the threshold, b is 0 or 1, q is what is above T, and only where b is 1: q <= M b, where M
    is what the others on its lines can lose. Minimise sum p + m + q + (T - 2 v) b, which is the
    sum of all changes less that of the small counts v, such that A times all changes is 0.
    """

    cells: Cells
    threshold: int
    share: float

    @cached_property
    def small(self) -> Mask:
        """Which counts must go to 0 or up."""
        values = self.cells.values
        return np.asarray((values > 0) & (values < self.threshold))

    def least(self) -> Floats | None:
        """Return the table of least change, or None if there is none."""
        few = np.flatnonzero(self.small)
        rest = np.flatnonzero(self.cells.values.ravel() >= self.threshold)
        values = self.cells.values.ravel()
        gain, loss = (one.ravel() for one in self._room())
        most = np.maximum(0.0, gain[few] + values[few] - self.threshold)
        up = (gain[few] + values[few] >= self.threshold).astype(np.float64)
        cost = [np.ones(2 * len(rest) + len(few)), self.threshold - 2 * values[few]]
        matrix, left, right = self._program(values[few], most, few, rest)
        high = np.concatenate([gain[rest], loss[rest], most, up])
        found = self._solved(np.concatenate(cost), matrix, (left, right), high, len(few))
        if found is None:
            return None
        p, m, q, b = np.split(np.rint(found), np.cumsum([len(rest), len(rest), len(few)]))
        made = values.copy()
        made[rest] += p - m
        made[few] = self.threshold * b + q
        return made.reshape(self.cells.values.shape)

    def _solved(
        self,
        cost: Floats,
        matrix: Any,  # noqa: ANN401 - of SciPy
        sides: tuple[Floats, Floats],
        high: Floats,
        ups: int,
    ) -> Floats | None:
        """Solve it; on two axes all is whole once the choices are."""
        choices = np.zeros(len(cost))
        choices[len(cost) - ups :] = 1.0
        low, every = np.zeros(len(cost)), np.ones(len(cost))
        for whole in [choices, every] if Lines(self.cells.axes).planar else [every]:
            found = minimise(cost, matrix, sides, low, high, whole, SECONDS)
            if found is None or is_whole(found):
                return found
        return None

    def _room(self) -> tuple[Floats, Floats]:
        """Return how much each count can gain and lose."""
        values = self.cells.values
        room = np.maximum(1.0, np.floor(self.share * values))
        loss = np.minimum(room, np.maximum(values - self.threshold, 0.0))
        loss = np.where(self.small, values, loss)
        others = [loss.sum(axis, keepdims=True) - loss for axis in range(values.ndim)]
        return np.where(self.small, np.minimum.reduce(others), room), loss

    def _program(
        self, value: Floats, most: Floats, few: Ids, rest: Ids
    ) -> tuple[Any, Floats, Floats]:
        sparse = scipy_module("sparse")
        places = np.arange(self.cells.margins.size).reshape(self.cells.margins.shape)
        flat = places[interior(self.cells.axes)].ravel()
        every, _ = Lines(self.cells.axes).of(flat[np.concatenate([rest, few])])
        others, small = every[:, : len(rest)], every[:, len(rest) :]
        one = sparse.eye_array(len(few))
        blocks = [
            [others, -others, small, small * self.threshold],
            [None, None, one, sparse.diags_array(-most)],
        ]
        sums = small @ value
        left = np.concatenate([sums, np.full(len(few), -np.inf)])
        right = np.concatenate([sums, np.zeros(len(few))])
        return sparse.block_array(blocks, format="csc"), left, right
