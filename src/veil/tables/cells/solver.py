"""Linear programs over the sums of a table: how far each cell can move.

Two axes as a network: lines are nodes and cells are arcs, and how far one cell can move is a
maximum flow. The gain of a cell must be offset by other cells in its row and column. Cells and the
grand total go from row to column, row sums from the column of totals to the row, column sums from
the column to the row of totals; then every line states that inflow equals outflow (Gusfield, A
graph theoretic approach to statistical data security, SIAM Journal on Computing 17(3), 1988). All
maximum flows found here are integers.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Axis, Cells, interior
from veil.tables.cells.release import Mask
from veil.tables.cells.rules import Sensitive

if TYPE_CHECKING:
    from types import ModuleType


_OPTIMAL, _LIMIT, _INFEASIBLE, _FAILED = 0, 1, 2, 4
SLACK = 1e-6  # tolerance of solvers, for numbers up to about a million
SECONDS = 60.0  # time limit of an integer program, which then returns its best solution


def scipy_module(name: str) -> "ModuleType":
    """Return a module of SciPy, which is optional."""
    from importlib import import_module

    try:
        return import_module(f"scipy.{name}")
    except ImportError:
        raise MissingExtraError(
            "Tables of cells need scipy: pip install 'veil[tables]'."
        ) from None


def minimise(
    cost: Floats,
    equations: Any,  # noqa: ANN401 - a sparse matrix of SciPy
    right: Floats | tuple[Floats, Floats],
    low: Floats,
    high: Floats,
    whole: "Floats | bool" = False,
    seconds: float | None = None,
) -> Floats | None:
    """Return the x of least cost with A x = right (or between two), low <= x <= high.

    `whole` marks the integers in x: all, none, or an array. Returns None if there is no such x.
    After `seconds` it returns the best solution so far, if any.
    """
    optimize = scipy_module("optimize")
    below, above = right if isinstance(right, tuple) else (right, right)
    if (low > high).any():
        return None
    for presolve in (True, False):  # without, because HiGHS sometimes fails in presolve
        result = optimize.milp(
            cost,
            constraints=optimize.LinearConstraint(equations, below, above),
            bounds=optimize.Bounds(low, high),
            integrality=np.broadcast_to(np.asarray(whole, dtype=np.int64), cost.shape),
            options={"presolve": presolve} | ({} if seconds is None else {"time_limit": seconds}),
        )
        if result.status != _FAILED:
            break
    if result.status == _OPTIMAL or (result.status == _LIMIT and result.x is not None):
        solution: Floats = np.clip(result.x, low, high)
        return solution
    if result.status == _INFEASIBLE:
        return None
    raise InputError(
        "The solver found no solution for this table. Its numbers may be too large, or it has too"
        " many cells. Roll it up, or count in larger units."
    )


def solve(
    cost: Floats,
    equations: Any,  # noqa: ANN401 - a sparse matrix of SciPy
    right: Floats,
    low: Floats,
    high: Floats,
    *,
    whole: bool,
) -> Floats | None:
    """Return the x of least cost; integers are enforced only if the relaxation has none."""
    solution = minimise(cost, equations, right, low, high)
    if not whole or solution is None:
        return solution
    if not is_whole(solution):
        solution = minimise(cost, equations, right, low, high, True, SECONDS)
    return None if solution is None else np.rint(solution)


def grain(values: Floats, *, whole: bool) -> float:
    """Return the unit for solving sums, in which the largest is about a million.

    It is a power of two, so that nothing is rounded. The unit of counts is 1.
    """
    most = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return 1.0 if whole or most == 0 else 2.0 ** (math.floor(math.log2(most)) - 20)


def is_whole(values: Floats) -> bool:
    """Return whether numbers are integers, up to the tolerance of solvers."""
    return bool((np.abs(values - np.rint(values)) <= SLACK).all())


@dataclass(frozen=True, eq=False)
class Lines:
    """A x = 0, with x the full table, flat; one row for each line and each sum on it."""

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the full table."""
        return tuple(axis.nodes for axis in self.axes)

    @property
    def planar(self) -> bool:
        """Whether the table has one or two axes without groups: then all vertices are integers."""
        return len(self.axes) <= 2 and not any(axis.groups for axis in self.axes)

    @cached_property
    def matrix(self) -> Any:  # noqa: ANN401 - of SciPy
        """The coefficients: 1 for summands, -1 for the sum."""
        places = np.arange(prod(self.shape)).reshape(self.shape)
        rows: list[Ids] = []
        columns: list[Ids] = []
        signs: list[Floats] = []
        count = 0
        for at, axis in enumerate(self.axes):
            front = np.moveaxis(places, at, 0).reshape(axis.nodes, -1)
            for node, below in axis.sums:
                members = front[np.append(below, node)]
                lines = np.arange(count, count + members.shape[1])
                rows.append(np.broadcast_to(lines, members.shape).ravel())
                columns.append(members.ravel())
                sign = np.append(np.ones(len(below)), -1.0)
                signs.append(np.repeat(sign, members.shape[1]))
                count += members.shape[1]
        sparse = scipy_module("sparse")
        entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csc_array(entries, shape=(count, places.size))

    def of(self, free: NDArray[np.bool_] | Ids) -> Any:  # noqa: ANN401 - of SciPy
        """Return the columns of these cells, and the lines that contain any of them."""
        part = self.matrix[:, free]
        used = np.unique(part.indices)
        return part[used], used


