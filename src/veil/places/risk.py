"""The share of points that an attack identifies."""

from typing import Literal

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.measures.estimate import Estimate, bootstrap
from veil.measures.risk import successes
from veil.places.found import Found


def identified(found: Found, guesses: int) -> Floats:
    """Return how likely (n,) the true entry is among some guesses, ties in any order.

    >>> identified(Found(np.array([1, 2, 4]), np.array([1, 2, 1]), 3), 2).tolist()
    [1.0, 0.5, 0.0]
    """
    if isinstance(guesses, bool) or not isinstance(guesses, int | np.integer) or guesses < 1:
        raise ParameterError("The 'guesses' must be a whole number >= 1.")
    tried = min(int(guesses), found.among)  # who is not listed is not found by the whole list
    return np.asarray(np.clip((tried - found.first + 1) / found.tied, 0.0, 1.0))


def risk(found: Found, guesses: int | Literal["lazy", "active", "motivated"] = 1) -> Estimate:
    r"""Return the share of points that are identified, with its interval over the points.

    .. math:: \frac1n \sum_i \mathrm{clip}\left(\frac{g - first_i + 1}{tied_i}, 0, 1\right)

    which is exact for ties that are tried in any order. One guess is *lazy*, ten are *active*, and
    *motivated* is one divided by the rank, as for texts: see `veil.measures.risk`.
    """
    if isinstance(guesses, str):
        among = np.full(len(found), found.among, dtype=np.int64)
        return bootstrap(successes(found.first, guesses, candidates=among, ties=found.tied))
    return bootstrap(identified(found, guesses))
