"""Who gave most to each sum of a table."""

from itertools import product

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.counts.axis import Axis
from veil.tables.counts.cells import Cells, Contributions


def largest(cells: Cells, n: int) -> Floats:
    """Return the `n` largest contributions to each cell of the full table (n, ...).

    What one unit gave to several cells of a sum counts together.
    """
    given = cells.contributions
    if given is None:
        raise InputError(
            "Only a table of sums has contributions; make one by tabulate(..., value='...')."
        )
    full = np.zeros((n, *cells.margins.shape))
    for nodes in product(*map(_layers, cells.axes)):
        _fill(full, given, nodes)
    return full


def _layers(axis: Axis) -> list[Ids]:
    """Return maps from categories to nodes (-1: none) that reach every node once."""
    count = len(axis.categories)
    layers = [np.arange(count)]
    for at, (_, members) in enumerate(axis.groups):
        layer = np.full(count, -1, dtype=np.int64)
        layer[list(members)] = count + at
        layers.append(layer)
    return [*layers, np.full(count, axis.nodes - 1, dtype=np.int64)]


def _fill(full: Floats, given: Contributions, nodes: tuple[Ids, ...]) -> None:
    at = np.stack([nodes[axis][given.places[:, axis]] for axis in range(len(nodes))], axis=1)
    kept = (at >= 0).all(axis=1)
    if not kept.any():
        return
    flat = np.ravel_multi_index(tuple(at[kept].T), full.shape[1:])
    span = int(given.units.max()) + 1
    held, places = np.unique(flat * span + given.units[kept], return_inverse=True)
    sums = np.bincount(places, given.amounts[kept])
    order = np.lexsort((-sums, held // span))
    cell, amount = held[order] // span, sums[order]
    starts = np.r_[0, np.flatnonzero(np.diff(cell)) + 1]
    rank = np.arange(len(cell)) - np.repeat(starts, np.diff(np.r_[starts, len(cell)]))
    top = rank < full.shape[0]
    full.reshape(full.shape[0], -1)[rank[top], cell[top]] = amount[top]