LARGEST = 2**31 - 1  # capacity


class Network:
    """The network of cells that may move; `free` are their flat indices in (rows, columns)."""

    def __init__(self, shape: tuple[int, int], free: Ids) -> None:
        rows, columns = shape
        row, column = np.divmod(free, columns)
        backward = (row == rows - 1) ^ (column == columns - 1)
        self.tail = np.where(backward, rows + column, row)
        self.head = np.where(backward, row, rows + column)
        self.nodes = rows + columns + 1
        self.source = self.nodes - 1
        self._lay()

    def _lay(self) -> None:
        """Build the graph: each arc in both directions, and the source to and from every node."""
        inner = np.arange(self.source)
        outer = np.full(self.source, self.source)
        starts = np.concatenate([self.tail, self.head, outer, inner])
        ends = np.concatenate([self.head, self.tail, inner, outer])
        order = np.lexsort((ends, starts))
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        cells = len(self.tail)
        self.forth, self.back = place[:cells], place[cells : 2 * cells]
        self.enter = place[2 * cells : 2 * cells + self.source]
        self._ends = ends[order].astype(np.int32)
        counts = np.bincount(starts, minlength=self.nodes)
        self._rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)

    def push(self, values: Ids, low: Ids, high: Ids, cell: int, amount: int, *, up: bool) -> Ids:
        """Return a table in which a cell moved by `amount`, or as far as bounds allow."""
        graph = scipy_module("sparse").csr_array
        flow_of = scipy_module("sparse.csgraph").maximum_flow
        limit = LARGEST // 2
        data = np.zeros(len(self._ends), dtype=np.int32)
        data[self.forth] = np.minimum(high - values, limit)
        data[self.back] = np.minimum(values - low, limit)
        room = int((high - values if up else values - low)[cell])
        data[self.forth[cell]] = data[self.back[cell]] = 0
        start, end = int(self.head[cell]), int(self.tail[cell])
        if not up:
            start, end = end, start
        data[self.enter[start]] = min(amount, room, limit)
        size = (self.nodes, self.nodes)
        result = flow_of(graph((data, self._ends, self._rows), shape=size), self.source, end)
        pushed = int(result.flow_value)
        flow = np.asarray(
            result.flow.data, dtype=np.int64
        )  # the graph has each arc in both directions
        moved: Ids = values + flow[self.forth]
        moved[cell] = values[cell] + (pushed if up else -pushed)
        return moved


