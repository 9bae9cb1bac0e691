"""Bounds on a share from counts, without SciPy."""

import math
from functools import lru_cache

_TINY = 1e-300
_TERMS = 10_000


def lower_share(hits: int, trials: int, error: float) -> float:
    """Return the Clopper-Pearson lower bound of a share; it is too high with chance <= `error`.

    It is the share p at which `hits` or more of `trials` have probability `error`:
    I_p(hits, trials - hits + 1) = error.
    """
    if hits == 0:
        return 0.0
    low, high = 0.0, 1.0
    while True:  # halving a float64 interval ends: the middle becomes one of its ends
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        if incomplete_beta(hits, trials - hits + 1, middle) < error:
            low = middle
        else:
            high = middle


@lru_cache(maxsize=4096)
def upper_share(hits: int, trials: int, error: float) -> float:
    """Return the Clopper-Pearson upper bound of a share; it is too low with chance <= `error`."""
    return 1 - lower_share(trials - hits, trials, error)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
    """
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # where the fraction converges slowly
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            c, d = _away(1 + term / c), 1 / _away(1 + term * d)
            value *= c * d
        if abs(value - before) <= 1e-16 * abs(value):
            break
    return math.exp(front) * value / a


def _away(value: float) -> float:
    """Keep a denominator away from zero."""
    return value if abs(value) > _TINY else _TINY
