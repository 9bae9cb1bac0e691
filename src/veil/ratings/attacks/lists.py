"""Infer a user's new like from public lists of related items."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.estimate import bootstrap
from veil.core.outcome import Outcome, first_guess, rank_with_ties
from veil.core.types import Floats, Ids
from veil.measures.risk import successes
from veil.ratings.attack import Attack, Scene
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender

Index = NDArray[np.integer]


class Lists(Attack):
    """Guess a target's new item from two snapshots of the lists of related items.

    Each target adds one like, among `background` changes by others. An item scores one point for
    each known item of the target in whose list it rose or entered; the best item is the guess. The
    baseline guesses the items whose number of likes grew most.

    References
    ----------
    Calandrino, Kilzer, Narayanan, Felten, Shmatikov. "You Might Also Like": Privacy Risks of
    Collaborative Filtering. IEEE S&P 2011, Section IV (RelatedItemsListInference).
    doi:10.1109/SP.2011.40
    """

    name: ClassVar[str] = "lists"
    fits: ClassVar[bool] = True
    known: Annotated[int, Field(ge=1, description="known items of a target")] = 10
    targets: Annotated[int, Field(ge=1, description="maximum number of attacked users")] = 150
    background: Annotated[
        float, Field(ge=0, lt=1, description="share of the other likes that are also new")
    ] = 0.03

    @override
    def run(self, scene: Scene) -> Outcome:
        if not isinstance(scene.target, Recommender):
            raise InputError(
                "lists needs a recommender with lists of related items, such as itemknn(k=20)."
            )
        users, profiles, new, late = self._changes(scene)
        before, after = (
            _neighbours(scene.target, part, scene)
            for part in (scene.truth.take(~late), scene.truth)
        )
        gains = _gains(scene.truth, late, scene.positive)
        placements = [
            (
                *_placed(count_rises(before, after, own, scene.truth.m), own, item),
                *_placed(gains, own, item),
            )
            for own, item in zip(profiles, new.tolist(), strict=True)
        ]
        return _outcome(np.array(placements), users, scene.truth.m - self.known)

    def _changes(self, scene: Scene) -> tuple[Ids, list[Ids], Ids, NDArray[np.bool_]]:
        """Draw targets, the known items and the new item of each, and mark all new rows."""
        truth, rng = scene.truth, scene.rng
        likes = truth.value >= scene.positive
        counts = np.bincount(truth.user[likes], minlength=truth.n)
        able = np.flatnonzero(counts > self.known)
        if not len(able):
            raise InputError(
                f"No user likes more than {self.known:,} items. Use a smaller 'known'."
            )
        users = np.sort(rng.choice(able, size=min(self.targets, len(able)), replace=False))
        late = likes & (rng.random(len(truth)) < self.background)
        profiles, new = [], []
        for user in users.tolist():
            rows = truth.rows(user)
            own = rows.start + np.flatnonzero(likes[rows])
            shuffled = rng.permutation(own)
            late[shuffled[: self.known + 1]] = False  # known items are old
            late[shuffled[0]] = True
            new.append(int(truth.item[shuffled[0]]))
            profiles.append(truth.item[shuffled[1 : self.known + 1]].astype(np.int64))
        return users.astype(np.int64), profiles, np.array(new, dtype=np.int64), late


def count_rises(before: Index, after: Index, known: Ids, m: int) -> Floats:
    """Return how often (m,) each item rose in, or entered, the lists of the known items."""
    score, depth = np.zeros(m), after.shape[1]
    places = np.full(m + 1, depth, dtype=np.int64)
    for item in known.tolist():
        old, new = before[item][before[item] >= 0], after[item][after[item] >= 0]
        places[old] = np.arange(len(old))
        score[new[np.arange(len(new)) < places[new]]] += 1
        places[old] = depth
    return score


def _neighbours(target: Recommender, part: Ratings, scene: Scene) -> Index:
    lists = getattr(target.fit(part, scene.positive, scene.rng), "neighbours", None)
    if lists is None:
        raise InputError(f"{target.name} has no lists of related items. Use itemknn.")
    return np.asarray(lists.index)


def _gains(truth: Ratings, late: NDArray[np.bool_], positive: float) -> Floats:
    """Return the number (m,) of likes that each item gained."""
    new = late & (truth.value >= positive)
    return np.bincount(truth.item[new], minlength=truth.m).astype(np.float64)


def _placed(scores: Floats, known: Ids, item: int) -> tuple[int, int]:
    """Return the rank and the ties of the new item among the unknown items."""
    open_to = np.ones(len(scores), dtype=bool)
    open_to[known] = False
    return rank_with_ties(scores[open_to], int(open_to[:item].sum()))


def _outcome(placements: Ids, users: Ids, among: int) -> Outcome:
    ranks, ties, blind, level = placements.T
    candidates = np.full(len(ranks), among, dtype=np.int64)
    hits = first_guess(ranks, ties)
    details = {
        "within ten": float(successes(ranks, "active", ties=ties).mean()),
        "within ten, by popularity": float(successes(blind, "active", ties=level).mean()),
    }
    base = float(first_guess(blind, level).mean())
    return Outcome(
        ranks, candidates, users, "user",
        ties=ties, per_record=hits, baseline=base, excess=True, mean=bootstrap(hits),
        details=details,
    )  # fmt: skip
