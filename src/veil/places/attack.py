"""Attack masked points: which address is behind each released point.

Every attack subclasses `Attack`. It guesses from a `Scene`, which holds what the attacker knows;
the `Truth` only scores the guesses. `attack` builds both and runs an attack by its spec.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate
from veil.core.outcome import Flags, Outcome
from veil.core.types import Floats, Ids
from veil.measures import risk as risks
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import MECHANISMS
from veil.places.mechanisms import mechanism as mechanism_of
from veil.places.neighbours import tree
from veil.places.points import Points, Texts
from veil.places.projection import Surface, blocks, common
from veil.places.release import Masked, Release, crs_of, releases_of

HOUSEHOLD = "household"
BLOCK = 16 * 2**20  # bytes of one block of scores
SAME = 1e-6  # metres within which an entry of the register is a true point


@dataclass(frozen=True, eq=False, repr=False)  # a log line shows no coordinate
class Scene:
    """A release, and what the attacker knows about it.

    Attributes
    ----------
    releases
        (m, n, 2) m releases of the same n points.
    on
        The surface of the points.
    register
        Addresses with weights, or None if the attacker has none.
    method
        The mechanism that made the releases, or None if the attacker does not know it.
    population
        The points that the mechanism used as population.
    known
        (k, 2) true places of the first k points, or None.
    users, times
        User and time of each point of a trace, or None.
    """

    releases: Floats
    on: Surface
    register: Points | None = None
    method: Mechanism | None = None
    population: Points | None = None
    known: Floats | None = None
    users: Texts | None = None
    times: Floats | None = None

    def listed(self, by: str) -> Points:
        """Return the register, or raise an error that names the attack that needs it."""
        if self.register is None:
            raise InputError(f"The attacker {by} needs a register of addresses. Pass 'register'.")
        return self.register

    def law(self, by: str) -> Mechanism:
        """Return the mechanism, or raise an error that names the attack that needs it."""
        if self.method is None:
            raise InputError(
                f"The attacker {by} needs the spec of the mechanism that made the release."
            )
        if not self.method.lawful:
            raise self.method.lawless()
        return self.method


@dataclass(frozen=True, eq=False, repr=False)
class Truth:
    """The true points, and the entries (n, g) of the register at each, padded with -1."""

    points: Points
    entries: Ids

    @property
    def absent(self) -> int:
        """Number of points that are not in the register."""
        return int((self.entries[:, 0] < 0).sum())


class Attack(Component):
    """An attack on places. `knows` is the number of points whose true place the attacker has."""

    @property
    def knows(self) -> int:
        """Number of rows, from the first on, whose true place the attacker knows."""
        return 0

    @abstractmethod
    def run(self, scene: Scene, truth: Truth) -> Outcome:
        """Guess from the scene, and score the guesses by the truth."""


class Ranker(Attack):
    """An attack that ranks the whole register for each point.

    Scores that differ by at most `absolute` plus `relative` times the true entry's score count as
    tied, because they were computed no more precisely.
    """

    absolute: ClassVar[float] = 0.0
    relative: ClassVar[float] = 0.0

    @abstractmethod
    def scores(self, scene: Scene, rows: slice) -> Floats:
        """Return the score (b, m) of each entry of the register for some rows; more is better."""

    def run(self, scene: Scene, truth: Truth) -> Outcome:
        """Count the entries that score higher than the true one, and those that tie with it."""
        register = scene.listed(self.name)
        n, among = scene.releases.shape[1], len(register)
        ranks, ties = np.full(n, among + 1), np.ones(n, dtype=np.int64)
        for rows in blocks(n, among, BLOCK):
            entries = truth.entries[rows]
            present = np.flatnonzero(entries[:, 0] >= 0)
            scores = self.scores(scene, rows)[present]
            own = np.take_along_axis(scores, np.maximum(entries[present], 0), axis=1)
            own = np.where(entries[present] >= 0, own, -np.inf).max(axis=1, keepdims=True)
            size = np.where(np.isfinite(own), np.abs(own), 0.0)
            tolerance = self.absolute + self.relative * size
            ahead = (scores > own + tolerance).sum(axis=1)
            ranks[rows.start + present] = 1 + ahead
            ties[rows.start + present] = (scores >= own - tolerance).sum(axis=1) - ahead
        return outcome(ranks, ties, among, truth.absent)


def outcome(ranks: Ids, ties: Ids | None, among: int, absent: int) -> Outcome:
    """Return the outcome of ranks (n,) among as many candidates.

    `absent` counts the points that are not in the register, or, of traces, the users who are left
    out; `details` has it, and the share of the points that are in the register (`listed`).
    """
    n = len(ranks)
    details = {"absent": absent, "listed": 1 - absent / n}
    candidates = np.full(n, among, dtype=np.int64)
    return Outcome(ranks, candidates, np.arange(n), HOUSEHOLD, ties=ties, details=details)


def single_guess(right: Flags, among: int, absent: int) -> Outcome:
    """Return the outcome of one guess about each point (n,): rank 1, or none if it is wrong."""
    ranks = np.where(right, 1, among + 1)
    return outcome(ranks, np.ones_like(ranks), among, absent)


def risk(found: Outcome, guesses: int | Literal["lazy", "active", "motivated"] = 1) -> Estimate:
    """Return the share of points that are identified within some guesses, with its interval.

    One guess is *lazy*, ten are *active*, and *motivated* is 1/rank: see `veil.risk`. Ties count
    as the mean over all their orders.
    """
    if isinstance(guesses, str):
        return risks.risk(found, guesses)
    if isinstance(guesses, bool) or not isinstance(guesses, int | np.integer) or guesses < 1:
        raise ParameterError("The 'guesses' must be an integer >= 1.")
    return risks.risk(found, "active", k=int(guesses))


def attack(
    masked: Masked,
    original: Points,
    register: Points | None,
    attacker: str | Attack = "bayes",
    method: str | Mechanism | None = None,
    *,
    population: Points | None = None,
    rounding: float = 0.0,
    same: float = SAME,
) -> Outcome:
    """Guess the address behind each released point, and score the guesses by the originals.

    Parameters
    ----------
    masked
        Points, a Release, or an array (m, n, 2) of m releases of the same n points, in the order
        of `original`.
    register
        Addresses with weights, which the attacker guesses from; None for `home`.
    attacker
        Spec: nearest, bayes, average, matching, align or home.
    method
        Spec of the mechanism, if the attacker knows it. `bayes` needs it, and by default takes it
        from the Release.
    population
        The points that the mechanism used as population; by default the register.
    rounding
        Metres by which released coordinates may be off because a file was written with few
        digits. The edges of densities are moved by that.
    same
        Metres within which an entry of the register is a true point.

    Raises
    ------
    InputError
        If none of the points is in the register, so that the attack would show nothing.
    """
    from veil.places.attacks import ATTACKS

    by = ATTACKS.parse(attacker) if isinstance(attacker, str) else attacker
    if method is None and by.name == "bayes" and isinstance(masked, Release):
        method = MECHANISMS.parse(masked.method)
    if method is not None and rounding:
        method = mechanism_of(method).blurred(rounding)
    public = scene_of(masked, original, register, method, population)
    if len(original) != public.releases.shape[1]:
        raise InputError(
            f"There must be {len(original):,} released points, one per original in the same order."
            f" Got {public.releases.shape[1]:,} instead."
        )
    true_places = original.xy[: by.knows] if by.knows else None
    scene = Scene(
        public.releases, public.on, register, public.method, public.population, true_places,
        original.users, original.times,
    )  # fmt: skip
    entries = np.full((len(original), 1), -1, dtype=np.int64)
    if register is not None:
        entries = true_entries(original, register, scene.on, same)
    truth = Truth(original, entries)
    if register is not None and truth.absent == len(original):
        raise InputError(
            "None of the original points is in the register, so an attack would show nothing."
            " Use a register that lists them, in the same coordinates."
        )
    return by.run(scene, truth)


def scene_of(
    masked: Masked,
    reference: Points,
    register: Points | None,
    method: str | Mechanism | None,
    population: Points | None = None,
) -> Scene:
    """Return the scene of an attack; `reference` must have the coordinate system of the rest."""
    releases = releases_of(masked)
    codes = [crs_of(masked, reference), reference.crs, *([register.crs] if register else [])]
    law = None if method is None else mechanism_of(method)
    return Scene(releases, common(*codes), register, law, population or register)


def true_entries(original: Points, register: Points, on: Surface, same: float = SAME) -> Ids:
    """Return the entries (n, g) of the register at each true point, padded with -1.

    If several entries are at one place, the first one guessed counts, so listing an address twice
    hides nothing.
    """
    reach = float(on.chord(np.array(same)))
    matches = tree(on.embed(register.xy)).query_ball_point(on.embed(original.xy), reach)
    counts = np.array([len(entry) for entry in matches])
    entries = np.full((len(original), max(1, int(counts.max()))), -1, dtype=np.int64)
    entries[np.arange(entries.shape[1]) < counts[:, None]] = np.concatenate(matches)
    return entries
