r"""Where a point was, on average: the posterior mean, and how far from the truth it lies.

.. math:: \hat x = \sum_y P(y \mid z_1 \dots z_m)\, y
"""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap
from veil.places.attack import scene_of
from veil.places.attacker import BLOCK, Scene
from veil.places.attackers.bayes import log_posteriors
from veil.places.crs import from_lonlat
from veil.places.method import Method
from veil.places.points import Points
from veil.places.projection import blocks, degrees, distance
from veil.places.release import Masked


@dataclass(frozen=True)
class Localised:
    """How well points are localised: the mean error in metres, and what that is as a risk.

    Attributes
    ----------
    error
        Mean distance from the posterior mean to the true point.
    without
        The same for who has the register and no release.
    risk
        1 - error / without, clipped to [0, 1].
    """

    error: Estimate
    without: Estimate
    risk: float


def localise(
    masked: Masked,
    register: Points,
    method: str | Method,
    *,
    population: Points | None = None,
) -> Floats:
    """Return the posterior means (n, 2), in the coordinates of the register.

    On the sphere it is the direction of the mean of the unit vectors. Where no entry could have
    become the release it is the mean of the register: the release says nothing of that law.
    """
    scene = scene_of(masked, register, register, method, population)
    places = scene.on.embed(register.xy)  # (m, 2) or (m, 3)
    n = scene.releases.shape[1]
    means = np.empty((n, places.shape[1]))
    for rows in blocks(n, len(register), BLOCK):
        means[rows] = posteriors(scene, rows) @ places
    return means if register.crs is None else from_lonlat(degrees(means), register.crs)


def posteriors(scene: Scene, rows: slice) -> Floats:
    """Return P(y|z) (b, m) for some rows of the releases; each row sums to 1."""
    chances = log_posteriors(scene, rows, "localise")
    top = chances.max(axis=1, keepdims=True)
    nowhere = ~np.isfinite(top[:, 0])
    chances -= np.where(np.isfinite(top), top, 0.0)
    np.exp(chances, out=chances)
    if nowhere.any():
        weights = scene.listed("localise").weights
        chances[nowhere] = 1.0 if weights is None else weights
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def localised(
    masked: Masked,
    original: Points,
    register: Points,
    method: str | Method,
    *,
    population: Points | None = None,
) -> Localised:
    """Compare the posterior means with the true points."""
    there = localise(masked, register, method, population=population)
    weights = np.ones(len(register)) if register.weights is None else register.weights
    scene = scene_of(masked, original, register, method)
    mean = (weights @ scene.on.embed(register.xy) / weights.sum())[None]
    blind = mean if register.crs is None else from_lonlat(degrees(mean), register.crs)
    error = bootstrap(distance(there, original.xy, register.crs))
    without = bootstrap(
        distance(np.repeat(blind, len(original), axis=0), original.xy, register.crs)
    )
    gained = 1 - float(error) / float(without) if float(without) > 0 else 0.0
    return Localised(error, without, min(1.0, max(0.0, gained)))
