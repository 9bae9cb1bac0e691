r"""Bounds with a stated confidence, from counts and samples: of shares, means and events.

A bootstrap draws again from what was seen: of 0 hits in 3 cases it makes the interval [0, 0]. The
bounds here hold for any number of cases, few ones included.

Choose an event on half of the samples, and bound how well it tells two inputs apart.
For any set E of outputs, a claim of epsilon and delta says
:math:`\Pr[E|x] \le e^\varepsilon \Pr[E|x'] + \delta`. With Clopper-Pearson bounds of both shares,

.. math:: \ln \frac{\text{lower}(\Pr[E|x]) - \delta}{\text{upper}(\Pr[E|x'])}

is, but for a stated chance of error, at most the true epsilon, whichever E was chosen, as long as
it was chosen on other samples.
"""

import math
from functools import lru_cache

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

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


def excess_bound(hits: Floats, chance: float) -> float:
    """Return what (success - chance)/(1 - chance) is at most, with 97.5 % confidence.

    `hits` are the successes of independent cases, each from 0 to 1; `chance` is known.

    >>> round(excess_bound(np.zeros(72), 0.04), 3)  # at most 0.05 of successes
    0.01
    """
    if chance >= 1:
        return 0.0
    binary = bool(np.isin(hits, (0.0, 1.0)).all())
    most = upper_bound(float(np.mean(hits)), len(hits), binary=binary)
    return max(0.0, (most - chance) / (1 - chance))


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


Hits = tuple[int, int]


def log_ratio(one: Ids, other: Ids, share: float, delta: float = 0.0) -> tuple[float, Hits]:
    """Choose an event on the first halves, and bound its log-ratio on the second."""
    half = len(one) // 2
    event = choose_event(one[:half], other[:half], share, delta)
    hits = count_hits(event, one[half:]), count_hits(event, other[half:])
    return proved_log_ratio(hits, len(one) - half, share, delta), hits


def choose_event(one: Ids, other: Ids, share: float, delta: float = 0.0) -> Ids:
    """Return the outputs, likeliest under the first input, whose ratio can best be shown.

    They are taken in the order of their ratio, as many as maximise a rough bound; any choice is
    valid, because it is made on samples that are not used again. Outputs below 0 are left out.
    """
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(place, [len(one)])]
    covered = values >= 0
    values, (hits, misses) = values[covered], (count[covered] for count in counts)
    if not len(values):
        return values
    order = np.argsort(-(hits + 0.5) / (misses + 0.5), kind="stable")
    more, less = np.cumsum(hits[order]), np.cumsum(misses[order])
    return values[
        order[: int(np.argmax(rough_log_ratios(more, less, len(one), share, delta))) + 1]
    ]


def rough_log_ratios(
    more: Ids, less: Ids, trials: int, share: float, delta: float = 0.0
) -> Floats:
    """Return roughly what ratios hits of events could show, to choose among them."""
    z = math.sqrt(2 * math.log(1 / share))
    low = np.maximum(more - z * np.sqrt(more) - delta * trials, 1e-9)
    ratios: Floats = low / (less + z * np.sqrt(less) + z * z / 2)
    return ratios


def count_hits(event: Ids, outputs: Ids) -> int:
    """Count the outputs that are in an event."""
    return int(np.isin(outputs, event).sum())


def proved_log_ratio(hits: Hits, trials: int, share: float, delta: float = 0.0) -> float:
    """Return the epsilon that hits of an event under either input show: at least that, or 0."""
    low = lower_share(hits[0], trials, share) - delta
    return max(0.0, math.log(low / upper_share(hits[1], trials, share))) if low > 0 else 0.0
