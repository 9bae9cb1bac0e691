"""The outcome of an attack: the rank of the truth among the guesses."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from veil.core.types import Floats, Ids


class Ranks(np.ndarray[tuple[int], np.dtype[np.int64]]):
    """Ranks (n,) that know of ties: an array of whole numbers with one more attribute.

    A rank is 1 + the number of guesses that stand higher. `ties` (n,) counts the guesses that
    stand as high, the truth among them: 1 where it stands alone. In whatever order those are
    tried, the truth comes at `rank`, `rank` + 1, ... or `rank` + `ties` - 1. What is computed
    from ranks is an ordinary array; a part of them keeps its ties.

    >>> found = Ranks([1, 4], [1, 3])
    >>> found.tolist(), found.ties.tolist(), found[1:].ties.tolist()
    ([1, 4], [1, 3], [3])
    """

    ties: Ids | None

    def __new__(cls, ranks: ArrayLike, ties: ArrayLike | None = None) -> "Ranks":
        """Put ranks and ties together."""
        made = np.array(ranks, dtype=np.int64).view(cls)
        made.ties = None if ties is None else np.array(ties, dtype=np.int64)
        return made

    def __array_finalize__(self, given: NDArray[np.generic] | None) -> None:
        self.ties = None

    def __array_wrap__(  # type: ignore[override]
        self, array: NDArray[np.generic], context: object = None, return_scalar: bool = False
    ) -> object:
        del context
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:  # noqa: ANN401 - as numpy has it
        part = np.asarray(self)[key]
        if not isinstance(part, np.ndarray) or self.ties is None:
            return part
        return Ranks(part, self.ties[key])


def rank_with_ties(scores: Floats, place: int, rounding: float = 0.0) -> tuple[int, int]:
    """Return the rank of one entry of a list of scores (N,), and how many have its score.

    Scores that differ by at most `rounding` times their size are the same: they were computed no
    better than that. A place of -1 stands for an entry that is not there, and comes last.

    >>> rank_with_ties(np.array([0.5, 0.9, 0.5]), 2), rank_with_ties(np.zeros(3), -1)
    ((2, 2), (4, 1))
    """
    if place < 0:
        return len(scores) + 1, 1
    own = scores[place]
    room = rounding * abs(own) if np.isfinite(own) else 0.0
    ahead = int(np.count_nonzero(scores > own + room))
    return 1 + ahead, int(np.count_nonzero(scores >= own - room)) - ahead


def first_guess(ranks: Ids, ties: Ids | None) -> Floats:
    """Return how often (n,) the first guess is right: once in m where m guesses stand first.

    >>> first_guess(np.array([1, 1, 2]), np.array([1, 4, 1])).tolist()
    [1.0, 0.25, 0.0]
    """
    return np.where(ranks == 1, 1.0 if ties is None else 1.0 / ties, 0.0)


RELEASE = "release"  # the unit of an attacker that tells which releases belong together
LABEL = "label"  # the unit of an attacker that tells what subjects are about, not which they are


@dataclass(frozen=True, eq=False)
class Outcome:
    """What comes of an attack; `veil.measures.risk` makes risks of it.

    A choice between two worlds, with and without a person, has two candidates.

    Attributes
    ----------
    ranks
        (m,) 1 + how many candidates stand higher; ``candidates + 1`` where the truth is not among
        the candidates.
    candidates
        (m,) among how many the attacker chose: a blind guess is right once in that many times.
    subjects
        (m,) which subject (a query, a record, a household) each belongs to; where a whole subject
        is guessed it is 0, 1, ..., n - 1.
    unit
        What is guessed: a whole subject by its name ("query"), a part of one ("word"),
        `RELEASE`: which release belongs to the same subject, or `LABEL`: what it is about.
    prior
        (m,) rank of the truth by what was believed beforehand, where that is not uniform.
    left
        (m,) how many candidates were not ruled out for certain, where an attacker can tell.
    ties
        (m,) how many candidates stand as high as the truth, itself included, or None: it stands
        alone. Candidates that are level are tried in any order: success is the mean over all.
    prior_ties
        (m,) the same for `prior`.
    unanswered
        (m,) 1 where whom the attacker asks gave no answer, so that there is no guess and the truth
        counts as not found; or None: it asks nobody. The risk is then a lower bound.
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
        """How many guesses were not made, for want of an answer."""
        return 0 if self.unanswered is None else int(self.unanswered.sum())
