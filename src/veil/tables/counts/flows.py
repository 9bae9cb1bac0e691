"""Choose which cells to suppress beside the sensitive ones."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.counts.axis import interior
from veil.tables.counts.cells import Cells
from veil.tables.counts.lines import Lines
from veil.tables.counts.reach import WHOLE_CELLS, Reach
from veil.tables.counts.release import Mask
from veil.tables.counts.rules import Sensitive
from veil.tables.counts.solver import SLACK, grain, scipy_module, solve

SUM_PRICE = 1e3  # how many times dearer a sum is than a cell: the last resort
HELD = 1e-2  # price of what is suppressed already: short ways, but no new cell


@dataclass(frozen=True)
class Goal:
    """A cell, and how far a reader must believe it could be, up or down."""

    cell: int
    amount: float
    up: bool


@dataclass(frozen=True, eq=False)
class Flows:
    """A table that is to be protected; cells have their flat places in the full table."""

    cells: Cells
    wanted: Sensitive
    zeros: bool

    @cached_property
    def lines(self) -> Lines:
        """The equations."""
        return Lines(self.cells.axes)

    @cached_property
    def one(self) -> float:
        """The unit in which all is solved for."""
        return grain(self.cells.margins, whole=self.cells.whole)

    @cached_property
    def values(self) -> Floats:
        """The full table, flat, in units of `one`."""
        return self.cells.margins.ravel() / self.one

    @cached_property
    def inner(self) -> Mask:
        """Which are cells, not sums."""
        mask = np.zeros(self.lines.shape, dtype=np.bool_)
        mask[interior(self.cells.axes)] = True
        return mask.ravel()

    @cached_property
    def candidates(self) -> Ids:
        """What may be suppressed: not the grand total, and zeros only if they may."""
        may = self.wanted.cells.ravel() | (self.values > 0) | self.zeros
        may[-1] = False
        return np.flatnonzero(may)

    def goals(self) -> Iterator[Goal]:
        """Yield what must hold, the largest first."""
        needs = self.wanted.protection.ravel() / self.one
        primary = np.flatnonzero(self.wanted.cells)
        for cell in primary[np.argsort(-needs[primary], kind="stable")].tolist():
            need = np.ceil(needs[cell]) if self.cells.whole else needs[cell]
            yield Goal(cell, float(need), up=True)
            yield Goal(cell, float(min(need, self.values[cell])), up=False)

    @cached_property
    def _matrix(self) -> Any:  # noqa: ANN401 - of SciPy
        part, _ = self.lines.of(self.candidates)
        return scipy_module("sparse").hstack([part, -part]).tocsc()

    @cached_property
    def _prices(self) -> Floats:
        price = np.log1p(np.maximum(self.values[self.candidates], 1.0))
        price[~self.inner[self.candidates]] *= SUM_PRICE
        return price

    def cheapest(self, goal: Goal, hidden: Mask) -> Floats:
        """Return the change of the full table, flat, of least price that moves one cell so far."""
        for sums in (False, True):
            found = self._change(goal, hidden, sums=sums)
            if found is not None:
                return found
        raise InputError(
            "A sensitive cell cannot be protected, whatever cells and sums are suppressed; roll"
            " categories up, or ask for less: a smaller protection, or zeros=true."
        )

    def _change(self, goal: Goal, hidden: Mask, *, sums: bool) -> Floats | None:
        held = self.candidates
        may = self.inner[held] | hidden[held] | sums
        high = np.where(np.concatenate([may, may]), np.inf, 0.0)
        count = len(held)
        high[count:] = np.minimum(high[count:], self.values[held])
        low = np.zeros(2 * count)
        at = int(np.searchsorted(held, goal.cell))
        there, other = (at, count + at) if goal.up else (count + at, at)
        low[there] = high[there] = goal.amount
        high[other] = 0.0
        price = np.where(hidden[held], HELD, self._prices)
        found = solve(
            np.concatenate([price, price]),
            self._matrix,
            np.zeros(self._matrix.shape[0]),
            low,
            high,
            whole=self.cells.whole and not self.lines.planar and int(may.sum()) <= WHOLE_CELLS,
        )
        if found is None:
            return None
        change = np.zeros(len(self.values))
        change[held] = found[:count] - found[count:]
        change[np.abs(change) <= SLACK * max(1.0, goal.amount)] = 0.0
        return change

    def reach(self, hidden: Mask) -> Reach:
        """Return the room that suppressed cells have."""
        free = np.flatnonzero(hidden)
        values = self.values[free]
        high = np.full(len(free), np.inf)
        return Reach(self.lines, free, values, np.zeros(len(free)), high, self.cells.whole)
