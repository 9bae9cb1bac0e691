"""All whole tables within bounds, one by one: what audits are held against."""

from math import prod

import numpy as np

from veil.core.types import Floats
from veil.tables.cells.cells import Axis, full_table, interior
from veil.tables.cells.release import Bounds

MOST = 40_000


def tables_within(axes: tuple[Axis, ...], bounds: Bounds) -> Floats | None:
    """Return every full table (n, ...) of whole cells within the bounds of all cells and sums.

    None: they are too many.
    """
    inner = interior(axes)
    most = bounds.high[inner]
    for end in np.ndindex((2,) * len(axes)):  # no cell is more than a sum that it is in
        place = tuple(slice(-1, None) if at else item for at, item in zip(end, inner, strict=True))
        most = np.minimum(most, bounds.high[place])
    low = np.ceil(bounds.low[inner]).ravel().astype(int)
    high = np.floor(most).ravel().astype(int)
    sizes = tuple((high - low + 1).tolist())
    if prod(sizes) > MOST:
        return None
    cells = np.stack(np.unravel_index(np.arange(prod(sizes)), sizes), axis=1) + low.astype(float)
    shape = tuple(len(axis.categories) for axis in axes)
    full = full_table(np.moveaxis(cells.reshape(-1, *shape), 0, -1), axes)
    front = np.moveaxis(full, -1, 0)
    fits = (front >= bounds.low) & (front <= bounds.high)
    return front[fits.reshape(len(front), -1).all(1)]
