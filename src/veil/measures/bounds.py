r"""Bounds with a stated confidence for shares, means and log-ratios, from counts and samples.

A bootstrap only resamples the observed cases: for 0 hits in 3 cases its interval is [0, 0]. The
bounds here hold for any number of cases, however few.

The second half of the module bounds how well an event distinguishes two inputs. For any set E of
outputs, a claim of epsilon and delta means
:math:`\Pr[E|x] \le e^\varepsilon \Pr[E|x'] + \delta`. With Clopper-Pearson bounds of both shares,

.. math:: \ln \frac{\text{lower}(\Pr[E|x]) - \delta}{\text{upper}(\Pr[E|x'])}

is at most the true epsilon, except with a stated probability. This holds for any choice of E made
on other samples: E is chosen on one half of the samples and counted on the other.
"""

import math
from functools import lru_cache

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

_TINY = 1e-300
_TERMS = 10_000


def lower_share(hits: int, trials: int, error: float) -> float:
    """Return the Clopper-Pearson lower bound of a share, too high with probability <= `error`.

    It is the share p at which `hits` or more of `trials` have probability `error`:
    I_p(hits, trials - hits + 1) = error.
    """
    if hits == 0:
        return 0.0
    low, high = 0.0, 1.0
    while True:  # bisection of floats ends when the middle equals a bound
        middle = (low + high) / 2
        if middle in (low, high):
            return low
        if incomplete_beta(hits, trials - hits + 1, middle) < error:
            low = middle
        else:
            high = middle


@lru_cache(maxsize=4096)
def upper_share(hits: int, trials: int, error: float) -> float:
    """Return the Clopper-Pearson upper bound of a share, too low with probability <= `error`."""
    return 1 - lower_share(trials - hits, trials, error)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), by its continued fraction.

    References
    ----------
    NIST Digital Library of Mathematical Functions, 8.17.22, evaluated by Lentz's method.
    """
    if not 0 < x < 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction would converge slowly
        return 1 - incomplete_beta(b, a, 1 - x)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front += a * math.log(x) + b * math.log1p(-x)
    c, d = 1.0, 1 / _nonzero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        before = value
        for term in (even, odd):
            c, d = _nonzero(1 + term / c), 1 / _nonzero(1 + term * d)
            value *= c * d
        if abs(value - before) <= 1e-16 * abs(value):
            break
    return math.exp(front) * value / a


def _nonzero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


ERROR = 0.025  # probability, at most, that the true mean is above the bound
CONFIDENCE = 1 - ERROR
_ROUNDING = 1e-6  # n times the mean of n counts may differ from an integer by this much


def upper_bound(mean: float, n: int, *, top: float = 1.0, binary: bool = False) -> float:
    r"""Return an upper bound of the true mean, with 97.5 % confidence, from the mean of `n` cases.

    .. math:: \sup \{ p : n \, \mathrm{KL}(\bar x, p) \le \ln(1 / 0.025) \}

    It holds for independent cases with any distribution on [0, `top`]. With `binary` every case
    is 0 or `top`, and the exact bound of Clopper and Pearson is returned, which is lower. A mean
    that such cases cannot have (because they are means themselves) gets the general bound.

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
    if binary and abs(hits - round(hits)) <= _ROUNDING:
        return top * upper_share(round(hits), n, ERROR)
    return top * _kl_upper_bound(share, math.log(1 / ERROR) / n)


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
    """Return the smallest number of cases whose `upper_bound` is at most `bound`, or None.

    None means that no number of cases suffices. For binary cases the number is exact if the mean
    is 0; for a higher mean, fewer cases may suffice.

    >>> cases_needed(0.05), cases_needed(0.05, mean=0.02), cases_needed(0.05, mean=0.05)
    (72, 304, None)
    """
    share, limit = _share(mean, top), bound / top
    if limit <= share:
        return None
    return max(1, math.ceil(math.log(1 / ERROR) / _divergence(share, limit)))


def _share(mean: float, top: float) -> float:
    share = mean / top
    if not 0 <= share <= 1 + _ROUNDING:
        raise InputError(f"The mean must be a number from 0 to {top:g}. Got {mean} instead.")
    return min(share, 1.0)


def _kl_upper_bound(share: float, divergence: float) -> float:
    """Return the highest p with KL(share, p) <= `divergence`, rounded up."""
    low, high = share, 1.0
    while True:  # bisection of floats ends when the middle equals a bound
        middle = (low + high) / 2
        if middle in (low, high):
            return high
        if _divergence(share, middle) <= divergence:
            low = middle
        else:
            high = middle


def _divergence(a: float, b: float) -> float:
    """Return the Kullback-Leibler divergence of Bernoulli(a) from Bernoulli(b), for a < b."""
    if b >= 1:
        return math.inf
    heads = a * math.log(a / b) if a > 0 else 0.0
    return heads + (1 - a) * (math.log1p(-a) - math.log1p(-b))


Hits = tuple[int, int]


def log_ratio(first: Ids, second: Ids, share: float, delta: float = 0.0) -> tuple[float, Hits]:
    """Choose an event on the first halves of two samples, and bound its log-ratio on the rest.

    `first` and `second` are outputs for two inputs. Returns the bound and the hits of the event.
    """
    half = len(first) // 2
    event = choose_event(first[:half], second[:half], share, delta)
    hits = count_hits(event, first[half:]), count_hits(event, second[half:])
    return proved_log_ratio(hits, len(first) - half, share, delta), hits


def choose_event(first: Ids, second: Ids, share: float, delta: float = 0.0) -> Ids:
    """Return the event, a set of outputs, whose log-ratio can be shown best.

    Outputs are taken in the order of their ratio, first input over second, as many as maximise a
    rough bound. Any choice is valid, because its samples are not used again. Outputs below 0 are
    left out.
    """
    values, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(codes, [len(first)])]
    covered = values >= 0
    values, (hits, misses) = values[covered], (count[covered] for count in counts)
    if not len(values):
        return values
    order = np.argsort(-(hits + 0.5) / (misses + 0.5), kind="stable")
    more, less = np.cumsum(hits[order]), np.cumsum(misses[order])
    return values[
        order[: int(np.argmax(rough_log_ratios(more, less, len(first), share, delta))) + 1]
    ]


def rough_log_ratios(
    more: Ids, less: Ids, trials: int, share: float, delta: float = 0.0
) -> Floats:
    """Return rough lower bounds of the ratios of events (not their logs), to choose an event."""
    z = math.sqrt(2 * math.log(1 / share))
    low = np.maximum(more - z * np.sqrt(more) - delta * trials, 1e-9)
    ratios: Floats = low / (less + z * np.sqrt(less) + z * z / 2)
    return ratios


def count_hits(event: Ids, outputs: Ids) -> int:
    """Count the outputs that are in an event."""
    return int(np.isin(outputs, event).sum())


def proved_log_ratio(hits: Hits, trials: int, share: float, delta: float = 0.0) -> float:
    """Return a lower bound of epsilon from the hits of an event under both inputs, at least 0.

    Each of the two Clopper-Pearson bounds is wrong with probability at most `share`.
    """
    low = lower_share(hits[0], trials, share) - delta
    return max(0.0, math.log(low / upper_share(hits[1], trials, share))) if low > 0 else 0.0
