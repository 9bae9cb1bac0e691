"""Released ratings as who attacks sees them, and where each person is, for scoring alone."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.ratings.attacker import Scene, Target
from veil.ratings.ratings import Ratings
from veil.ratings.release import Release


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """A release of ratings.

    Attributes
    ----------
    data, mechanism
        What anybody sees, and how it was made.
    items
        (m,) where the items of the truth are in the release, -1 where they are not.
    place
        (n,) where the users of the truth are in the release, -1 where they are not: it scores
        guesses, and no guess is made of it.
    """

    data: Ratings
    mechanism: str
    items: Ids
    place: Ids


def seen_in(scene: Scene, who: str) -> Seen:
    """Return the released ratings of a scene; `who` is the attacker, for the message."""
    data = data_of(scene.target)
    if data is None or not isinstance(scene.target, Release):
        raise InputError(
            f"{who} attacks released ratings; there are none here, only a model: use membership."
        )
    at = data.item_positions
    items = np.array([at.get(one, -1) for one in scene.truth.items], dtype=np.int64)
    return Seen(data, scene.target.mechanism, items, _places(scene.target, data, scene.truth))


def data_of(target: Target) -> Ratings | None:
    """Return the ratings that a target shows, or None."""
    return target.data if isinstance(target, Release) else None


def _places(release: Release, data: Ratings, truth: Ratings) -> Ids:
    place = np.full(truth.n, -1, dtype=np.int64)
    if release.rows is not None:
        behind = np.asarray(release.rows, dtype=np.int64)
        there = np.flatnonzero(behind >= 0)
        place[behind[there]] = there
        return place
    known = truth.user_positions
    behind = np.array([known.get(one, -1) for one in data.users], dtype=np.int64)
    if (behind < 0).all():
        raise InputError(
            "Which released profile is whose is not known here; hand in what protect returned, or"
            " the spec of the protection."
        )
    there = np.flatnonzero(behind >= 0)
    place[behind[there]] = there
    return place
