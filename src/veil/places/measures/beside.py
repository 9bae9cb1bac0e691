"""What is shown beside the utility, and is no part of it: figures before and after.

Displacement is in metres. Of facilities the share of points whose nearest one is unchanged, and
the weight of the points of each. With values Moran's I, with times Knox: pairs that are at most a
quarter of the standard distance and a twentieth of the whole time apart.
"""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap
from veil.places.measures.correlation import knox, moran
from veil.places.measures.facilities import served
from veil.places.measures.frame import standard_distance
from veil.places.points import Points
from veil.places.projection import distance

NEAR, SOON = 1 / 4, 1 / 20  # of the standard distance, and of the whole time


def beside(
    original: Points,
    true: Floats,
    seen: Floats,
    releases: Floats,
    facilities: Floats | None = None,
    values: Floats | None = None,
    *,
    ordered: bool = True,
) -> dict[str, Estimate]:
    """Return figures by name, each a mean over the releases (m, n, 2) with its interval.

    `true` (n, 2) and `seen` (m, n, 2) are the same points in metres of a plane.
    """
    found: dict[str, Estimate] = {}
    if ordered:
        found |= _displacement(original, releases)
    if facilities is not None:
        found |= _facilities(original, true, seen, facilities, ordered)
    if ordered and values is not None:
        found |= _moran(true, seen, values)
    if ordered and original.times is not None:
        found |= _knox(true, seen, original.times)
    return found


def _displacement(original: Points, releases: Floats) -> dict[str, Estimate]:
    metres = np.stack([distance(one, original.xy, original.crs) for one in releases])
    return {
        "mean displacement": bootstrap(metres.mean(axis=1)),
        "median displacement": bootstrap(np.median(metres, axis=1)),
        "95 % displacement": bootstrap(np.quantile(metres, 0.95, axis=1)),
    }


def _facilities(
    original: Points, true: Floats, seen: Floats, facilities: Floats, ordered: bool
) -> dict[str, Estimate]:
    weights = np.ones(len(true)) if original.weights is None else original.weights
    found = served(true, seen, facilities, weights)
    told = {"same facility": bootstrap(found.kept)} if ordered else {}
    for number, (before, after) in enumerate(zip(found.before, found.after.T, strict=True), 1):
        told[f"facility {number} before"] = bootstrap([before])
        if ordered:  # weights go with the rows
            told[f"facility {number} after"] = bootstrap(after)
    return told


def _moran(true: Floats, seen: Floats, values: Floats) -> dict[str, Estimate]:
    given = np.asarray(values, dtype=np.float64)
    if given.shape != (len(true),) or not np.isfinite(given).all():
        raise InputError("Moran's I needs one finite value for each point.")
    return {
        "Moran's I before": bootstrap([moran(true, given)]),
        "Moran's I after": bootstrap([moran(one, given) for one in seen]),
    }


def _knox(true: Floats, seen: Floats, times: Floats) -> dict[str, Estimate]:
    near, soon = NEAR * standard_distance(true), SOON * float(np.ptp(times))
    return {
        "Knox pairs before": bootstrap([knox(true, times, near, soon)]),
        "Knox pairs after": bootstrap([knox(one, times, near, soon) for one in seen]),
    }
