"""The contract of attackers on ratings, and the outcome of an attack."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.estimate import Estimate, interval, resamples
from veil.core.formatting import count_of
from veil.core.outcome import Outcome as Ranked
from veil.core.types import Floats, Ids
from veil.ratings.mechanism import Mechanism
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model, Recommender
from veil.ratings.release import Release

Target = Release | Model | Recommender | Mechanism


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """What is attacked, and the originals that targets are drawn from and guesses scored by.

    An attacker looks at `truth` for three things alone: to draw its targets, to make what it is
    said to know of them (a few of their ratings), and to score. `people` are columns of a table
    of users, in the order of `truth.users`; None where a value is missing.
    """

    target: Target
    truth: Ratings
    rng: Generator
    positive: float
    people: Mapping[str, Sequence[str | None]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """What comes of an attack on ratings.

    Attributes
    ----------
    hits
        (t,) success of each target, in [0, 1]; for advantages see `success`.
    baseline
        Success of who does not look at the release.
    success
        The mean of `hits`, or the advantage TPR - FPR, with its interval.
    ranks
        (t,) where the truth stands among the candidates, or None where nothing is ranked.
    ties, candidates
        (t,) how many stand as high; among how many.
    unit
        What a target is: "user" or "rating".
    details
        Further figures by name.
    subjects
        (t,) position of the user whom each hit is about, or None where hits are not of users.
    upper
        What `risk` is at most with 97.5 % confidence, where it is not that of a mean of hits.
    """

    hits: Floats
    baseline: float
    success: Estimate
    ranks: Ids | None = None
    ties: Ids | None = None
    candidates: Ids | None = None
    unit: str = "user"
    details: dict[str, float] = field(default_factory=dict)
    subjects: Ids | None = None
    upper: float | None = None

    @property
    def risk(self) -> Estimate:
        """Success above the baseline: max(0, (success - baseline)/(1 - baseline))."""
        value, low, high = (
            max(0.0, (one - self.baseline) / (1 - self.baseline))
            for one in (float(self.success), self.success.low, self.success.high)
        )
        return Estimate(value, low, high, self.success.n)

    def ranked(self) -> Ranked:
        """Return the ranks as all kinds of data say it, for `veil.measures.risk`."""
        if self.ranks is None or self.candidates is None:
            raise TypeError("this attack ranks nothing")
        among = np.arange(len(self.ranks))
        return Ranked(self.ranks, self.candidates, among, self.unit, ties=self.ties)


class Attack(Component):
    """One attacker; it is told what it is said to know, never the answer.

    `fits` says that it makes the release or the model itself, of a part of the ratings.
    """

    fits: ClassVar[bool] = False

    @abstractmethod
    def run(self, scene: Scene) -> Outcome:
        """Guess, and score the guesses by the truth."""


def advantage(members: Floats, others: Floats) -> Estimate:
    """Return TPR - FPR of 0/1 decisions, with the interval over both groups."""
    value = float(members.mean() - others.mean())
    drawn = [members[rows].mean(axis=1) for rows in resamples(len(members))]
    against = [others[rows].mean(axis=1) for rows in resamples(len(others))]
    resampled = np.concatenate(drawn) - np.concatenate(against)[::-1]
    return interval(value, resampled, len(members) + len(others))


def format_attack(found: Outcome, by: str) -> Iterator[str]:
    """Say how often an attacker is right, and how far that is above who sees nothing."""
    success, risk = found.success, found.risk
    of = count_of(success.n, found.unit)
    yield f"{by}: success {float(success):.4f} [{success.low:.4f}, {success.high:.4f}], {of}"
    yield f"  who sees nothing: {found.baseline:.4g}"
    yield f"  risk above that: {float(risk):.4f} [{risk.low:.4f}, {risk.high:.4f}]"
    for name, value in found.details.items():
        yield f"  {name}: {value:.4g}"
