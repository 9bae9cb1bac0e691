"""Tables of two axes as a network: how far one cell can move is a flow of most value.

Lines are nodes and cells are arcs: what a cell gains on its row and its column others must lose.
Cells and the grand total go from row to column, sums along a row from the column of totals to the
row, sums along a column from the column to the row of totals; then every line says that what
comes in goes out (Gusfield, A graph theoretic approach to statistical data security, SIAM Journal
on Computing 17(3), 1988). All flows of most value found here are whole numbers.
"""

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.counts.solver import scipy_module

LARGEST = 2**31 - 1  # of a capacity


class Network:
    """Cells of a full table (rows, columns) that may move; `free` are their flat places."""

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
        """Make the graph once: each arc both ways, and the source to and from every node."""
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
        """Return a table in which one cell moved by `amount`, or as far as it goes in bounds."""
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
        flow = np.asarray(result.flow.data, dtype=np.int64)  # the graph has each arc both ways
        made: Ids = values + flow[self.forth]
        made[cell] = values[cell] + (pushed if up else -pushed)
        return made


def fits(values: Floats, low: Floats, high: Floats) -> bool:
    """Tell whether whole numbers are small enough for the capacities of a network."""
    most = np.abs(values).sum() + np.abs(low).max(initial=0)
    ends = high[np.isfinite(high)]
    return bool(most + np.abs(ends).max(initial=0) < LARGEST // 4)
