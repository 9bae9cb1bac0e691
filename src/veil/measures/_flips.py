"""The randomisation test of `paired`, for many configurations at once.

The choices of signs are drawn once and used for all, so that the time hardly grows with their
number. The p-values are those of `paired.compare`.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.measures.paired import _AT_ONCE, _EXACT, _FLIPS, _SEED


def p_values(gaps: ArrayLike) -> Floats:
    """Return the two-sided p-value (m,) of each configuration, from its differences (m, n).

    Column j is the same query for all. A query that could not be measured (nan) counts 0, which
    no sign changes: it is left out.

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
