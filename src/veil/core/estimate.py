"""A mean with its uncertainty, and the comparison of two means on the same queries.

The comparison is a randomisation test. If the two configurations were interchangeable, the
difference of every query could as well have the other sign. The p-value is the share of sign
choices for which the mean difference is at least as far from zero as the observed one. Up to 16
queries all :math:`2^n` choices are tried. Beyond that it is 20,000 random ones, and the observed
choice is counted as one more, so that the p-value is never too small.

References
----------
Smucker, Allan, Carterette. A Comparison of Statistical Significance Tests for Information
Retrieval Evaluation. CIKM 2007. doi:10.1145/1321440.1321528
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids

RESAMPLES = 2_000
_SEED = 20261116  # the same data gives the same interval
_MAX_CACHED = 512  # up to this many cases the resamples stay in memory (8 MB)
_INDICES_AT_ONCE = 2**22  # indices drawn at a time


class Estimate(float):
    """A mean, with the 95 % bootstrap interval (`low`, `high`) over its `n` cases.

    It can be used as an ordinary number.

    >>> half = Estimate(0.5, 0.25, 0.75, 40)
    >>> half
    0.5000 [0.2500, 0.7500] (n=40)
    >>> half + 1, f"{half:.2f}"
    (1.5, '0.50')
    """

    __slots__ = ("high", "low", "n")
    low: float
    high: float
    n: int

    def __new__(cls, value: float, low: float, high: float, n: int) -> "Estimate":
        """Return a float with its interval."""
        estimate = super().__new__(cls, value)
        estimate.low, estimate.high, estimate.n = low, high, n
        return estimate

    def __getnewargs__(self) -> tuple[float, float, float, int]:  # type: ignore[override]
        return float(self), self.low, self.high, self.n

    def __repr__(self) -> str:
        return f"{float(self):.4f} [{self.low:.4f}, {self.high:.4f}] (n={self.n})"

    __str__ = __repr__


def bootstrap(values: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Return the mean of values with its 95 % percentile interval.

    `groups` is the text that each value belongs to. Whole texts are resampled, because the values
    of a text depend on each other.

    Notes
    -----
    The interval shows how the mean varies; its upper end is not a bound. For few or equal cases it
    is too narrow: 0 of 3 gives [0, 0]. To compare a mean with a limit, use
    `veil.measures.bounds.upper_bound`.
    """
    cases = row(values, "A mean")
    sums, sizes = totals(cases, groups)
    means = []
    for indices in resamples(len(sums)):
        total = sums[indices].sum(axis=1)
        means.append(total / (sizes[indices].sum(axis=1) if groups is not None else len(sums)))
    return interval(float(cases.mean()), np.concatenate(means), len(sums))


def exactly(value: float, n: int) -> Estimate:
    """Return a single figure for n cases together as an estimate without an interval."""
    return Estimate(value, value, value, n)


def interval(value: float, resampled: Floats, n: int) -> Estimate:
    """Return a value with the 95 % percentile interval of its resampled values."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n)


def resamples(n: int) -> Iterator[Ids]:
    """Yield `RESAMPLES` bootstrap samples of n indices, in blocks (b, n); always the same ones."""
    if n <= _MAX_CACHED:
        yield _cached_resamples(n)
        return
    rng = generator(_SEED)
    step = max(1, _INDICES_AT_ONCE // n)
    for start in range(0, RESAMPLES, step):
        yield rng.integers(n, size=(min(step, RESAMPLES - start), n))


@lru_cache(maxsize=8)
def _cached_resamples(n: int) -> Ids:
    indices: Ids = generator(_SEED).integers(n, size=(RESAMPLES, n))
    indices.flags.writeable = False
    return indices


def above_chance(values: ArrayLike, chance: float) -> Floats:
    """Return the gain of successes over a blind guess; negative if the guess is better.

    Their mean is (success - chance)/(1 - chance) before it is cut at 0, and so is each bootstrap
    mean: its interval is that of the success, shifted and scaled. If a blind guess is always
    right, the gain is 0.

    >>> above_chance([1.0, 0.0, 0.5], 0.5).tolist()
    [1.0, -1.0, 0.0]
    """
    cases = np.asarray(values, dtype=np.float64)
    gained: Floats = (cases - chance) / (1 - chance) if chance < 1 else np.zeros(len(cases))
    return gained


def stand_in(mean: Estimate, n: int, rng: Generator) -> Floats:
    """Return n values with a given mean and standard error, for cases without known values.

    Equally many are above and below the mean, in random order: scores of curves, which resample
    cases, then have the same error.
    """
    error = (mean.high - mean.low) / 2 / NormalDist().inv_cdf(0.975)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    if n % 2:
        signs[-1] = 0.0
    values: Floats = float(mean) + error * n**0.5 * rng.permutation(signs)
    return values


def row(values: ArrayLike, what: str) -> Floats:
    """Return values as float64 (n,). The error for other values begins with `what`."""
    try:
        cases = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        cases = np.empty(0)
    if cases.ndim != 1 or not len(cases) or not np.isfinite(cases).all():
        raise InputError(f"{what} needs a one-dimensional list of at least one finite number.")
    return cases


def totals(cases: Floats, groups: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values per text, with the texts in sorted order."""
    if groups is None:
        return cases, np.ones(len(cases))
    owners = np.asarray(groups)
    if owners.shape != cases.shape:
        raise InputError(
            f"Each of the {len(cases)} values needs one group. Got {owners.size} groups instead."
        )
    _, codes = np.unique(owners, return_inverse=True)
    sizes = np.bincount(codes).astype(np.float64)
    sums: Floats = np.bincount(codes, cases).astype(np.float64)
    return sums, sizes


