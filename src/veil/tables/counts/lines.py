"""The equations of a table: along every line the cells add up to the sum."""

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.counts.axis import Axis
from veil.tables.counts.solver import scipy_module


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
        """Whether the table has one or two plain axes: then all vertices are whole."""
        return len(self.axes) <= 2 and not any(axis.groups for axis in self.axes)

    @cached_property
    def matrix(self) -> Any:  # noqa: ANN401 - of SciPy
        """The coefficients: 1 for what is added, -1 for the sum."""
        places = np.arange(prod(self.shape)).reshape(self.shape)
        rows: list[Ids] = []
        columns: list[Ids] = []
        signs: list[Floats] = []
        count = 0
        for at, axis in enumerate(self.axes):
            front = np.moveaxis(places, at, 0).reshape(axis.nodes, -1)
            for node, below in axis.sums:
                held = front[np.append(below, node)]
                lines = np.arange(count, count + held.shape[1])
                rows.append(np.broadcast_to(lines, held.shape).ravel())
                columns.append(held.ravel())
                sign = np.append(np.ones(len(below)), -1.0)
                signs.append(np.repeat(sign, held.shape[1]))
                count += held.shape[1]
        sparse = scipy_module("sparse")
        entries = (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns)))
        return sparse.csc_array(entries, shape=(count, places.size))

    def of(self, free: NDArray[np.bool_] | Ids) -> Any:  # noqa: ANN401 - of SciPy
        """Return the columns of some cells, without the lines that have none of them."""
        part = self.matrix[:, free]
        used = np.unique(part.indices)
        return part[used], used
