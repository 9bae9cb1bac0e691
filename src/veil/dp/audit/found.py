"""What an audit found."""

import math
from dataclasses import dataclass
from typing import Literal

from veil.measures.bounds import lower_share, upper_share

Verdict = Literal["REFUTED", "not refuted", "out of reach", "nothing is claimed"]
BOUNDS = 2  # of shares, among which the chance of error is divided


@dataclass(frozen=True)
class Audit:
    """The epsilon that was measured beside the one that is claimed.

    Attributes
    ----------
    mechanism
        What was audited.
    pair
        The two inputs, that under which the event is likelier first.
    claimed, delta
        The epsilon that is held against the samples, at that delta.
    lower
        The epsilon that was measured at that delta: the true one is at least this.
    hits, trials
        How often the event came under either input, in how many samples each.
    samples
        Draws for each input, of which one half chose the event.
    error
        Largest chance that a correct mechanism is accused.
    """

    mechanism: str
    pair: tuple[object, object]
    claimed: float
    lower: float
    delta: float
    hits: tuple[int, int]
    trials: int
    samples: int
    error: float

    @property
    def exceeded(self) -> bool:
        """Whether the samples refute the claim."""
        return self.lower > self.claimed

    @property
    def reach(self) -> float:
        """The most that so many samples can show: a claim above it cannot be refuted by them."""
        share = self.error / BOUNDS
        most = lower_share(self.trials, self.trials, share) - self.delta
        return math.log(most / upper_share(0, self.trials, share)) if most > 0 else 0.0

    @property
    def verdict(self) -> Verdict:
        """What came of it; a claim that is not refuted is not thereby proved."""
        if math.isinf(self.claimed):
            return "nothing is claimed"
        if self.exceeded:
            return "REFUTED"
        return "not refuted" if self.claimed < self.reach else "out of reach"

    def __str__(self) -> str:
        at = f" at delta {self.delta:g}" if self.delta else ""
        claim = "nothing is claimed" if math.isinf(self.claimed) else f"claimed {self.claimed:.3f}"
        told = f"{self.mechanism}: measured >= {self.lower:.3f}, {claim}{at}"
        return told if math.isinf(self.claimed) else f"{told}: {self.verdict}"
