"""A mean with its uncertainty, and the comparison of two means on the same queries.

Tell whether one configuration does better than another on the same queries.
If it made no difference which of the two is which, every query's difference could as well have the
other sign. The p-value is the share of all choices of signs under which the mean is at least as
far from zero as the one seen: of all :math:`2^n` choices up to 16 queries, and beyond that of
20,000 random ones, with the one seen counted among them, so that it is never too small.

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
_FEW = 512  # cases up to which the draws are kept: 8 MB
_DRAWS_AT_ONCE = 2**22  # drawn places held at a time


class Estimate(float):
    """A mean, with the 95 % bootstrap interval (`low`, `high`) over its `n` cases.

    It is a number, and can be used as one.

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
        """Make a number that remembers its interval."""
        made = super().__new__(cls, value)
        made.low, made.high, made.n = low, high, n
        return made

    def __getnewargs__(self) -> tuple[float, float, float, int]:  # type: ignore[override]
        return float(self), self.low, self.high, self.n

    def __repr__(self) -> str:
        return f"{float(self):.4f} [{self.low:.4f}, {self.high:.4f}] (n={self.n})"

    __str__ = __repr__


def bootstrap(values: ArrayLike, groups: ArrayLike | None = None) -> Estimate:
    """Return the mean of values with its 95 % percentile interval.

    `groups` says which text each value belongs to: whole texts are drawn, because the values of
    one text depend on each other.

    Notes
    -----
    The interval shows how the mean varies; its end is no bound. Of few cases, or of equal ones, it
    is too narrow: 0 of 3 gives [0, 0]. To hold a mean against a limit use
    `veil.measures.bounds.upper_bound`.
    """
    cases = row(values, "A mean")
    sums, sizes = totals(cases, groups)
    means = []
    for drawn in resamples(len(sums)):
        total = sums[drawn].sum(axis=1)
        means.append(total / (sizes[drawn].sum(axis=1) if groups is not None else len(sums)))
    return interval(float(cases.mean()), np.concatenate(means), len(sums))


def interval(value: float, resampled: Floats, n: int) -> Estimate:
    """Return a value with the 95 % percentile interval of what resampling made of it."""
    low, high = np.quantile(resampled, [0.025, 0.975])
    return Estimate(value, min(float(low), value), max(float(high), value), n)


