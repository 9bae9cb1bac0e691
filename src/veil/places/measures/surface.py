r"""Whether the map looks the same: a surface of density, and its hottest cells.

.. math:: \hat f(u) \propto \sum_i e^{-|u - x_i|^2 / 2h^2}, \quad h = \frac{SD}{\sqrt 2} n^{-1/6}

on the centres of 64 x 64 cells over the original box, widened by a tenth on each side.
"""

import numpy as np

from veil.core.types import Floats, Ids
from veil.places.measures.frame import Frame

CELLS = 64
HOT = 410  # a tenth of the cells
_BLOCK = 65_536  # points at a time: 64 MB


def bandwidth(frame: Frame) -> float:
    """Return the width of the kernel in metres."""
    return float(frame.spread / np.sqrt(2) * frame.n ** (-1 / 6))


def centres(frame: Frame) -> tuple[Floats, Floats]:
    """Return where the columns (64,) and the rows (64,) of cells have their middle."""
    steps = (np.arange(CELLS) + 0.5) / CELLS
    low, sides = frame.low - 0.1 * frame.sides, 1.2 * frame.sides
    return low[0] + steps * sides[0], low[1] + steps * sides[1]


def surface(xy: Floats, frame: Frame) -> Floats:
    """Return the density (64, 64) of points (n, 2), rows of cells going north, up to a factor."""
    columns, rows = centres(frame)
    width = 2 * bandwidth(frame) ** 2
    found: Floats = np.zeros((CELLS, CELLS))
    for start in range(0, len(xy), _BLOCK):
        part = xy[start : start + _BLOCK]
        across = np.exp(-np.square(part[:, :1] - columns) / width)  # (b, 64)
        along = np.exp(-np.square(part[:, 1:] - rows) / width)
        found += along.T @ across
    return found


def hottest(cells: Floats) -> Ids:
    """Return the numbers of the densest tenth of the cells; of equal ones the first."""
    return np.argsort(-cells.ravel(), kind="stable")[:HOT]


def density(original: Floats, released: Floats, frame: Frame) -> float:
    """Return the correlation of the two surfaces, not below 0."""
    before, after = surface(original, frame).ravel(), surface(released, frame).ravel()
    before, after = before - before.mean(), after - after.mean()
    size = float(np.linalg.norm(before) * np.linalg.norm(after))
    return min(1.0, max(0.0, float(before @ after) / size)) if size else 0.0


def hotspots(original: Floats, released: Floats, frame: Frame) -> float:
    """Return the Jaccard index of the hottest cells of both."""
    before = hottest(surface(original, frame))
    after = hottest(surface(released, frame))
    both = len(np.intersect1d(before, after))
    return both / (2 * HOT - both)
