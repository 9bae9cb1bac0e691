"""How far cells can move while all sums stay: the room that a reader cannot see into."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.counts.lines import Lines
from veil.tables.counts.network import Network, fits
from veil.tables.counts.solver import scipy_module, solve

WHOLE_CELLS = 500  # up to so many free cells whole numbers are asked for where they could matter


@dataclass(frozen=True, eq=False)
class Reach:
    """Cells that may move, one solution, and bounds of each.

    Attributes
    ----------
    lines
        The equations.
    free
        Flat places of the cells (m,) in the full table.
    values
        A solution (m,): other cells stay as they are.
    low, high
        Bounds of each (m,).
    whole
        Whether solutions are whole numbers.
    """

    lines: Lines
    free: Ids
    values: Floats
    low: Floats
    high: Floats
    whole: bool

    @property
    def exact(self) -> bool:
        """Whether what is found is what a reader who knows of whole numbers finds."""
        return not self.whole or self.lines.planar or len(self.free) <= WHOLE_CELLS

    @cached_property
    def _network(self) -> Network | None:
        plain = self.whole and self.lines.planar and len(self.lines.axes) == 2
        if not plain or not fits(self.values, self.low, self.high):
            return None
        rows, columns = self.lines.shape
        return Network((rows, columns), self.free)

    @cached_property
    def _part(self) -> Any:  # noqa: ANN401 - of SciPy
        part, _ = self.lines.of(self.free)
        return part

    def push(self, cell: int, amount: float, *, up: bool) -> Floats:
        """Return a solution in which one cell moved by `amount`, or as far as it goes."""
        if self._network is not None:
            return self._flow(self.low, self.high, cell, amount, up=up)
        low, high = self.low.copy(), self.high.copy()
        if up:
            high[cell] = min(high[cell], self.values[cell] + amount)
        else:
            low[cell] = max(low[cell], self.values[cell] - amount)
        cost = np.zeros(len(self.free))
        cost[cell] = -1.0 if up else 1.0
        right = self._part @ self.values
        found = solve(cost, self._part, right, low, high, whole=self.whole and self.exact)
        return self.values if found is None else found  # off by a rounding: it has one

    def change(self, cell: int, amount: float, *, up: bool, fixed: Ids) -> Floats | None:
        """Return a change that moves one cell by `amount`, and others little; None: there is none.

        The cells that are `fixed` stay.
        """
        low, high = self.low - self.values, self.high - self.values
        low[fixed] = high[fixed] = 0.0
        if self._network is not None:
            made = self._flow(low + self.values, high + self.values, cell, amount, up=up)
            change = made - self.values
            return change if abs(change[cell]) >= amount else None
        if not (low[cell] <= amount <= high[cell] if up else -amount >= low[cell]):
            return None
        low[cell] = high[cell] = amount if up else -amount
        part = self._part
        count = len(self.free)
        found = solve(
            np.ones(2 * count),
            scipy_module("sparse").hstack([part, -part], format="csc"),
            np.zeros(part.shape[0]),
            np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)]),
            np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)]),
            whole=self.whole and self.exact,
        )
        return None if found is None else found[:count] - found[count:]

    def _flow(self, low: Floats, high: Floats, cell: int, amount: float, *, up: bool) -> Floats:
        assert self._network is not None  # noqa: S101 - asked before
        most = float(np.iinfo(np.int64).max // 4)
        held = [np.clip(one, -most, most).astype(np.int64) for one in (self.values, low, high)]
        step = int(min(amount, most))
        made = self._network.push(held[0], held[1], held[2], cell, step, up=up)
        return made.astype(np.float64)