def resamples(n: int) -> Iterator[Ids]:
    """Give `RESAMPLES` draws of n places out of n, as blocks (b, n); the same ones every time."""
    if n <= _FEW:
        yield _drawn(n)
        return
    rng = generator(_SEED)
    step = max(1, _DRAWS_AT_ONCE // n)
    for start in range(0, RESAMPLES, step):
        yield rng.integers(n, size=(min(step, RESAMPLES - start), n))


@lru_cache(maxsize=8)
def _drawn(n: int) -> Ids:
    """Return all draws at once, kept for the next mean of as many cases."""
    drawn: Ids = generator(_SEED).integers(n, size=(RESAMPLES, n))
    drawn.flags.writeable = False
    return drawn


def above_chance(values: ArrayLike, chance: float) -> Floats:
    """Return how far successes lie above those of a blind guess; negative where they lie below.

    Their mean is (success - chance)/(1 - chance) before it is cut at 0, and so is each bootstrap
    mean: an interval of it is that of the success, shifted and stretched. Of a guess that is
    always right nothing can be gained.

    >>> above_chance([1.0, 0.0, 0.5], 0.5).tolist()
    [1.0, -1.0, 0.0]
    """
    cases = np.asarray(values, dtype=np.float64)
    gained: Floats = (cases - chance) / (1 - chance) if chance < 1 else np.zeros(len(cases))
    return gained


def stand_in(mean: Estimate, n: int, rng: Generator) -> Floats:
    """Return n values that have a mean and its error, for cases that are not known one by one.

    As many lie above the mean as below it, and chance decides which: scores of curves, which draw
    cases again, then have that error, too.
    """
    error = (mean.high - mean.low) / 2 / NormalDist().inv_cdf(0.975)
    signs = np.where(np.arange(n) % 2, 1.0, -1.0)
    if n % 2:
        signs[-1] = 0.0
    values: Floats = float(mean) + error * n**0.5 * rng.permutation(signs)
    return values


def row(values: ArrayLike, what: str) -> Floats:
    """Return values as float64 (n,), or say that `what` needs finite numbers in one row."""
    try:
        cases = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        cases = np.empty(0)
    if cases.ndim != 1 or not len(cases) or not np.isfinite(cases).all():
        raise InputError(f"{what} needs at least one number, and finite ones, in one row.")
    return cases


def totals(cases: Floats, groups: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return the sum and the number of the values of each text, texts in sorted order."""
    if groups is None:
        return cases, np.ones(len(cases))
    owners = np.asarray(groups)
    if owners.shape != cases.shape:
        raise InputError(
            f"Each of the {len(cases)} values needs one group; there are {owners.size} groups."
        )
    _, place = np.unique(owners, return_inverse=True)
    sizes = np.bincount(place).astype(np.float64)
    sums: Floats = np.bincount(place, cases).astype(np.float64)
    return sums, sizes


_EXACT = 16  # queries up to which every choice of signs is tried
_FLIPS = 20_000

_SIGNS_AT_ONCE = 2**21  # signs held at a time


@dataclass(frozen=True)
class Comparison:
    """The mean difference (first minus second) with its interval, and how likely chance is it.

    `p_value` is two-sided, `exact` where all choices of signs were tried.
    """

    difference: Estimate
    p_value: float
    exact: bool


def compare(first: ArrayLike, second: ArrayLike, *, groups: ArrayLike | None = None) -> Comparison:
    """Compare two configurations by their values (n,) on the same queries.

    A query that either could not measure (nan) is left out. `groups` says which text each value
    belongs to, where a text has several; the signs of a text's values change together.

    >>> compare([0.5, 0.75, 0.5, 1.0], [0.25, 0.5, 0.25, 0.5]).p_value  # 2 of 16 choices of signs
    0.125
    """
    try:
        one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    except (TypeError, ValueError):
        raise InputError("A comparison needs two rows of numbers.") from None
    if one.ndim != 1 or one.shape != other.shape:
        raise InputError("A comparison needs two rows of numbers, of the same queries in order.")
    known = ~(np.isnan(one) | np.isnan(other))
    owners = None if groups is None else np.asarray(groups)
    if owners is not None:
        if owners.shape != one.shape:
            raise InputError(f"Each of the {len(one)} values needs one group.")
        owners = owners[known]
    gaps = one[known] - other[known]
    difference = bootstrap(gaps, owners)
    sums, _ = totals(gaps, owners)
    exact = len(sums) <= _EXACT
    return Comparison(difference, float(p_values(sums[None])[0]), exact)


def p_values(gaps: ArrayLike) -> Floats:
    """Return the two-sided p-value (m,) of each configuration, from its differences (m, n).

    The signs are drawn once and used for all, so that the time hardly grows with m. Column j is
    the same query for all. One that could not be measured (nan) counts 0, which no sign changes:
    it is left out.

    >>> p_values([[0.25, 0.25, 0.25, 0.5], [0.0, 0.0, 0.0, 0.0]]).tolist()
    [0.125, 1.0]
    """
    sums = np.nan_to_num(np.asarray(gaps, dtype=np.float64), posinf=np.nan, neginf=np.nan)
    if sums.ndim != 2 or not sums.size or not np.isfinite(sums).all():
        raise InputError("A comparison needs finite differences, one row per configuration.")
    n = sums.shape[1]
    level = np.abs(sums.sum(axis=1)) - 1e-12 * np.abs(sums).sum(axis=1)  # but for rounding
    exact = n <= _EXACT
    far: Ids = np.zeros(len(sums), dtype=np.int64)
    tried = 0
    for signs in _every(n) if exact else _random(n, len(sums)):
        far += (np.abs(signs @ sums.T) >= level).sum(axis=0)
        tried += len(signs)
    return far / tried if exact else (far + 1) / (tried + 1)  # the choice seen is one of them


def _every(n: int) -> Iterator[Floats]:
    """Give all signs, the first being fixed: the other half mirrors it."""
    choices = np.arange(2 ** (n - 1))[:, None]
    yield np.where((choices >> np.arange(n)) & 1, -1.0, 1.0)


def _random(n: int, columns: int) -> Iterator[Floats]:
    rng = generator(_SEED)
    step = max(1, _SIGNS_AT_ONCE // max(n, columns))
    for start in range(0, _FLIPS, step):
        yield np.where(rng.integers(2, size=(min(step, _FLIPS - start), n)), -1.0, 1.0)
