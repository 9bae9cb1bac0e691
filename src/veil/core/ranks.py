"""Where the truth stands among guesses, and how many guesses stand as high."""

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


def standing(scores: Floats, place: int, rounding: float = 0.0) -> tuple[int, int]:
    """Return the rank of one entry of a list of scores (N,), and how many have its score.

    Scores that differ by at most `rounding` times their size are the same: they were computed no
    better than that. A place of -1 stands for an entry that is not there, and comes last.

    >>> standing(np.array([0.5, 0.9, 0.5]), 2), standing(np.zeros(3), -1)
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
