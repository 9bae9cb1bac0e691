"""Noise distributions shared by domains."""

import numpy as np
from numpy.random import Generator

from veil.core.types import Floats


def sphere(count: int, dim: int, rng: Generator) -> Floats:
    """Draw `count` directions uniformly from the unit sphere of R^dim, as rows."""
    direction = rng.standard_normal((count, dim))
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    while not length.all():  # a draw of length zero has no direction: draw that row again
        bad = np.flatnonzero(length == 0)
        direction[bad] = rng.standard_normal((len(bad), dim))
        length = np.linalg.norm(direction, axis=1, keepdims=True)
    direction /= length
    return direction


def laplace_ball(count: int, dim: int, epsilon: float, rng: Generator) -> Floats:
    r"""Draw rows from the density :math:`p(z) \propto e^{-\varepsilon \lVert z \rVert_2}`.

    The radius is Gamma(dim, 1/epsilon), the direction uniform.
    """
    radius = rng.gamma(dim, 1 / epsilon, count)
    return radius[:, None] * sphere(count, dim, rng)