def fits(values: Floats, low: Floats, high: Floats) -> bool:
    """Return whether integers are small enough for the capacities of a network."""
    most = np.abs(values).sum() + np.abs(low).max(initial=0)
    ends = high[np.isfinite(high)]
    return bool(most + np.abs(ends).max(initial=0) < LARGEST // 4)


WHOLE_CELLS = 500  # up to this many free cells, integers are enforced where they matter


@dataclass(frozen=True, eq=False)
class Reach:
    """Cells that may move, a solution, and its bounds.

    Attributes
    ----------
    lines
        The equations.
    free
        Flat indices of the cells (m,) in the full table.
    values
        A solution (m,); other cells are fixed.
    low, high
        Bounds of each cell (m,).
    whole
        Whether solutions are integers.
    """

    lines: Lines
    free: Ids
    values: Floats
    low: Floats
    high: Floats
    whole: bool

    @property
    def exact(self) -> bool:
        """Whether results are as sharp as those of a reader who knows that cells are integers."""
        return not self.whole or self.lines.planar or len(self.free) <= WHOLE_CELLS

    @cached_property
    def _network(self) -> Network | None:
        network = self.whole and self.lines.planar and len(self.lines.axes) == 2
        if not network or not fits(self.values, self.low, self.high):
            return None
        rows, columns = self.lines.shape
        return Network((rows, columns), self.free)

    @cached_property
    def _part(self) -> Any:  # noqa: ANN401 - of SciPy
        part, _ = self.lines.of(self.free)
        return part

    def push(self, cell: int, amount: float, *, up: bool) -> Floats:
        """Return a solution in which a cell moved by `amount`, or as far as possible."""
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
        solution = solve(cost, self._part, right, low, high, whole=self.whole and self.exact)
        return self.values if solution is None else solution  # there is one, up to rounding

    def change(self, cell: int, amount: float, *, up: bool, fixed: Ids) -> Floats | None:
        """Return a small change that moves a cell by `amount`, or None if there is none.

        The cells in `fixed` do not move.
        """
        low, high = self.low - self.values, self.high - self.values
        low[fixed] = high[fixed] = 0.0
        if self._network is not None:
            moved = self._flow(low + self.values, high + self.values, cell, amount, up=up)
            change = moved - self.values
            return change if abs(change[cell]) >= amount else None
        if not (low[cell] <= amount <= high[cell] if up else -amount >= low[cell]):
            return None
        low[cell] = high[cell] = amount if up else -amount
        part = self._part
        count = len(self.free)
        parts = solve(
            np.ones(2 * count),
            scipy_module("sparse").hstack([part, -part], format="csc"),
            np.zeros(part.shape[0]),
            np.concatenate([np.maximum(low, 0.0), np.maximum(-high, 0.0)]),
            np.concatenate([np.maximum(high, 0.0), np.maximum(-low, 0.0)]),
            whole=self.whole and self.exact,
        )
        return None if parts is None else parts[:count] - parts[count:]

    def _flow(self, low: Floats, high: Floats, cell: int, amount: float, *, up: bool) -> Floats:
        assert self._network is not None  # noqa: S101 - asked before
        most = float(np.iinfo(np.int64).max // 4)
        arrays = [
            np.clip(values, -most, most).astype(np.int64) for values in (self.values, low, high)
        ]
        step = int(min(amount, most))
        moved = self._network.push(arrays[0], arrays[1], arrays[2], cell, step, up=up)
        return moved.astype(np.float64)


SUM_PRICE = 1e3  # price of a sum relative to a cell: the last resort
HELD = 1e-2  # price of cells that are suppressed already: prefers short changes without new cells


@dataclass(frozen=True)
class Goal:
    """A cell, and how far up or down it must be able to move in the eyes of a reader."""

    cell: int
    amount: float
    up: bool


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a contributor knows: its amounts, and where it is the only one (full table, flat).

    Amounts are in the unit of the solver.
    """

    own: Floats
    only: Mask

    @cached_property
    def _cells(self) -> Ids:
        return np.flatnonzero(self.own)

    def allows(self, change: Floats, values: Floats) -> bool:
        """Return whether a change of the full table is compatible with this knowledge."""
        cells = self._cells
        slack = SLACK * np.maximum(1.0, values[cells])
        possible = values[cells] + change[cells] >= self.own[cells] - slack
        possible &= ~self.only[cells] | (np.abs(change[cells]) <= slack)
        return bool(possible.all())


@dataclass(frozen=True, eq=False)
class Flows:
    """A table to protect; cells are flat indices into the full table."""

    cells: Cells
    sensitive: Sensitive
    zeros: bool

    @cached_property
    def lines(self) -> Lines:
        """The equations."""
        return Lines(self.cells.axes)

    @cached_property
    def unit(self) -> float:
        """The unit for solving."""
        return grain(self.cells.margins, whole=self.cells.whole)

    @cached_property
    def values(self) -> Floats:
        """The full table, flat, in units of `unit`."""
        return self.cells.margins.ravel() / self.unit

    @cached_property
    def inner(self) -> Mask:
        """True for entries that are cells and not sums."""
        mask = np.zeros(self.lines.shape, dtype=np.bool_)
        mask[interior(self.cells.axes)] = True
        return mask.ravel()

    @cached_property
    def candidates(self) -> Ids:
        """The cells that may be suppressed: never the grand total, zeros only if allowed."""
        may = self.sensitive.cells.ravel() | (self.values > 0) | self.zeros
        may[-1] = False
        return np.flatnonzero(may)

    def goals(self) -> Iterator[Goal]:
        """Yield the goals, the largest first."""
        needs = self.sensitive.protection.ravel() / self.unit
        primary = np.flatnonzero(self.sensitive.cells)
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

    def cheapest(self, goal: Goal, hidden: Mask, knowledge: "Knowledge | None" = None) -> Floats:
        """Return the cheapest change of the full table, flat, that reaches a goal.

        It must be compatible with the knowledge of a contributor, if any.
        """
        for sums in (False, True):
            change = self._change(goal, hidden, knowledge, sums=sums)
            if change is not None:
                return change
        raise InputError(
            "A sensitive cell cannot be protected, even if all cells and sums are suppressed. Roll"
            " categories up, or ask for less: a smaller protection, or zeros=true."
        )

    def _change(
        self, goal: Goal, hidden: Mask, knowledge: "Knowledge | None", *, sums: bool
    ) -> Floats | None:
        candidates = self.candidates
        may = self.inner[candidates] | hidden[candidates] | sums
        high = np.where(np.concatenate([may, may]), np.inf, 0.0)
        count = len(candidates)
        high[count:] = np.minimum(high[count:], self.values[candidates])
        if knowledge is not None:
            high[:count] = np.where(knowledge.only[candidates], 0.0, high[:count])
            high[count:] = np.minimum(high[count:], (self.values - knowledge.own)[candidates])
            high[count:] = np.maximum(high[count:], 0.0)
        low = np.zeros(2 * count)
        at = int(np.searchsorted(candidates, goal.cell))
        forward, other = (at, count + at) if goal.up else (count + at, at)
        if knowledge is not None and knowledge.only[goal.cell]:
            return None
        low[forward] = high[forward] = goal.amount
        high[other] = 0.0
        price = np.where(hidden[candidates], HELD, self._prices)
        parts = solve(
            np.concatenate([price, price]),
            self._matrix,
            np.zeros(self._matrix.shape[0]),
            low,
            high,
            whole=self.cells.whole and not self.lines.planar and int(may.sum()) <= WHOLE_CELLS,
        )
        if parts is None:
            return None
        change = np.zeros(len(self.values))
        change[candidates] = parts[:count] - parts[count:]
        change[np.abs(change) <= SLACK * max(1.0, goal.amount)] = 0.0
        return change

    def reach(self, hidden: Mask, knowledge: "Knowledge | None" = None) -> Reach:
        """Return how far suppressed cells can move, for a reader or a contributor."""
        free = np.flatnonzero(hidden)
        values = self.values[free]
        low, high = np.zeros(len(free)), np.full(len(free), np.inf)
        if knowledge is not None:
            low = np.minimum(knowledge.own[free], values)
            only = knowledge.only[free]
            low[only] = high[only] = values[only]
        return Reach(self.lines, free, values, low, high, self.cells.whole)


class Proofs:
    """Known changes, each with the cells it moves and the goals it reaches."""

    def __init__(self, goals: Sequence[Goal]) -> None:
        self._cells = np.array([goal.cell for goal in goals], dtype=np.int64)
        self._sides = np.array([1.0 if goal.up else -1.0 for goal in goals])
        needs = np.array([goal.amount for goal in goals])
        self._needs = needs - SLACK * np.maximum(1.0, needs)
        self.changes: list[Floats] = []
        self._moved: list[set[int]] = []
        self._reaches: list[Mask] = []
        self.reached: Mask = np.zeros(len(goals), dtype=np.bool_)  # by some change

    def add(self, change: Floats) -> None:
        """Add a change of the full table, flat."""
        reaches = change[self._cells] * self._sides >= self._needs
        self.changes.append(change)
        self._moved.append(set(np.flatnonzero(change).tolist()))
        self._reaches.append(reaches)
        self.reached |= reaches

    def without(self, cell: int) -> Ids:
        """Return the goals that no change reaches without moving this cell."""
        reached = np.zeros(len(self._cells), dtype=np.bool_)
        for moved, reaches in zip(self._moved, self._reaches, strict=True):
            if cell not in moved:
                reached |= reaches
        return np.flatnonzero(~reached)

    def unproved(self, knowledge: Knowledge, values: Floats) -> Ids:
        """Return the goals that no change compatible with this knowledge reaches."""
        reached = np.zeros(len(self._cells), dtype=np.bool_)
        for change, reaches in zip(self.changes, self._reaches, strict=True):
            if not reached[reaches].all() and knowledge.allows(change, values):
                reached |= reaches
        return np.flatnonzero(~reached)

    def drop(self, cell: int) -> None:
        """Drop the changes that move a cell, because it is published."""
        remaining = [i for i, moved in enumerate(self._moved) if cell not in moved]
        self.changes = [self.changes[i] for i in remaining]
        self._moved = [self._moved[i] for i in remaining]
        self._reaches = [self._reaches[i] for i in remaining]
