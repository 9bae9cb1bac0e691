"""Who goes where: the nearest facility (a pump, a clinic) of each point, before and after."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.places.trees import tree


@dataclass(frozen=True, eq=False)
class Served:
    """The facilities that points are nearest to.

    Attributes
    ----------
    kept
        (m,) share of the points whose nearest facility is unchanged, by release.
    before, after
        Weight of the points by facility: (f,) of the original, (m, f) of the releases.
    """

    kept: Floats
    before: Floats
    after: Floats


def nearest_facility(places: Floats, facilities: Floats) -> Ids:
    """Return the number (n,) of the facility (f, 2) that is nearest to each place (n, 2)."""
    _, found = tree(facilities).query(places)
    return np.asarray(found, dtype=np.int64)


def served(original: Floats, releases: Floats, facilities: Floats, weights: Floats) -> Served:
    """Compare the nearest facilities (f, 2) of points (n, 2) and of their releases (m, n, 2)."""
    before = nearest_facility(original, facilities)
    after = np.stack([nearest_facility(released, facilities) for released in releases])
    counts = np.stack([_weight(one, weights, len(facilities)) for one in (before, *after)])
    return Served((after == before).mean(axis=1), counts[0], counts[1:])


def _weight(nearest: Ids, weights: Floats, count: int) -> Floats:
    found: Floats = np.bincount(nearest, weights, minlength=count).astype(np.float64)
    return found
