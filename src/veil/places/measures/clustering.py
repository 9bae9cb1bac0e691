r"""Whether points stand as close together as they did: Ripley's K and the Clark-Evans index.

.. math:: K(r) = \frac{A}{n(n-1)} \sum_{i \ne j} [d_{ij} \le r], \quad
   R = \frac{\bar d_{nearest}}{\frac12 \sqrt{A/n}}

Without edge correction; A is the area of the original box on both sides, so that it cancels in
what is compared, and a map whose points lie on one line can be measured too.

References
----------
Ripley. Modelling Spatial Patterns. J. R. Stat. Soc. B 39(2), 1977, Section 4.
Clark, Evans. Distance to Nearest Neighbor as a Measure of Spatial Relationships in Populations.
Ecology 35(4), 1954. doi:10.2307/1931034
"""

import numpy as np

from veil.core.types import Floats
from veil.places.measures.frame import Frame, alike
from veil.places.trees import tree

STEPS = 20  # radii, up to a quarter of the shorter side


def radii(frame: Frame) -> Floats:
    """Return the radii (20,) at which K is compared."""
    return np.arange(1, STEPS + 1) / STEPS * (float(frame.sides.min()) / 4)


def pairs_within(xy: Floats, distances: Floats) -> Floats:
    """Return how many ordered pairs of points (n, 2) are at most that far apart, for each."""
    points = tree(xy)
    found = points.count_neighbors(points, distances)
    return np.asarray(found, dtype=np.float64) - len(xy)  # each is its own neighbour


def nearest(xy: Floats) -> Floats:
    """Return the distance (n,) of each point to its nearest other."""
    distances, _ = tree(xy).query(xy, k=2)
    return np.asarray(distances[:, 1], dtype=np.float64)


def clark_evans(xy: Floats, frame: Frame) -> float:
    """Return the Clark-Evans index: 1 for points at random, less where they stand in clusters."""
    usual = 0.5 * float(np.sqrt(frame.area / frame.n))
    return float(nearest(xy).mean()) / usual if usual else float("nan")


def ripley(original: Floats, released: Floats, frame: Frame) -> float:
    """Compare K of both sides: 1 - sum |K_o - K_m| / sum max(K_o, K_m)."""
    before = pairs_within(original, radii(frame))
    after = pairs_within(released, radii(frame))
    most = float(np.maximum(before, after).sum())
    return 1 - float(np.abs(before - after).sum()) / most if most else 1.0


def neighbours(original: Floats, released: Floats, frame: Frame) -> float:
    """Compare the mean distances to the nearest neighbour, smaller by larger."""
    del frame  # it is the same on both sides
    return alike(float(nearest(original).mean()), float(nearest(released).mean()))
