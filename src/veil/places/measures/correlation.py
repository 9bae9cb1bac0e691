r"""Whether like values stand together, and near cases follow each other: Moran's I and Knox.

.. math:: I = \frac{n}{W} \frac{\sum_{ij} w_{ij} (v_i - \bar v)(v_j - \bar v)}
   {\sum_i (v_i - \bar v)^2}, \quad w_{ij} = [j \text{ is one of the 8 nearest of } i]

Knox counts the pairs of points that are near in space and in time at once.

References
----------
Moran. Notes on Continuous Stochastic Phenomena. Biometrika 37, 1950. doi:10.2307/2332142
Knox. The Detection of Space-Time Interactions. Applied Statistics 13(1), 1964.
doi:10.2307/2985220
"""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.trees import tree

NEIGHBOURS = 8
_MOST = 20_000_000  # near pairs that are held at once: about 320 MB


def moran(xy: Floats, values: Floats, neighbours: int = NEIGHBOURS) -> float:
    """Return Moran's I of values (n,) at points (n, 2); near 0 where they stand at random."""
    k = min(neighbours, len(xy) - 1)
    away = values - values.mean()
    total = float(away @ away)
    if not total > 0:
        raise InputError("Moran's I needs values that differ; all are the same.")
    _, found = tree(xy).query(xy, k=k + 1)
    own = found == np.arange(len(xy))[:, None]  # need not come first among points of one place
    near = np.take_along_axis(found, np.argsort(own, axis=1, kind="stable")[:, :k], axis=1)
    return float(away[near].sum(axis=1) @ away) / (k * total)


def knox(xy: Floats, times: Floats, metres: float, seconds: float) -> int:
    """Return how many pairs are at most `metres` and `seconds` apart."""
    points = tree(xy)
    count = (int(points.count_neighbors(points, metres)) - len(xy)) // 2
    if count > _MOST:
        raise InputError(
            f"{count:,} pairs are near in space, and at most {_MOST:,} can be looked at; give a"
            " smaller distance."
        )
    pairs = points.query_pairs(metres, output_type="ndarray")  # (pairs, 2)
    return int((np.abs(times[pairs[:, 0]] - times[pairs[:, 1]]) <= seconds).sum())
