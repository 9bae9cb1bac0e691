r"""Noise that clients make themselves, as whole numbers, and what it costs.

Each adds discrete Gaussian noise of variance :math:`(z\,2^{20})^2/t` to every number, so that the
sum has at least noise z in units of the bound, though only t survive.

*The sum of discrete Gaussians.* Two of variances a and b add up to one of a + b times
:math:`\sum_j \varphi_s(j - c) \in 1 \pm 3 e^{-2 \pi^2 s^2}`, s^2 = ab/(a + b) (Poisson summation).
With a share of 8 steps or more, s^2 >= 32, so that the logarithm of the ratio is below 1e-270.

*A discrete and a rounded Gaussian.* Let p be the discrete law of sigma, and q that of a normal
number rounded to the nearest whole one. Then

.. math:: q(k) \propto p(k) \int_{-1/2}^{1/2} e^{-u^2/2\sigma^2} \cosh(k u/\sigma^2)\,du,
   \quad -\frac{1}{8\sigma^2} \le \log\frac{q(k)}{p(k)} \le \frac{k^2}{8\sigma^4}

since :math:`1 \le \cosh x \le e^{x^2/2}`. Over d numbers the sum is at most
:math:`\eta = \max(d, R^2)/8\sigma^2` where :math:`|k|^2 \le R^2 \sigma^2`, which holds but for a
probability of :math:`\delta'` with :math:`R^2 = d + 2\sqrt{d \ln(1/\delta')} + 2\ln(1/\delta')`:
both laws are sub-Gaussian. Rounding is post-processing, so that T rounds of the discrete law cost
:math:`\varepsilon + 2T\eta` where those of the continuous one cost :math:`\varepsilon`, and
:math:`(1 + e^{\varepsilon + T\eta}) T\delta'` more of delta; also with Poisson samples, by
mixture. With 2^20 steps to a bound this is some 1e-5 of epsilon.

References
----------
Kairouz, Liu, Steinke. The Distributed Discrete Gaussian Mechanism for Federated Learning with
Secure Aggregation. ICML 2021 (the sum).
Hsu, Kakade, Zhang. A tail inequality for quadratic forms of subgaussian random vectors. 2012.
"""

import math
from fractions import Fraction
from functools import lru_cache

from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.dp.exact.samplers import discrete_gaussian
from veil.ratings.accounting import gaussian_epsilon
from veil.ratings.federated.fixed import STEPS

NUMBERS = 2**23  # of an update, at most: what a message has room for
_LEAST = 8  # steps of the noise of one client
_RARE = 100.0  # -ln of delta'
_SLACK = 1e-9  # of delta, for what is rare


def share_variance(noise: float, threshold: int) -> Fraction:
    """Return the variance of one client's noise, in steps, exactly."""
    variance = (Fraction(noise) * STEPS) ** 2 / threshold
    if variance < _LEAST**2:
        raise ParameterError(
            "The noise of one client would be too small for its grid; choose more noise, or a"
            " lower threshold."
        )
    return variance


def share_of_noise(noise: float, threshold: int, size: int, rng: Generator) -> Ids:
    """Draw the noise (size,) that one client adds."""
    return discrete_gaussian(share_variance(noise, threshold), size, rng)


def sum_of_noise(noise: float, threshold: int, clients: int, size: int, rng: Generator) -> Ids:
    """Draw the noise (size,) of all clients together: in law the sum of their shares."""
    return discrete_gaussian(clients * share_variance(noise, threshold), size, rng)


def grid_loss(noise: float, numbers: int = NUMBERS) -> float:
    """Return eta: what the grid adds to the loss of one round, in each direction."""
    root = math.sqrt(numbers * _RARE)
    reach = math.sqrt(numbers + 2 * root + 2 * _RARE) + math.sqrt(numbers) / (noise * STEPS)
    return reach**2 / (8 * (noise * STEPS) ** 2)


@lru_cache(maxsize=256)
def discrete_epsilon(noise: float, rounds: int, delta: float, sample: float = 1.0) -> float:
    """Return the epsilon of discrete rounds: of continuous ones, and what the grid adds."""
    whole = rounds * grid_loss(noise)
    inner = delta * (1 - _SLACK) * math.exp(-whole)
    epsilon = gaussian_epsilon(noise, rounds, inner, sample)
    rare = math.log(2 * rounds) + epsilon + 2 * whole - _RARE
    if rare > math.log(delta * _SLACK):
        raise ParameterError("This noise is too small for any promise; choose more.")
    return epsilon + 2 * whole
