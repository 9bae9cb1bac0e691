"""What an engine can do that knows everything but the query: exact, without an experiment."""

from typing import Literal

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids

Guesses = Literal["lazy", "active", "motivated"]


def exact_risk(groups: Ids, guesses: int = 10, weights: Floats | None = None) -> float:
    r"""Return how often the true query is among the best `guesses`.

    `groups` (N,) is the address of every query that may have been asked, `weights` how likely
    each is, all the same by default. The attacker knows the table, the queries and the weights,
    and names the likeliest of the group that it sees:

    .. math:: \sum_{a} \text{sum of the largest } t \text{ weights with address } a

    >>> exact_risk(np.repeat([0, 1], 50), 10)
    0.2
    """
    if guesses < 1 or not len(groups):
        raise ParameterError("A risk needs at least one guess and one possible query.")
    mass = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    if mass.shape != np.shape(groups) or not (mass >= 0).all() or not 0 < mass.sum() < np.inf:
        raise ParameterError(
            "The weights of a risk must be numbers >= 0, one for each query, and not all 0."
        )
    order = np.lexsort((-mass, groups))
    sorted_groups = np.asarray(groups)[order]
    starts = np.flatnonzero(np.r_[True, sorted_groups[1:] != sorted_groups[:-1]])
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return float(mass[order][place < guesses].sum() / mass.sum())


def bound(groups: int, queries: int, guesses: int = 10) -> float:
    """Return what the same is at most, for any table with so many groups, all equally likely.

    >>> bound(45, 18_000)
    0.025
    """
    if queries < 1 or guesses < 1:
        raise ParameterError("A risk needs at least one guess and one possible query.")
    return min(1.0, guesses * groups / queries)
