"""The mean of places, on a plane or on the sphere."""

import numpy as np

from veil.core.types import Floats
from veil.places.crs import from_lonlat, to_lonlat
from veil.places.projection import degrees, unit_vectors


def middle(places: Floats, crs: str | None, weights: Floats | None = None) -> Floats:
    """Return the mean (n, 2) of places (m, n, 2) over m, by weights (m, n) or all alike.

    On the sphere it is the direction of the mean of the unit vectors.

    >>> middle(np.array([[[179.0, 0.0]], [[-179.0, 0.0]]]), "EPSG:4326").round(9).tolist()
    [[180.0, 0.0]]
    """
    if crs is None:
        return np.asarray(np.average(places, axis=0, weights=_spread(weights, places)))
    m, n, _ = places.shape
    vectors = unit_vectors(to_lonlat(places.reshape(-1, 2), crs)).reshape(m, n, 3)
    mean = np.average(vectors, axis=0, weights=_spread(weights, vectors))
    return from_lonlat(degrees(mean), crs)


def _spread(weights: Floats | None, values: Floats) -> Floats | None:
    return None if weights is None else np.broadcast_to(weights[:, :, None], values.shape)