_MAX_EXACT = 16  # up to this many queries every choice of signs is tried
_SIGN_CHOICES = 20_000  # random choices of signs for more queries
_SIGNS_AT_ONCE = 2**21  # signs in memory at a time


@dataclass(frozen=True)
class Comparison:
    """The mean difference (first minus second) with its interval and its p-value.

    `p_value` is two-sided. It is `exact` if all choices of signs were tried.
    """

    difference: Estimate
    p_value: float
    exact: bool


def compare(first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None) -> Comparison:
    """Compare two configurations by their values (n,) on the same queries.

    A query for which either value is missing (nan) is left out. `groups` is the text of each
    value, if texts have several values: the signs of a text's values change together.

    >>> compare([0.5, 0.75, 0.5, 1.0], [0.25, 0.5, 0.25, 0.5]).p_value  # 2 of 16 choices of signs
    0.125
    """
    try:
        a, b = (np.asarray(values, dtype=np.float64) for values in (first, second))
    except (TypeError, ValueError):
        raise InputError("A comparison needs two lists of numbers.") from None
    if a.ndim != 1 or a.shape != b.shape:
        raise InputError(
            "A comparison needs two lists of numbers, for the same queries in the same order."
        )
    present = ~(np.isnan(a) | np.isnan(b))
    owners = None if groups is None else np.asarray(groups)
    if owners is not None:
        if owners.shape != a.shape:
            raise InputError(f"Each of the {len(a)} values needs one group.")
        owners = owners[present]
    differences = a[present] - b[present]
    mean = bootstrap(differences, owners)
    sums, _ = totals(differences, owners)
    exact = len(sums) <= _MAX_EXACT
    return Comparison(mean, float(p_values(sums[None])[0]), exact)


def p_values(gaps: ArrayLike) -> Floats:
    """Return the two-sided p-value (m,) of each configuration, from its differences (m, n).

    All configurations share one draw of signs, so the time hardly grows with m. Column j is the
    same query in all of them. A missing difference (nan) counts 0, which no sign changes: it is
    left out.

    >>> p_values([[0.25, 0.25, 0.25, 0.5], [0.0, 0.0, 0.0, 0.0]]).tolist()
    [0.125, 1.0]
    """
    sums = np.nan_to_num(np.asarray(gaps, dtype=np.float64), posinf=np.nan, neginf=np.nan)
    if sums.ndim != 2 or not sums.size or not np.isfinite(sums).all():
        raise InputError("A comparison needs finite differences, one row per configuration.")
    n = sums.shape[1]
    observed = np.abs(sums.sum(axis=1)) - 1e-12 * np.abs(sums).sum(axis=1)  # allow for rounding
    exact = n <= _MAX_EXACT
    extreme: Ids = np.zeros(len(sums), dtype=np.int64)
    total = 0
    for signs in _all_signs(n) if exact else _random_signs(n, len(sums)):
        extreme += (np.abs(signs @ sums.T) >= observed).sum(axis=0)
        total += len(signs)
    return extreme / total if exact else (extreme + 1) / (total + 1)  # + 1: the observed choice


def _all_signs(n: int) -> Iterator[Floats]:
    """Yield all choices with the first sign fixed: the others are their mirror images."""
    choices = np.arange(2 ** (n - 1))[:, None]
    yield np.where((choices >> np.arange(n)) & 1, -1.0, 1.0)


def _random_signs(n: int, columns: int) -> Iterator[Floats]:
    rng = generator(_SEED)
    step = max(1, _SIGNS_AT_ONCE // max(n, columns))
    for start in range(0, _SIGN_CHOICES, step):
        yield np.where(rng.integers(2, size=(min(step, _SIGN_CHOICES - start), n)), -1.0, 1.0)
