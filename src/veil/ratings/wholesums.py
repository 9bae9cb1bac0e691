r"""Sums over users as whole numbers of steps, and discrete Gaussian noise on them.

A user with n_u ratings has the weight :math:`w = \min(1, \sqrt{c/n_u})`, so that n_u numbers of at
most w have a length of at most :math:`\sqrt c`. Weights are rounded down, and products towards 0,
before anything is added up: what one user changes is bounded exactly. Sums stay below 2^53, where
floats are exact, in whatever order they are taken.

*What is proved.* For k adaptive releases of noise s sqrt(k) in units of the sensitivity, s being
the analytic sigma of (epsilon, delta'), the continuous Gaussian mechanism is (epsilon, delta')-DP,
and so is what is rounded of it. The discrete law of sd t steps is within 1/(24 t^2) of the rounded
continuous one in total variation: the midpoint rule misses a cell by at most max|phi''|/24, and
these add up to less than 2/(24 t^2) for t >= 8. With d numbers in all, delta' + (1 + e^epsilon)
d/(24 t^2) is a delta of the discrete noise; `Noise` keeps the second part below 1/1000 of delta,
and refuses else.

References
----------
Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8.
Dong, Roth, Su. Gaussian Differential Privacy. JRSS B 84(1), 2022, Corollary 2.
doi:10.1111/rssb.12454
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_gaussian
from veil.ratings.accounting import gaussian_noise

_SPARE = 1e-3  # of delta, for what the discrete law differs from the continuous one
_EXACT = 2**53


@dataclass(frozen=True)
class Noise:
    """Noise of `rounds` releases together; `multiplier` is its sd in units of a sensitivity."""

    epsilon: float
    delta: float
    rounds: int
    multiplier: float

    @classmethod
    def of(cls, epsilon: float, delta: float, rounds: int) -> "Noise":
        """Calibrate noise for (epsilon, delta) in all."""
        least = gaussian_noise(epsilon, delta * (1 - _SPARE), rounds)
        return cls(epsilon, delta, rounds, least)

    def add(self, total: Floats, sensitivity2: int, rng: Generator) -> Floats:
        """Add noise to one release: whole numbers, of which a user changes |x|^2 by that much."""
        if np.abs(total).max(initial=0.0) >= _EXACT:
            raise InputError("There are too many users for exact sums; fit fewer at a time.")
        sigma2 = Fraction(self.multiplier) ** 2 * sensitivity2
        apart = total.size * self.rounds / (24 * float(sigma2))
        if self.epsilon > 300 or (1 + math.exp(self.epsilon)) * apart > _SPARE * self.delta:
            raise ParameterError(
                "The noise is too small to be proved on whole numbers; give a smaller 'epsilon' or"
                " a larger 'delta'."
            )
        drawn = discrete_gaussian(sigma2, total.size, rng).reshape(total.shape)
        return np.asarray(total + drawn, dtype=np.float64)


def weights(per_user: Ids, most: int, bits: int) -> Ids:
    """Return floor(2^bits min(1, sqrt(most / n_u))) of each user, exactly.

    >>> weights(np.array([0, 1, 4]), 1, 4).tolist()
    [16, 16, 8]
    """
    counts, where = np.unique(np.maximum(per_user, most), return_inverse=True)
    roots = [math.isqrt((most << (2 * bits)) // count) for count in counts.tolist()]
    return np.array(roots, dtype=np.int64)[where]


def towards_zero(values: Floats) -> Floats:
    """Return whole numbers that are nowhere farther from 0."""
    return np.asarray(np.trunc(values), dtype=np.float64)
