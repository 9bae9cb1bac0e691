"""How high a mean can be, given some cases, with a stated confidence.

A bootstrap draws again from what was seen: of 0 hits in 3 cases it makes the interval [0, 0]. The
bounds here hold for any number of cases, few ones included.
"""

import math

from veil.core.errors import InputError
from veil.measures.binomial import upper_share

ERROR = 0.025  # in at most this share of samples the true mean lies above the bound
CONFIDENCE = 1 - ERROR
_NEAR = 1e-6  # a mean of n counts, times n, is a whole number up to rounding


def upper_bound(mean: float, n: int, *, top: float = 1.0, binary: bool = False) -> float:
    r"""Return what the true mean is at most, with 97.5 % confidence, given the mean of `n` cases.

    .. math:: \sup \{ p : n \, \mathrm{KL}(\bar x, p) \le \ln(1 / 0.025) \}

    It holds for independent cases of any distribution from 0 to `top`. With `binary` each of
    them is 0 or `top`, and the bound is the exact one of Clopper and Pearson, which is lower. A
    mean that no such counts can have (of cases that are means themselves) gets the general one.

    References
    ----------
    Clopper, Pearson. The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial. Biometrika 26(4), 1934. doi:10.1093/biomet/26.4.404
    Hoeffding. Probability Inequalities for Sums of Bounded Random Variables. JASA 58(301), 1963,
    Theorem 1. doi:10.1080/01621459.1963.10500830

    Examples
    --------
    >>> round(upper_bound(0.0, 3, binary=True), 3), round(upper_bound(0.0, 72), 4)
    (0.708, 0.0499)
    """
    share = _share(mean, top)
    if n < 1:
        raise InputError(f"A bound needs at least one case. Got {n} instead.")
    hits = share * n
    if binary and abs(hits - round(hits)) <= _NEAR:
        return top * upper_share(round(hits), n, ERROR)
    return top * _farthest(share, math.log(1 / ERROR) / n)


def cases_needed(bound: float, *, mean: float = 0.0, top: float = 1.0) -> int | None:
    """Return the number of cases from which on a mean keeps a bound, or None if none suffices.

    With `binary` cases it is exact for a mean of 0; for a higher one fewer may do.

    >>> cases_needed(0.05), cases_needed(0.05, mean=0.02), cases_needed(0.05, mean=0.05)
    (72, 304, None)
    """
    share, limit = _share(mean, top), bound / top
    if limit <= share:
        return None
    return max(1, math.ceil(math.log(1 / ERROR) / _divergence(share, limit)))


def _share(mean: float, top: float) -> float:
    share = mean / top
    if not 0 <= share <= 1 + _NEAR:
        raise InputError(
            f"A mean to bound must be a number from 0 to {top:g}. Got {mean} instead."
        )
    return min(share, 1.0)


def _farthest(share: float, divergence: float) -> float:
    """Return the highest p with KL(share, p) <= `divergence`, rounded up."""
    low, high = share, 1.0
    while True:  # halving a float64 interval ends: the middle becomes one of its ends
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        if _divergence(share, middle) <= divergence:
            low = middle
        else:
            high = middle


def _divergence(a: float, b: float) -> float:
    """Return the Kullback-Leibler divergence of two coins that show heads with a < b."""
    if b >= 1:
        return math.inf
    heads = a * math.log(a / b) if a > 0 else 0.0
    return heads + (1 - a) * (math.log1p(-a) - math.log1p(-b))
