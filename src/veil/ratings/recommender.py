"""The contract of recommenders and models, and the fallback for unknown users and items."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids, Ranking
from veil.ratings.ratings import Ratings, top

NOTHING = Guarantee("none", unit="user", caveat="The model was trained without privacy.")
State = dict[str, NDArray[np.float64] | NDArray[np.float32] | NDArray[np.int64]]
BLOCK = 32 * 2**20  # bytes of one block of scores


class Recommender(Component):
    """Learns a `Model` from ratings; its fields are its parameters.

    `implicit` is True if it sees only likes: ratings >= `positive`.
    """

    implicit: ClassVar[bool] = False

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee of a model; private recommenders override it."""
        return NOTHING

    @abstractmethod
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "Model":
        """Return a model of `train`; a rating >= `positive` is a like (default: upper quarter)."""

    def restore(self, train: Ratings, positive: float, state: State) -> "Model":
        """Return the model of a `Model.state` and the ratings it was trained on."""
        del state
        return self.fit(train, positive)  # exact if nothing is random


class Model(ABC):
    """A trained model for the users and items of `train`.

    `scores` and `ratings` take positions, `predict` and `recommend` take ids. `train` has the
    ratings of the users it serves, which are never recommended to them again. `notes` are limits
    that users of the model must know.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self, spec: str, train: Ratings, positive: float, guarantee: Guarantee, *, seeded: bool
    ) -> None:
        self.spec, self.train, self.positive = spec, train, positive
        self.guarantee, self.seeded = guarantee, seeded

    def state(self) -> State:
        """Return what a file must store besides the ratings; nothing if `fit` is deterministic."""
        return {}

    def unknown(self, users: Ids) -> Floats:
        """Return the score (b,) of an item without ratings."""
        return np.zeros(len(users))

    @abstractmethod
    def scores(self, users: Ids) -> Floats:
        """Return the score (b, m) of every item for users (b,) by position; more is better."""

    @abstractmethod
    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return predicted ratings (n,) of pairs of positions (-1: unknown), unclipped."""

    def predict(self, users: Sequence[str], items: Sequence[str]) -> Floats:
        """Return predicted ratings (n,) of pairs of ids, clipped to the scale.

        An unknown user or item gets the fallback: mean of the user, else of the item, else of all.
        """
        if len(users) != len(items) or isinstance(users, str) or isinstance(items, str):
            raise InputError("Predictions need pairs. Pass as many users as items.")
        positions = (self.train.user_positions, self.train.item_positions)
        places = [
            np.array([of.get(str(name), -1) for name in ids], dtype=np.int64)
            for of, ids in zip(positions, (users, items), strict=True)
        ]
        return np.clip(self.ratings(*places), *self.train.scale)

    def recommend(self, users: Sequence[str], k: int = 10) -> Ranking:
        """Return the best `k` items for each user (ids), without her training items."""
        if isinstance(users, str):
            raise InputError("'users' must be a list of ids. Got a string instead.")
        positions = [self.train.user_positions.get(str(name), -1) for name in users]
        unknown = sum(position < 0 for position in positions)
        if unknown:
            raise InputError(f"The model does not know {unknown:,} of the users. Leave them out.")
        return self.lists(np.array(positions, dtype=np.int64), k)

    def lists(self, users: Ids, k: int) -> Ranking:
        """Return the best `k` items for users by position, in blocks of bounded memory."""
        check_k(k, self.train.m)
        index = np.full((len(users), k), -1, dtype=np.int64)
        scores = np.full((len(users), k), -np.inf)
        step = max(1, BLOCK // (8 * self.train.m))
        for start in range(0, len(users), step):
            rows = slice(start, start + step)
            index[rows], scores[rows] = top(self.candidates(users[rows]), k)
        return Ranking(self.train.items, index, scores)

    def candidates(self, users: Ids) -> Floats:
        """Return the scores (b, m), with -inf for each user's training items."""
        scores = np.array(self.scores(users), dtype=np.float64)
        for row, user in enumerate(users.tolist()):
            scores[row, self.train.item[self.train.rows(user)]] = -np.inf
        return scores


class RatingModel(Model):
    """A model that ranks items by the rating it predicts."""

    @override
    def scores(self, users: Ids) -> Floats:
        m = self.train.m
        items = np.tile(np.arange(m, dtype=np.int64), len(users))
        return self.ratings(np.repeat(users, m), items).reshape(len(users), m)

    @override
    def unknown(self, users: Ids) -> Floats:
        return self.ratings(users, np.full(len(users), -1, dtype=np.int64))


def positive_of(train: Ratings, positive: float | None) -> float:
    """Return the lowest rating of a like, by default three quarters up the scale."""
    low, high = train.scale
    limit = low + 0.75 * (high - low) if positive is None else float(positive)
    if not low <= limit <= high:
        raise ParameterError("The 'positive' argument must be a rating within the scale.")
    return limit


def check_k(k: int, m: int) -> None:
    """Raise unless `k` is an integer from 1 to `m`."""
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= m:
        raise ParameterError(f"The 'k' argument must be an integer from 1 to the {m:,} items.")


@dataclass(frozen=True, eq=False, repr=False)
class Fallback:
    """Mean of all ratings, (n,) of each user and (m,) of each item; nan without ratings."""

    mean: float
    users: Floats
    items: Floats

    @classmethod
    def of(cls, train: Ratings) -> "Fallback":
        """Return the means of training ratings."""
        with np.errstate(invalid="ignore"):
            users = np.bincount(train.user, train.value, train.n) / train.per_user
            items = np.bincount(train.item, train.value, train.m) / train.per_item
        return cls(float(np.mean(train.value, dtype=np.float64)), users, items)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return a rating for each pair of positions, -1 for unknown users or items."""
        of_user = np.where(users >= 0, np.append(self.users, np.nan)[users], np.nan)
        of_item = np.where(items >= 0, np.append(self.items, np.nan)[items], np.nan)
        best = np.where(np.isnan(of_user), of_item, of_user)
        return np.where(np.isnan(best), self.mean, best)
