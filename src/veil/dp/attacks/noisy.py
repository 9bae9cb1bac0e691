"""A database of one secret bit each that answers counts with noise."""

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.dp.attacks.asking import Mask
from veil.dp.mechanism import Mechanism

QUESTIONS = 400  # counts that an analyst asks for
RATE = 0.5  # share of ones that is known to all
_AT_ONCE = 16  # answers that are drawn together


class NoisyCounts:
    """Answers how many of a set have the secret, with fresh noise for every answer.

    `size` answers are drawn for each question and their mean is given, which costs that many times
    as much. It is handed to attackers in place of the secret.
    """

    def __init__(self, secret: Ids, mechanism: Mechanism, rng: Generator, size: int = 1) -> None:
        self._secret, self._mechanism, self._rng, self._size = secret, mechanism, rng, size
        self._drawn: dict[
            int, list[float]
        ] = {}  # by exact answer: independent draws, each for one

    def __call__(self, mask: Mask) -> float:
        """Answer one question."""
        exact = int(self._secret[mask].sum())
        left = self._drawn.setdefault(exact, [])
        if not left:
            given = self._mechanism.check(exact)
            draws = self._mechanism.draw(given, _AT_ONCE * self._size, self._rng)
            left += draws.reshape(_AT_ONCE, self._size).mean(axis=1).tolist()
        return left.pop()


def bits(secret: ArrayLike) -> Ids:
    """Return a secret of 0 and 1, or of truth values, as (n,)."""
    given = np.asarray(secret)
    fine = given.ndim == 1 and given.size > 0 and given.dtype.kind in "biuf"
    if not fine or not np.isin(given, (0, 1)).all():
        raise InputError("The secret must be 0 or 1 for each record, at least one.")
    return given.astype(np.int64)


def workload(n: int, rng: Generator, queries: int = QUESTIONS) -> Mask:
    """Draw the sets (queries, n) that an analyst asks about: each record with probability 1/2."""
    return rng.integers(0, 2, (queries, n)).astype(np.bool_)


def usefulness(truth: Floats | Ids, answers: Floats, blind: Floats) -> float:
    r"""Return how much better answers are than the best that are made without the data.

    .. math:: \max(0, 1 - \text{MAE}/\text{MAE}_\text{blind})
    """
    error = float(np.abs(answers - truth).mean())
    unaided = float(np.abs(blind - truth).mean())
    if unaided == 0:  # nothing is to be learnt
        return float(error == 0)
    return max(0.0, 1 - error / unaided)
