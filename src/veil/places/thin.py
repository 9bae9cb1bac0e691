"""Drop fixes before anything else: the cheapest protection there is."""

import math

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.places.points import Points
from veil.places.traces import trails


def thin(points: Points, seconds: float) -> Points:
    """Keep the first fix of each user, and each one that is `seconds` after the last one kept.

    What is dropped is not released and costs nothing; the rows left keep their order. Protect the
    result, and compare with it: it is the original of what is released.
    """
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ParameterError(f"The 'seconds' argument must be above 0. Got {seconds!r} instead.")
    if points.users is None or points.times is None:
        raise InputError("A trace to be thinned must have users and times; hand in both.")
    kept = np.zeros(len(points), dtype=np.bool_)
    for rows in trails(points):
        times, at = points.times[rows], 0
        while at < len(rows):
            kept[rows[at]] = True
            at = int(np.searchsorted(times, times[at] + seconds, side="left"))
    return points.take(kept)
