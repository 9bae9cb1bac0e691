"""Centres over a box: which one is nearest to a point, and starts that no data tell."""

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats, Ids

_BLOCK = 2**16  # rows at a time
_SAMPLES, _ROUNDS = 200, 10  # uniform points for each centre, and how often they are averaged


def nearest(points: Floats, centres: Floats) -> Ids:
    """Return the place of the nearest centre of each point; of equal ones the first.

    Only sums, differences and products of single numbers in a fixed order are taken, which every
    machine rounds alike: what one point gets does not depend on which others there are, as it
    could in a product of matrices.
    """
    places = np.empty(len(points), dtype=np.int64)
    for start in range(0, len(points), _BLOCK):
        places[start : start + _BLOCK] = np.argmin(
            squares(points[start : start + _BLOCK], centres), axis=1
        )
    return places


def squares(points: Floats, centres: Floats) -> Floats:
    """Return the squared distance (n, k) of each point from each centre."""
    total = np.zeros((len(points), len(centres)))
    for column, centre in zip(points.T, centres.T, strict=True):
        total += np.square(column[:, None] - centre[None, :])
    return total


def anywhere(count: int, box: Floats, rng: Generator) -> Floats:
    """Draw points uniformly from a box (d, 2)."""
    low, high = box.T
    drawn: Floats = low + rng.random((count, len(box))) * (high - low)
    return drawn


def starts(k: int, box: Floats, rng: Generator) -> Floats:
    """Spread k centres over a box: those of uniform points, and of no data."""
    points = anywhere(_SAMPLES * k, box, rng)
    centres = points[:k].copy()
    for _ in range(_ROUNDS):
        places = nearest(points, centres)
        for i in np.unique(places):
            centres[i] = points[places == i].mean(axis=0)
    return centres
