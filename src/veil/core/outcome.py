"""The outcome of an attack: the rank of the truth among the guesses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veil.core.types import Floats, Ids


class Ranks(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """Integer array of ranks (n,) with the number of ties for each.

    A rank is 1 + the number of guesses with a higher score. `ties` (n,) counts the guesses with
    the same score as the truth, itself included: 1 if no other guess ties with it. Depending on
    the order of the tied guesses, the truth comes at `rank`, `rank` + 1, ... or
    `rank` + `ties` - 1. A slice keeps its ties; the result of a computation is an ordinary array.

    >>> ranks = Ranks([1, 4], [1, 3])
    >>> ranks.tolist(), ranks.ties.tolist(), ranks[1:].ties.tolist()
    ([1, 4], [1, 3], [3])
    """

    ties: Ids | None

    def __new__(cls, ranks: ArrayLike, ties: ArrayLike | None = None) -> "Ranks":
        """Copy ranks and ties into a new array."""
        array = np.array(ranks, dtype=np.int64).view(cls)
        array.ties = None if ties is None else np.array(ties, dtype=np.int64)
        return array

    def __array_finalize__(self, parent: NDArray[np.generic] | None) -> None:
        self.ties = None

    def __array_wrap__(  # type: ignore[override]
        self, array: NDArray[np.generic], context: object = None, return_scalar: bool = False
    ) -> object:
        del context
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - numpy's signature
        part = np.asarray(self)[key]
        if not isinstance(part, np.ndarray) or self.ties is None:
            return part
        return Ranks(part, self.ties[key])


def rank_with_ties(scores: Floats, index: int, rounding: float = 0.0) -> tuple[int, int]:
    """Return the rank of entry `index` among scores (N,), and the number of entries tied with it.

    Scores that differ by at most `rounding` times the size of that entry's score count as equal,
    because they were computed no more precisely. An `index` of -1 means a missing entry, which
    ranks last.

    >>> rank_with_ties(np.array([0.5, 0.9, 0.5]), 2), rank_with_ties(np.zeros(3), -1)
    ((2, 2), (4, 1))
    """
    if index < 0:
        return len(scores) + 1, 1
    own = scores[index]
    tolerance = rounding * abs(own) if np.isfinite(own) else 0.0
    ahead = int(np.count_nonzero(scores > own + tolerance))
    return 1 + ahead, int(np.count_nonzero(scores >= own - tolerance)) - ahead


def first_guess(ranks: Ids, ties: Ids | None) -> Floats:
    """Return the probability (n,) that the first guess is right: 1/m if m guesses tie for first.

    >>> first_guess(np.array([1, 1, 2]), np.array([1, 4, 1])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(ranks == 1, 1.0 if ties is None else 1.0 / ties, 0.0)


RELEASE = "release"  # the unit of an attack that finds which releases belong together
LABEL = "label"  # the unit of an attack that finds what a subject is about, not which it is


@dataclass(frozen=True, eq=False)
class Outcome:
    """The outcome of an attack; `veil.measures.risk` turns it into risks.

    An attack that decides between two worlds, with and without a person, has two candidates.

    Attributes
    ----------
    ranks
        (m,) 1 + the number of candidates with a higher score; ``candidates + 1`` if the truth is
        not among the candidates.
    candidates
        (m,) number of candidates the attacker chose from; a blind guess is right with probability
        1 / candidates.
    subjects
        (m,) subject (a query, a record, a household) of each guess; 0, 1, ..., n - 1 if whole
        subjects are guessed.
    unit
        What is guessed: a whole subject, by its name ("query"); a part of one ("word");
        `RELEASE`, which release belongs to the same subject; or `LABEL`, what it is about.
    prior
        (m,) rank of the truth under the attacker's prior belief, if that is not uniform.
    left
        (m,) number of candidates that were not ruled out with certainty, if the attack knows it.
    ties
        (m,) number of candidates with the same score as the truth, itself included. None means no
        ties. Success is the mean over all orders of the tied candidates.
    prior_ties
        (m,) the same for `prior`.
    unanswered
        (m,) 1 if the service that the attack queries gave no answer: there is no guess, and the
        truth counts as not found, so the risk is a lower bound. None if it queries no service.
    """

    ranks: Ids
    candidates: Ids
    subjects: Ids
    unit: str = "query"
    prior: Ids | None = None
    left: Ids | None = None
    ties: Ids | None = None
    prior_ties: Ids | None = None
    unanswered: Ids | None = None

    @property
    def silences(self) -> int:
        """Number of guesses that are missing because there was no answer."""
        return 0 if self.unanswered is None else int(self.unanswered.sum())
