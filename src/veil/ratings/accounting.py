r"""Discrete Gaussian noise on exact sums over users, and the privacy cost of that noise.

Neighbouring data sets differ by adding or removing one user. Noise is in units of the largest
change (L2) that one user can make in a round. k rounds of noise z with all users are exactly one
round of noise z / sqrt(k). Rounds that sample users need dp-accounting (extra `accounting`).

*Sums.* A user with n_u ratings has the weight :math:`w = \min(1, \sqrt{c/n_u})`, so that n_u
numbers of at most w have a length of at most :math:`\sqrt c`. Weights are rounded down and
products towards 0 before the summation, which bounds the change by one user exactly. Sums stay
below 2^53, where floats are exact in any order of summation.

*What is proved.* For k adaptive releases of noise s sqrt(k) in units of the sensitivity, s being
the analytic sigma of (epsilon, delta'), the continuous Gaussian mechanism is (epsilon, delta')-DP,
and so is its rounded output. The discrete distribution of sd t steps is within 1/(24 t^2) of the
rounded continuous one in total variation: the midpoint rule misses a cell by at most
max|phi''|/24, and these add up to less than 2/(24 t^2) for t >= 8. With d numbers in all,
delta' + (1 + e^epsilon) d/(24 t^2) is a delta of the discrete noise. `Noise` keeps the second part
below 1/1000 of delta, and raises otherwise.

References
----------
Balle, Wang. Improving the Gaussian Mechanism for Differential Privacy. ICML 2018, Theorem 8.
Dong, Roth, Su. Gaussian Differential Privacy. JRSS B 84(1), 2022, Corollary 2 (composition, also
of rounds that depend on earlier ones).
doi:10.1111/rssb.12454
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.dp.accounting.compose import compose
from veil.dp.accounting.cost import sampled
from veil.dp.calibration import gaussian_sigma
from veil.dp.exact.samplers import discrete_gaussian
from veil.dp.inputs import count, positive, share
from veil.dp.mechanisms.gaussian import Gaussian


def gaussian_epsilon(noise: float, rounds: int, delta: float, sample: float = 1.0) -> float:
    """Return the epsilon at `delta` of Gaussian rounds that users join with chance `sample`.

    A sample below 1 counts only against readers who never learn who took part.

    >>> round(gaussian_epsilon(4.0, 100, 1e-6), 4)
    14.4508
    """
    mechanism = Gaussian(sigma=positive("noise", noise))
    if not 0 < sample <= 1:
        raise ParameterError("The 'sample' argument must be a number > 0 and <= 1.")
    item = mechanism if sample == 1 else sampled(mechanism, sample)
    times = count("rounds", rounds)
    return compose([(item, times)], share("delta", delta), "pld").epsilon


def gaussian_noise(epsilon: float, delta: float, rounds: int = 1) -> float:
    """Return the least noise for which all rounds together are (epsilon, delta)-DP.

    >>> round(gaussian_noise(1.0, 1e-5, 4), 5)
    7.46126
    """
    least = gaussian_sigma(epsilon, delta) * math.sqrt(count("rounds", rounds))
    return least * (1 + 1e-12)  # covers the rounding of the root


def checked_delta(delta: float | None, n: int) -> float:
    """Return `delta`, 1/(10 n) by default; from 1/n on, it would allow publishing a random user.

    >>> checked_delta(None, 100)
    0.001
    """
    if delta is None:
        return 1 / (10 * n)
    if share("delta", delta) >= 1 / n:
        raise ParameterError(
            f"The 'delta' parameter must be below 1/n, which is {1 / n:.3g} for {n:,} users: a"
            " larger one allows publishing a whole profile. Leave it out for 1/(10 n)."
        )
    return float(delta)


_SPARE = 1e-3  # of delta, for the distance of the discrete from the continuous distribution
_EXACT = 2**53


@dataclass(frozen=True)
class Noise:
    """Noise for all `rounds` releases; `multiplier` is its sd in units of the sensitivity."""

    epsilon: float
    delta: float
    rounds: int
    multiplier: float

    @classmethod
    def of(cls, epsilon: float, delta: float, rounds: int) -> "Noise":
        """Return noise with (epsilon, delta)-DP for all rounds together."""
        least = gaussian_noise(epsilon, delta * (1 - _SPARE), rounds)
        return cls(epsilon, delta, rounds, least)

    def add(self, total: Floats, sensitivity2: int, rng: Generator) -> Floats:
        """Add noise to integer sums; one user changes them by at most sqrt(`sensitivity2`)."""
        if np.abs(total).max(initial=0.0) >= _EXACT:
            raise InputError("There are too many users for exact sums. Fit fewer at a time.")
        sigma2 = Fraction(self.multiplier) ** 2 * sensitivity2
        distance = total.size * self.rounds / (24 * float(sigma2))
        if self.epsilon > 300 or (1 + math.exp(self.epsilon)) * distance > _SPARE * self.delta:
            raise ParameterError(
                "The noise is too small for a proof on integers. Use a smaller 'epsilon' or a"
                " larger 'delta'."
            )
        noise = discrete_gaussian(sigma2, total.size, rng).reshape(total.shape)
        return np.asarray(total + noise, dtype=np.float64)


def weights(per_user: Ids, most: int, bits: int) -> Ids:
    """Return floor(2^bits min(1, sqrt(most / n_u))) for each user, exactly.

    >>> weights(np.array([0, 1, 4]), 1, 4).tolist()
    [16, 16, 8]
    """
    counts, where = np.unique(np.maximum(per_user, most), return_inverse=True)
    roots = [math.isqrt((most << (2 * bits)) // count) for count in counts.tolist()]
    return np.array(roots, dtype=np.int64)[where]


def towards_zero(values: Floats) -> Floats:
    """Return integers that are at most as far from 0 as `values`."""
    return np.asarray(np.trunc(values), dtype=np.float64)
