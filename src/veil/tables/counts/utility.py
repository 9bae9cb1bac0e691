"""How much of a table of cells a release keeps."""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.counts.cells import Cells
from veil.tables.counts.release import CellRelease


def cell_utility(cells: Cells, release: CellRelease) -> float:
    r"""Return 1 - (what is suppressed + what is changed) / all, over cells without sums.

    .. math:: 1 - \frac{\sum_{suppressed} v + \sum |v - v'|}{\sum v}

    and 0 where that is negative. A rolled-up cell counts evenly for those that are in it.
    """
    values, released = cells.values, _spread(cells, release)
    total = float(values.sum())
    if total == 0:
        return float(not np.isnan(released).any())
    lost = np.where(np.isnan(released), values, np.abs(values - released)).sum()
    return max(0.0, 1.0 - float(lost) / total)


def _spread(cells: Cells, release: CellRelease) -> Floats:
    """Return the released value of each original cell."""
    released = release.values
    for at, place in enumerate(release.maps):
        if len(place) != cells.values.shape[at]:
            raise InputError("The release is not of this table: they have different categories.")
        front = np.moveaxis(released, at, 0)[place]
        sizes = np.bincount(place)[place].reshape(-1, *[1] * (front.ndim - 1))
        released = np.moveaxis(front / sizes, 0, at)
    if released.shape != cells.values.shape:
        raise InputError("The release is not of this table: they have different cells.")
    return released
