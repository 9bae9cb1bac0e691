"""A mean with its uncertainty."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids

RESAMPLES = 2_000
_SEED = 20261116  # the same data gives the same interval
_FEW = 512  # cases up to which the draws are kept: 8 MB
_AT_ONCE = 2**22  # drawn places held at a time


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
    step = max(1, _AT_ONCE // n)
    for start in range(0, RESAMPLES, step):
        yield rng.integers(n, size=(min(step, RESAMPLES - start), n))


@lru_cache(maxsize=8)
def _drawn(n: int) -> Ids:
    """Return all draws at once, kept for the next mean of as many cases."""
    drawn: Ids = generator(_SEED).integers(n, size=(RESAMPLES, n))
    drawn.flags.writeable = False
    return drawn


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
