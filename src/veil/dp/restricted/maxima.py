"""What answers to maxima say about single values."""

from collections.abc import Sequence

import numpy as np

from veil.core.types import Floats
from veil.dp.restricted.auditor import Mask


class Maxima:
    """Sets with their maxima.

    Each value is at most the least answer of the sets that hold it. A set is consistent when some
    member may reach its answer, and discloses a value when exactly one may.
    """

    def __init__(self, n: int) -> None:
        self.sets: Mask = np.zeros((0, n), dtype=np.bool_)
        self.answers: Floats = np.zeros(0)

    def add(self, mask: Mask, answer: float) -> None:
        """Add a set with its maximum."""
        self.sets = np.concatenate([self.sets, mask[None]])
        self.answers = np.append(self.answers, answer)

    def bounds(self) -> Floats:
        """Return what each value is at most (n,), infinity where nothing is known."""
        limits = np.where(self.sets, self.answers[:, None], np.inf)
        return np.asarray(limits.min(axis=0, initial=np.inf))

    def possible(self) -> Sequence[float]:
        """Return answers that stand for all: each past one, one in every gap, one beyond each end.

        Only their order matters, and it is that of `ranked`.
        """
        return [float(place) for place in range(2 * len(np.unique(self.answers)) + 1)]

    def ranked(self) -> "Maxima":
        """Return the same with answers replaced by odd numbers in their order: gaps are even."""
        made = Maxima(self.sets.shape[1])
        made.sets = self.sets
        places = np.unique(self.answers, return_inverse=True)[1].reshape(-1)
        made.answers = (2 * places + 1).astype(np.float64)
        return made

    def judged(self, mask: Mask, answer: float) -> tuple[bool, bool]:
        """Tell whether one more answer is consistent, and whether it would disclose a value."""
        bounds = np.where(mask, np.minimum(self.bounds(), answer), self.bounds())
        sets = np.concatenate([self.sets, mask[None]])
        answers = np.append(self.answers, answer)
        reaching = np.count_nonzero(sets & (bounds[None] == answers[:, None]), axis=1)
        return bool((reaching > 0).all()), bool((reaching == 1).any())
