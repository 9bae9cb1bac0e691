"""What a release adds, and what all of them may: epsilons and bits are counted apart."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Price:
    """What a release adds: epsilons, and bits of leakage; the two are never added to each other.

    An `epsilon` that is infinite says that no sum covers the release.
    """

    epsilon: float = 0.0
    bits: float = 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be spent in 24 hours of each; None where there is no limit."""

    epsilon: float | None = None
    bits: float | None = None
