r"""Gradient descent on noisy sums, in whole numbers up to the noise.

A row x (its features, and a 1) and the weights w are whole numbers of steps, and so are x.w and
p - y, p being read from a table of the logistic function. The gradient of a row is a x, where a is
p - y cut so that a^2 |x|^2 <= C^2, all of it in whole numbers: nothing is rounded after it is cut,
and one row changes the sum by at most C (L2), exactly. Products of matrices are exact, too: every
partial sum is a whole number below 2^53, in whatever order it is taken, so that what one row adds
does not depend on which others there are.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.dp.exact.coins import coins
from veil.dp.exact.gaussian import discrete_gaussian
from veil.dp.exact.grid import steps
from veil.dp.mechanism import add

Shorts = NDArray[np.int16]
FEATURE = Fraction(1, 2**11)  # a step of a feature
LIMIT = 2**15 - 1  # steps of a feature at the most: nearly 16
_RESIDUAL, _RESIDUALS = Fraction(1, 2**14), 2**14
GRADIENT = FEATURE * _RESIDUAL  # a step of a gradient
_WEIGHT, _HEAVIEST = Fraction(1, 2**16), 2.0**8
_CELLS, _CELL = 2**14, Fraction(1, 2**10)  # of the logistic function on each side of 0
_COLUMNS = 2**13
_BLOCK = 2**14  # rows at a time
_EXACT = 2**53


@dataclass(frozen=True)
class Rows:
    """Rows (n, d + 1) in steps, whether each is of the second label, and the limit of its a."""

    features: Shorts
    second: Ids
    limits: Ids
    most: int  # C in steps of a gradient

    def gradient(self, places: Ids, weights: Floats) -> Ids:
        """Return the sum of the cut gradients of some rows, exactly, in steps."""
        chosen = self.features[places].astype(np.float64)
        heights = chosen @ np.floor(weights / float(_WEIGHT) + 0.5)
        cells = np.floor(heights * float(FEATURE * _WEIGHT / _CELL))
        cells = np.clip(cells, -_CELLS, _CELLS - 1).astype(np.int64)
        residuals = _logistic()[cells + _CELLS] - _RESIDUALS * self.second[places]
        limits = self.limits[places]
        cut = np.clip(residuals, -limits, limits).astype(np.float64)
        found: Ids = (cut @ chosen).astype(np.int64)
        return found


def rows(x: Floats, second: Ids, clip: float) -> Rows:
    """Round features to steps, and find how far the gradient of each row may go."""
    n, d = x.shape
    most = int(Fraction(clip) / GRADIENT)
    if d + 1 > _COLUMNS:
        raise InputError(f"There must be at most {_COLUMNS - 1} features.")
    if n * most >= _EXACT:
        raise InputError("There are too many rows for exact sums; take fewer, or a lower 'clip'.")
    features = np.empty((n, d + 1), dtype=np.int16)
    limits = np.empty(n, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        part = slice(start, start + _BLOCK)
        bound = float(LIMIT * FEATURE)
        features[part, :d] = steps(np.clip(x[part], -bound, bound), FEATURE)
        features[part, d] = int(1 / FEATURE)
        squares = np.square(features[part].astype(np.int64)).sum(axis=1)
        limits[part] = _limits(squares, most)
    return Rows(features, second, limits, most)


def _limits(squares: Ids, most: int) -> Ids:
    """Return the largest a, at most 1, with a^2 |x|^2 <= C^2, in whole numbers."""
    near = np.minimum(np.floor(most / np.sqrt(squares.astype(np.float64))), _RESIDUALS)
    limits: Ids = near.astype(np.int64)
    return limits - (limits * limits * squares > most * most)


@lru_cache(maxsize=1)
def _logistic() -> Ids:
    """Return the logistic function in steps of p - y, cell by cell."""
    middles = (np.arange(-_CELLS, _CELLS) + 0.5) * float(_CELL)
    table: Ids = np.floor(_RESIDUALS / (1 + np.exp(-middles)) + 0.5).astype(np.int64)
    return table


@dataclass(frozen=True)
class Plan:
    """How a descent goes, fixed before any row is read.

    `q` is the probability of a row to be in a batch, `sigma` the noise in units of the largest
    gradient, `rate` that of learning, `n` the number of rows that are expected.
    """

    steps: int
    q: float
    sigma: float
    rate: float
    n: int


def descend(data: Rows, plan: Plan, rng: Generator) -> Floats:
    """Take noisy steps from 0, and return the average weights of the latter half of them."""
    width = data.features.shape[1]
    sigma2 = (Fraction(plan.sigma) * data.most) ** 2
    noise = discrete_gaussian(sigma2, plan.steps * width, rng).reshape(plan.steps, width)
    weights, average = np.zeros(width), np.zeros(width)
    latter = plan.steps // 2
    unit = float(GRADIENT) * plan.rate / (plan.q * plan.n)
    for step in range(plan.steps):
        places = np.flatnonzero(coins(Fraction(plan.q), len(data.features), rng))
        noisy = add(data.gradient(places, weights), noise[step])
        weights = np.clip(weights - unit * noisy, -_HEAVIEST, _HEAVIEST)
        if step >= latter:
            average += weights / (plan.steps - latter)
    return average
