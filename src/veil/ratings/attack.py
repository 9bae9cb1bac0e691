"""Attack a release, a model, or what a recommender or a protection would make of ratings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.registry import read_spec
from veil.core.rng import Randomness, generator
from veil.ratings.attacker import Attack, Outcome, Scene, Target
from veil.ratings.attacks import ATTACKS
from veil.ratings.mechanism import Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings
from veil.ratings.reader import read_people
from veil.ratings.recommender import NOTHING, Recommender, positive_of
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.release import Release

People = Mapping[str, Sequence[str | None]] | str | Path


def attack(
    target: Target | Ratings | str,
    truth: Ratings,
    spec: str | Attack,
    rng: Randomness = None,
    *,
    positive: float | None = None,
    people: People | None = None,
) -> Outcome:
    """Attack as somebody would who knows what the attacker is said to know, and score it.

    Parameters
    ----------
    target
        A release, a model, or ratings as they are; or the spec of a protection or a recommender,
        which the experiment applies itself. Attackers of membership then train on one half.
    truth
        The originals: targets are drawn from them, what is known of a target is made of them, and
        guesses are scored by them. No guess is made of them.
    spec
        Who attacks, as ``scoreboard(known=8, wrong=2)``.
    positive
        From which rating on an item is liked; by default three quarters up the scale.
    people
        A table of users for ``attribute(column=...)``: a file with a column of the users' ids, or
        columns in the order of ``truth.users``.

    Examples
    --------
    >>> import numpy as np
    >>> from veil.ratings import attack, of_arrays
    >>> one = of_arrays(["a", "b"], ["x", "y"], np.array([0, 1]), np.array([0, 1]),
    ...                 np.array([1.0, 5.0]), scale=(1, 5))
    >>> float(attack(one, one, "scoreboard(known=1)", rng=0).success)
    1.0
    """
    if not len(truth):
        raise InputError("An attack needs the original ratings; hand in at least one.")
    by = ATTACKS.parse(spec) if isinstance(spec, str) else spec
    liked = positive_of(truth, positive)
    draws = generator(rng)
    given = _target(target)
    if not by.fits:
        given = _made(given, truth, liked, draws)
    columns: Mapping[str, Sequence[str | None]] = {}
    if people is not None:
        columns = people if isinstance(people, Mapping) else read_people(Path(people), truth)
    return by.run(Scene(given, truth, draws, liked, columns))


def unprotected_release(data: Ratings) -> Release:
    """Return ratings as a release that nothing protects."""
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


def _made(target: Target, truth: Ratings, positive: float, rng: Generator) -> Target:
    """Apply a protection to all ratings, or fit a recommender on them."""
    if isinstance(target, Recommender):
        return target.fit(truth, positive=positive, rng=rng)
    return protect(truth, target, rng=rng) if isinstance(target, Mechanism) else target
