r"""Logistic regression by the minimum of a perturbed objective.

.. math:: J(w) = \frac{1}{n}\sum_i \ln(1 + e^{-y_i w \cdot x_i})
   + \frac{\Lambda + \Delta}{2} |w|^2 + \frac{1}{n} b \cdot w, \quad p(b) \propto e^{-\beta |b|}

References
----------
Chaudhuri, Monteleoni, Sarwate. Differentially Private Empirical Risk Minimization. JMLR 12, 2011,
Algorithm 2 and Theorem 9; c = 1/4 for the logistic loss.
"""

import math

import numpy as np
from numpy.random import Generator

from veil.core.guarantee import Guarantee
from veil.core.rng import laplace_ball
from veil.core.types import Floats, Ids

_CURVATURE = 0.25  # c: the largest second derivative of the loss
_RIDGE = 1e-3
_ROUNDS = 100


def perturbed(x: Floats, second: Ids, epsilon: float, rng: Generator) -> Floats:
    """Return the weights (d + 1,) that a floating-point descent finds for a perturbed objective.

    Rows are shrunk to length 1, with the 1 of the intercept in it.
    """
    data = np.c_[x, np.ones(len(x))]
    data /= np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))
    n, ridge = len(data), _RIDGE
    ratio = _CURVATURE / (n * ridge)
    left = epsilon - 2 * math.log1p(ratio)
    if left <= 0:
        left = epsilon / 2
        ridge = max(ridge, _CURVATURE / (n * math.expm1(epsilon / 4)))
    noise = laplace_ball(1, data.shape[1], left / 2, rng)[0]
    return minimum(data, second, ridge, noise / n)


def minimum(x: Floats, second: Ids, ridge: float, slope: Floats | None = None) -> Floats:
    """Return the minimum of the mean loss + ridge/2 |w|^2 + slope.w, by Newton's method."""
    n, d = x.shape
    weights = np.zeros(d)
    linear = np.zeros(d) if slope is None else slope
    for _ in range(_ROUNDS):
        share = 0.5 * (1 + np.tanh(x @ weights / 2))
        gradient = x.T @ (share - second) / n + ridge * weights + linear
        if float(np.abs(gradient).max()) < 1e-12:
            break
        curvature = (x * (share * (1 - share))[:, None]).T @ x / n
        weights = weights - np.linalg.solve(curvature + ridge * np.eye(d), gradient)
    return weights


def unproved(epsilon: float) -> Guarantee:
    """Return that nothing is proved of what is computed, and what would hold of the exact one."""
    return Guarantee(
        "none",
        unit="record",
        neighbours="replace one record",
        caveat=(
            f"The exact minimum, with exact noise, would be {epsilon:g}-DP when one record is"
            " replaced. What was computed is neither: floating-point noise, and a minimum that is"
            " nearly reached."
        ),
    )
