"""What a collector learns: counts and means with their standard errors."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats

Candidate = str | int
_ERROR = 0.05  # of all candidates together


@dataclass(frozen=True, eq=False)
class Counts:
    """How many reports are of each candidate: unbiased, so that it may be below 0.

    Attributes
    ----------
    candidates
        Texts or codes, m of them.
    counts
        (m,) estimates.
    stderr
        (m,) standard errors, with collisions of hash functions where there are any.
    """

    candidates: tuple[Candidate, ...]
    counts: Floats
    stderr: Floats

    @property
    def significant(self) -> NDArray[np.bool_]:
        """Which candidates are there: one-sided, 5 % for all together (Bonferroni)."""
        return self.counts > bonferroni(len(self.candidates)) * self.stderr

    def __len__(self) -> int:
        return len(self.candidates)

    def take(self, rows: Sequence[int] | NDArray[np.integer]) -> "Counts":
        """Return some of the candidates, in that order."""
        at = np.asarray(rows, dtype=np.int64)
        chosen = tuple(self.candidates[row] for row in at)
        return Counts(chosen, self.counts[at], self.stderr[at])


@dataclass(frozen=True)
class Mean:
    """The mean of what was reported, and its standard error."""

    value: float
    stderr: float


def bonferroni(tests: int) -> float:
    """Return how many standard errors are significant when so many things are tested."""
    return NormalDist().inv_cdf(1 - _ERROR / max(1, tests))
