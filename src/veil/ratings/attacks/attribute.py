"""Guess an attribute of a user from the items she rated."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import bootstrap
from veil.core.outcome import Outcome
from veil.core.types import Floats, Ids
from veil.ratings.attack import Attack, Scene
from veil.ratings.attacks.linkage import ReleasedRatings, released_ratings
from veil.ratings.ratings import Ratings

_PRIOR = 1.0  # added to each count: a Beta(1, 1) prior of every item


class Attribute(Attack):
    r"""Guess an attribute of each user from the items of her released profile, by naive Bayes.

    .. math:: \arg\max_c \; \ln n_c + \sum_i \ln \theta_{ci}^{x_i} (1 - \theta_{ci})^{1 - x_i},
       \qquad \theta_{ci} = \frac{N_{ci} + 1}{n_c + 2}

    over all items. The attacker knows the attribute of all other users; the target is left out of
    all counts. The attribute is a `column` of a table of users, or whether she rated an `item`,
    which is then removed from the profiles. The baseline is the most frequent value.
    """

    name: ClassVar[str] = "attribute"
    sample: ClassVar[dict[str, object]] = {"column": "smoker"}
    column: Annotated[str, Field(description="column of the table of users")] = ""
    item: Annotated[str | int, Field(description="item that the user may have rated")] = ""

    @override
    def run(self, scene: Scene) -> Outcome:
        if bool(self.column) == (str(self.item) != ""):
            raise ParameterError("attribute needs either 'column' or 'item'.")
        release = released_ratings(scene, self.name)
        labels, hidden = self._labels(scene, release)
        subjects = np.flatnonzero((labels >= 0) & (release.place >= 0))
        if len(np.unique(labels[subjects])) < 2:
            raise InputError("The attribute must have at least two values among the users.")
        behind = np.full(release.data.n, -1, dtype=np.int64)
        behind[release.place[subjects]] = labels[subjects]
        scores = posteriors(release.data, behind, hidden)[release.place[subjects]]
        return _outcome(scores, labels[subjects], subjects)

    def _labels(self, scene: Scene, release: ReleasedRatings) -> tuple[Ids, int]:
        """Return the value (n,) of each user, -1 if missing, and the item to hide."""
        truth = scene.truth
        if self.column:
            if self.column not in scene.people:
                raise InputError(
                    f"The table of users has no column '{self.column}'. Pass a table with it"
                    " (people, --people)."
                )
            values = scene.people[self.column]
            names = {value: place for place, value in enumerate(sorted({v for v in values if v}))}
            return np.array([-1 if v is None else names[v] for v in values], dtype=np.int64), -1
        place = truth.item_positions.get(str(self.item))
        if place is None:
            raise InputError("The 'item' of the attribute must be a rated item. Use another one.")
        rated = np.zeros(truth.n, dtype=np.int64)
        rated[truth.user[truth.item == place]] = 1
        return rated, int(release.items[place])


def posteriors(data: Ratings, labels: Ids, hidden: int) -> Floats:
    """Return the log-posteriors (n, classes) of all users, each left out of the counts.

    Users with the label -1 are not counted; the item `hidden` is in no profile.
    """
    shown = data.item != hidden
    user, item = data.user[shown].astype(np.int64), data.item[shown].astype(np.int64)
    classes = int(labels.max()) + 1
    sizes = np.bincount(labels[labels >= 0], minlength=classes)
    used = np.arange(data.m) != hidden
    scores = np.empty((data.n, classes))
    for label in range(classes):
        own = labels == label
        counts = np.bincount(item[own[user]], minlength=data.m)
        outside = _scores(counts, sizes[label], user, item, data.n, used, 0)
        inside = _scores(counts, sizes[label] - 1, user, item, data.n, used, 1)
        scores[:, label] = np.where(own, inside, outside)
    return scores


def _scores(
    counts: Ids, size: int, user: Ids, item: Ids, n: int, used: np.ndarray, less: int
) -> Floats:
    """Return the log-joint (n,) of profiles and one class; `less` takes each profile out of it."""
    total = max(size, 0) + 2 * _PRIOR
    absent = np.log(np.maximum(total - counts - _PRIOR, _PRIOR) / total)
    profiles = np.maximum(counts - less, 0) + _PRIOR  # of the items of the profile itself
    present = np.log(profiles / total)
    gain = present - absent
    base = np.log(max(size, 0) + 1e-300) + float(absent[used].sum())
    return np.asarray(base + np.bincount(user, gain[item], minlength=n), dtype=np.float64)


def _outcome(scores: Floats, labels: Ids, users: Ids) -> Outcome:
    best = scores.max(axis=1)
    level = (scores == best[:, None]).sum(axis=1)
    own = scores[np.arange(len(labels)), labels]
    hits = np.where(own == best, 1 / level, 0.0)
    sizes = np.bincount(labels)
    details = {"values": float((sizes > 0).sum())}
    if len(sizes) == 2:
        details["auc"] = area(*(scores[labels == label] @ [-1.0, 1.0] for label in (1, 0)))
    base = float(sizes.max() / len(labels))
    return Outcome(
        subjects=users,
        unit="user",
        per_record=hits,
        baseline=base,
        excess=True,
        mean=bootstrap(hits),
        details=details,
    )


def area(members: Floats, others: Floats) -> float:
    """Return how often a member scores above a non-member; ties count one half.

    >>> area(np.array([2.0, 1.0]), np.array([1.0, 0.0]))
    0.875
    """
    order = np.sort(others)
    below = np.searchsorted(order, members, "left") + np.searchsorted(order, members, "right")
    return float(below.mean() / (2 * len(others)))
