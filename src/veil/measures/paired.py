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

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats
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
    return Comparison(difference, _every(sums) if exact else _random(sums), exact)


def _every(sums: Floats) -> float:
    """Try all signs, the first being fixed: the other half mirrors it."""
    choices = np.arange(2 ** (len(sums) - 1))[:, None]
    signs = 1.0 - 2.0 * ((choices >> np.arange(len(sums))) & 1)
    return float(_as_far(signs @ sums, sums).mean())


def _random(sums: Floats) -> float:
    rng = generator(_SEED)
    step = max(1, _AT_ONCE // len(sums))
    far = 1  # the choice seen is one of them
    for start in range(0, _FLIPS, step):
        shape = (min(step, _FLIPS - start), len(sums))
        signs = 1.0 - 2.0 * rng.integers(2, size=shape)
        far += int(_as_far(signs @ sums, sums).sum())
    return far / (_FLIPS + 1)


def _as_far(flipped: Floats, sums: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell which sums are as far from zero as the one seen, but for rounding."""
    slack = 1e-12 * np.abs(sums).sum()
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = np.abs(flipped) >= abs(sums.sum()) - slack
    return found
