"""The contract of attackers on places, and the risk that they find.

The truth is used to score, never to guess: an attacker that orders a register is handed the scene
alone, and the scoring is done here.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, bootstrap
from veil.core.formatting import brief
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.measures.risk import successes
from veil.places.mechanism import Mechanism
from veil.places.points import Points, Texts
from veil.places.projection import Surface, blocks

HOUSEHOLD = "household"


@brief("first", "among")
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


BLOCK = 16 * 2**20  # bytes of one block of scores


@dataclass(frozen=True, eq=False, repr=False)  # a log line shows no coordinate
class Scene:
    """What an attacker sees and knows.

    Attributes
    ----------
    releases
        (m, n, 2) m releases of the same n points.
    on
        What the points lie on.
    register
        Addresses with weights, or None: the attacker has none.
    method
        What made the releases, or None: the attacker does not know.
    population
        What the method was handed as its population; the register if nothing is told.
    known
        (k, 2) true places of the first k rows, as far as the attacker knows them.
    users, times
        (n,) of traces: whose each fix is, and when it was, in seconds since 1970.
    """

    releases: Floats
    on: Surface
    register: Points | None
    method: Mechanism | None = None
    population: Points | None = None
    known: Floats | None = None
    users: Texts | None = None
    times: Floats | None = None

    def listed(self, by: str) -> Points:
        """Return the register, or say that it is missing."""
        if self.register is None:
            raise InputError(f"The attacker {by} needs a register of addresses; hand it in.")
        return self.register

    def law(self, by: str) -> Mechanism:
        """Return the method, or say that it is missing."""
        if self.method is None:
            raise InputError(
                f"The attacker {by} needs the method that made the release; name it by its spec."
            )
        if not self.method.lawful:
            raise self.method.lawless()
        return self.method


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """What an attack is scored by: the true points, and the entries (n, g) of each, or -1."""

    points: Points
    entries: Ids

    @property
    def absent(self) -> int:
        """How many points have no entry."""
        return int((self.entries[:, 0] < 0).sum())


class Attack(Component):
    """Guesses which address is behind a released point; `knows` is how many true points it has."""

    @property
    def knows(self) -> int:
        """Number of rows whose true place it is told."""
        return 0

    @abstractmethod
    def found(self, scene: Scene, truth: Truth) -> Found:
        """Guess, and score the guesses by the truth."""


class Ranker(Attack):
    """Orders the whole register for each point.

    `absolute` and `relative` say by how much scores differ that are the same: they were computed
    no better than that.
    """

    absolute: ClassVar[float] = 0.0
    relative: ClassVar[float] = 0.0

    @abstractmethod
    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return a score of each entry of the register (b, m) for some rows; more is better."""

    def found(self, scene: Scene, truth: Truth) -> Found:
        """Count the entries that are better than the true one, and those that are as good."""
        register = scene.listed(self.name)
        n, among = scene.releases.shape[1], len(register)
        first, tied = np.full(n, among + 1), np.ones(n, dtype=np.int64)
        for rows in blocks(n, among, BLOCK):
            entries = truth.entries[rows]
            there = np.flatnonzero(entries[:, 0] >= 0)
            scores = self.scores(scene, rows)[there]
            own = np.take_along_axis(scores, np.maximum(entries[there], 0), axis=1)
            own = np.where(entries[there] >= 0, own, -np.inf).max(axis=1, keepdims=True)
            size = np.where(np.isfinite(own), np.abs(own), 0.0)
            room = self.absolute + self.relative * size
            ahead = (scores > own + room).sum(axis=1)
            first[rows.start + there] = 1 + ahead
            tied[rows.start + there] = (scores >= own - room).sum(axis=1) - ahead
        return Found(first, tied, among, truth.absent)


def hit_chances(found: Found, guesses: int) -> Floats:
    """Return how likely (n,) the true entry is among some guesses, ties in any order.

    >>> hit_chances(Found(np.array([1, 2, 4]), np.array([1, 2, 1]), 3), 2).tolist()
    [1.0, 0.5, 0.0]
    """
    if isinstance(guesses, bool) or not isinstance(guesses, int | np.integer) or guesses < 1:
        raise ParameterError("The 'guesses' must be a whole number >= 1.")
    tried = min(int(guesses), found.among)  # who is not listed is not found by the whole list
    return np.asarray(np.clip((tried - found.first + 1) / found.tied, 0.0, 1.0))


def risk(found: Found, guesses: int | Literal["lazy", "active", "motivated"] = 1) -> Estimate:
    r"""Return the share of points that are identified, with its interval over the points.

    .. math:: \frac1n \sum_i \mathrm{clip}\left(\frac{g - first_i + 1}{tied_i}, 0, 1\right)

    which is exact for ties that are tried in any order. One guess is *lazy*, ten are *active*, and
    *motivated* is one divided by the rank, as for texts: see `veil.measures.risk`.
    """
    if isinstance(guesses, str):
        among = np.full(len(found), found.among, dtype=np.int64)
        return bootstrap(successes(found.first, guesses, candidates=among, ties=found.tied))
    return bootstrap(hit_chances(found, guesses))
