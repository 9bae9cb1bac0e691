"""Reconstruct secrets from noisy counts of random sets, by linear programming."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from pydantic import Field

from veil.core.errors import InputError, MissingExtraError, VeilError
from veil.core.types import Floats
from veil.dp.attack import Attack, Questions

_LARGE = 300  # records above which an interior-point method is faster


class Reconstruction(Attack):
    r"""Ask for counts of random sets, and return the bits that fit best.

    .. math:: \min_{0 \le x \le 1} \sum_j |\langle Q_j, x\rangle - a_j|, \quad
       \text{each } x_i \text{ rounded at } 1/2

    Whatever the distribution of the noise: if most answers are off by much less than the square
    root of the number of records, a few times as many questions as records reveal nearly all
    secrets.

    References
    ----------
    Dinur, Nissim. Revealing Information while Preserving Privacy. PODS 2003.
    doi:10.1145/773153.773173
    Dwork, McSherry, Talwar. The Price of Privacy and the Limits of LP Decoding. STOC 2007.
    doi:10.1145/1250790.1250804
    """

    name: ClassVar[str] = "reconstruction"
    queries: Annotated[int, Field(ge=1, le=10**5, description="random sets asked about")] = 400

    def run(self, ask: Questions, n: int, rng: Generator) -> Floats:
        """Ask about sets that each record is in with probability 1/2."""
        sets = rng.integers(0, 2, (self.queries, n)).astype(np.bool_)
        answers = ask.batch(sets)
        valid = np.isfinite(answers) & sets.any(axis=1)
        return reconstruct(sets[valid], answers[valid]) if valid.any() else np.full(n, np.nan)


def reconstruct(queries: ArrayLike, answers: ArrayLike) -> Floats:
    """Return the bits (n,) that fit noisy counts best.

    Parameters
    ----------
    queries
        The records in each count (m, n): booleans, or 0 and 1.
    answers
        The counts (m,), exact or noisy.

    Examples
    --------
    >>> reconstruct([[1, 1, 0], [0, 1, 1], [1, 0, 1]], [1.2, 0.9, 0.1]).tolist()
    [0.0, 1.0, 0.0]
    """
    sets, counts = _check(queries, answers)
    return np.floor(decode(sets, counts) + 0.5)


def decode(sets: Floats, counts: Floats) -> Floats:
    r"""Return the point (n,) of the unit cube with the smallest sum of absolute errors.

    It solves the dual, which has one condition per record instead of one per count:

    .. math:: \max_{|y| \le 1} \langle a, y\rangle - \sum_i \max(0, \langle Q_{\cdot i}, y\rangle)
    """
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csc_array, eye_array, hstack
    except ImportError as error:
        raise MissingExtraError("Reconstruction needs scipy: pip install 'veil[dp]'.") from error
    m, n = sets.shape
    limits = np.concatenate([np.tile([-1.0, 1.0], (m, 1)), np.tile([0.0, np.inf], (n, 1))])
    solved = linprog(
        np.concatenate([-counts, np.ones(n)]),
        A_ub=hstack([csc_array(sets.T), -eye_array(n)], format="csc"),
        b_ub=np.zeros(n),
        bounds=limits,
        method="highs-ds" if n <= _LARGE else "highs-ipm",
    )
    if solved.status != 0:
        raise VeilError(
            "The linear program of the reconstruction could not be solved. Try other queries."
        )
    point: Floats = np.clip(-np.asarray(solved.ineqlin.marginals), 0.0, 1.0)
    return point


def _check(queries: ArrayLike, answers: ArrayLike) -> tuple[Floats, Floats]:
    try:
        sets = np.asarray(queries, dtype=np.float64)
        counts = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        sets, counts = np.empty(0), np.empty(0)
    if sets.ndim != 2 or not sets.size or not np.isin(sets, (0.0, 1.0)).all():
        raise InputError("Queries must be booleans, one row per answer.")
    if counts.shape != sets.shape[:1] or not np.isfinite(counts).all():
        raise InputError(f"There must be one finite answer per query, {len(sets):,} in total.")
    return sets, counts
