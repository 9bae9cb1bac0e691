"""What comes of an attack on places."""

from dataclasses import dataclass

import numpy as np

from veil.core.outcome import Outcome
from veil.core.types import Ids

HOUSEHOLD = "household"


@dataclass(frozen=True, eq=False)
class Found:
    """Where the true entry of each point stands among an attacker's guesses.

    Attributes
    ----------
    first
        (n,) 1 + how many entries are strictly better; ``among + 1`` where the truth is not among
        the entries, or not guessed by an attacker that makes one guess.
    tied
        (n,) how many entries are as good as the true one, itself included.
    among
        How many entries there are to guess from.
    absent
        How many points have no entry in the register; of traces, users with too few fixes, who are
        left out.
    """

    first: Ids
    tied: Ids
    among: int
    absent: int = 0

    def __len__(self) -> int:
        return len(self.first)

    @property
    def listed(self) -> float:
        """Share of the points that the register lists: nobody else can be found in it."""
        return 1 - self.absent / len(self.first)

    def outcome(self) -> Outcome:
        """Return the same as all kinds of data say it."""
        n = len(self.first)
        among = np.full(n, self.among, dtype=np.int64)
        return Outcome(self.first, among, np.arange(n), HOUSEHOLD, ties=self.tied)
