"""Run an attack on a release, a model, or the spec of a recommender or mechanism.

Every attack subclasses `Attack` and receives a `Scene`. `attack` runs one by its spec.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError
from veil.core.formatting import count_of
from veil.core.outcome import Outcome
from veil.core.registry import read_spec
from veil.core.rng import Randomness, generator
from veil.ratings.mechanism import Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings
from veil.ratings.reader import read_people
from veil.ratings.recommender import NOTHING, Model, Recommender, positive_of
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.release import Release

Target = Release | Model | Recommender | Mechanism
People = Mapping[str, Sequence[str | None]] | str | Path


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """The target of an attack, and the original ratings.

    An attack uses `truth` for three things only: to draw its targets, to derive its background
    knowledge (a few ratings of each target), and to score its guesses. `people` are columns of a
    table of users, in the order of `truth.users`, with None for missing values.
    """

    target: Target
    truth: Ratings
    rng: Generator
    positive: float
    people: Mapping[str, Sequence[str | None]] = field(default_factory=dict)


class Attack(Component):
    """An attack on ratings.

    `fits` is True for attacks that protect or train on a part of the ratings themselves.
    """

    fits: ClassVar[bool] = False

    @abstractmethod
    def run(self, scene: Scene) -> Outcome:
        """Return the scored guesses of the attack."""


def attack(
    target: Target | Ratings | str,
    truth: Ratings,
    spec: str | Attack,
    rng: Randomness = None,
    *,
    positive: float | None = None,
    people: People | None = None,
) -> Outcome:
    """Attack ratings with the background knowledge that `spec` declares, and score the guesses.

    Parameters
    ----------
    target
        A release, a model or unprotected ratings; or the spec of a mechanism or recommender, which
        is then applied to `truth`. Membership attacks train it on one half.
    truth
        Original ratings. Targets and the knowledge of them are drawn from here, and guesses are
        scored here; no guess uses them otherwise.
    spec
        The attack, such as ``scoreboard(known=8, wrong=2)``.
    positive
        Lowest rating that counts as a like; by default three quarters up the scale.
    people
        A table of users for ``attribute(column=...)``: a file with a column of user ids, or
        columns in the order of ``truth.users``.

    Examples
    --------
    >>> import numpy as np
    >>> from veil.ratings import attack, of_arrays
    >>> data = of_arrays(["a", "b"], ["x", "y"], np.array([0, 1]), np.array([0, 1]),
    ...                  np.array([1.0, 5.0]), scale=(1, 5))
    >>> float(attack(data, data, "scoreboard(known=1)", rng=0).success)
    1.0
    """
    from veil.ratings.attacks import ATTACKS

    if not len(truth):
        raise InputError("The original ratings are empty. An attack needs at least one.")
    by = ATTACKS.parse(spec) if isinstance(spec, str) else spec
    liked = positive_of(truth, positive)
    draws = generator(rng)
    goal = _target(target)
    if not by.fits:
        goal = _applied(goal, truth, liked, draws)
    columns: Mapping[str, Sequence[str | None]] = {}
    if people is not None:
        columns = people if isinstance(people, Mapping) else read_people(Path(people), truth)
    return by.run(Scene(goal, truth, draws, liked, columns))


def format_attack(outcome: Outcome, by: str) -> Iterator[str]:
    """Yield lines with the success, the baseline, the risk above it, and the details."""
    success, risk = outcome.success, outcome.risk
    size = count_of(success.n, outcome.unit)
    yield f"{by}: success {float(success):.4f} [{success.low:.4f}, {success.high:.4f}], {size}"
    yield f"  baseline: {outcome.baseline:.4g}"
    yield f"  risk above it: {float(risk):.4f} [{risk.low:.4f}, {risk.high:.4f}]"
    for name, value in outcome.details.items():
        yield f"  {name}: {value:.4g}"


def unprotected_release(data: Ratings) -> Release:
    """Return ratings as an unprotected release."""
    return Release(data, "", NOTHING, seeded=False, rows=tuple(range(data.n)))


def _target(target: Target | Ratings | str) -> Target:
    if isinstance(target, Ratings):
        return unprotected_release(target)
    if not isinstance(target, str):
        return target
    name = read_spec(target)[0]
    if name in RECOMMENDERS.names():
        return RECOMMENDERS.parse(target)
    return MECHANISMS.parse(target)


def _applied(target: Target, truth: Ratings, positive: float, rng: Generator) -> Target:
    if isinstance(target, Recommender):
        return target.fit(truth, positive=positive, rng=rng)
    return protect(truth, target, rng=rng) if isinstance(target, Mechanism) else target
