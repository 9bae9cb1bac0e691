r"""Tell whether one configuration does better than another on the same queries.

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

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.measures.estimate import Estimate, bootstrap, totals

_EXACT = 16  # queries up to which every choice of signs is tried
_FLIPS = 20_000
_SEED = 20261116  # the same data gives the same p-value
_AT_ONCE = 2**21  # signs held at a time


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
    step = max(1, _AT_ONCE // max(n, columns))
    for start in range(0, _FLIPS, step):
        yield np.where(rng.integers(2, size=(min(step, _FLIPS - start), n)), -1.0, 1.0)
