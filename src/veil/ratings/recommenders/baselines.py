"""Baselines: the mean, popularity, and biases of users and items."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import (
    NOTHING,
    Fallback,
    Model,
    RatingModel,
    Recommender,
    positive_of,
)


class Mean(Recommender):
    """Predict the mean of all training ratings for everybody: a baseline."""

    name: ClassVar[str] = "mean"

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "MeanModel":
        del rng  # deterministic
        return MeanModel(str(self), train, positive_of(train, positive))


class MeanModel(RatingModel):
    """A single number."""

    def __init__(self, spec: str, train: Ratings, positive: float) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.mean = float(np.mean(train.value, dtype=np.float64))

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        del items
        return np.full(len(users), self.mean)


class Popularity(Recommender):
    """Score an item by its number of positive training ratings."""

    name: ClassVar[str] = "popularity"
    implicit: ClassVar[bool] = True

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "PopularityModel":
        del rng  # deterministic
        limit = positive_of(train, positive)
        likes = np.bincount(train.item[train.value >= limit], minlength=train.m)
        return PopularityModel(str(self), train, limit, likes.astype(np.float64))


class PopularityModel(Model):
    """Counts (m,) of likes, the same for every user."""

    def __init__(self, spec: str, train: Ratings, positive: float, likes: Floats) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.likes = likes
        self._fallback = Fallback.of(train)

    @override
    def scores(self, users: Ids) -> Floats:
        return np.broadcast_to(self.likes, (len(users), len(self.likes)))

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        return self._fallback.ratings(users, items)


_SWEEPS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Biases:
    """Mean of all ratings, and offsets of users (n,) and items (m,)."""

    mean: float
    users: Floats
    items: Floats

    @classmethod
    def of(cls, train: Ratings, reg_user: float = 10.0, reg_item: float = 15.0) -> "Biases":
        """Return the biases after ten sweeps over items and users, from 0."""
        mean = float(np.mean(train.value, dtype=np.float64))
        centred = train.value.astype(np.float64) - mean
        users, items = np.zeros(train.n), np.zeros(train.m)
        for _ in range(_SWEEPS):
            sums = np.bincount(train.item, centred - users[train.user], train.m)
            items = sums / (reg_item + train.per_item)
            sums = np.bincount(train.user, centred - items[train.item], train.n)
            users = sums / (reg_user + train.per_user)
        return cls(mean, users, items)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the predictions for pairs of positions."""
        return np.asarray(self.mean + self.users[users] + self.items[items])


class Bias(Recommender):
    r"""Predict :math:`\mu + b_u + b_i`.

    Ten sweeps from 0: :math:`b_i = \sum_u (r_{ui} - \mu - b_u) / (reg\_item + |U_i|)`, then
    :math:`b_u = \sum_i (r_{ui} - \mu - b_i) / (reg\_user + |I_u|)`.
    """

    name: ClassVar[str] = "bias"
    reg_user: Annotated[float, Field(ge=0, description="pseudo-ratings that pull b_u to 0")] = 10.0
    reg_item: Annotated[float, Field(ge=0, description="pseudo-ratings that pull b_i to 0")] = 15.0

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "BiasModel":
        del rng  # deterministic
        biases = Biases.of(train, max(self.reg_user, 1e-9), max(self.reg_item, 1e-9))
        return BiasModel(str(self), train, positive_of(train, positive), biases)


class BiasModel(RatingModel):
    """Biases of users and items."""

    def __init__(self, spec: str, train: Ratings, positive: float, biases: Biases) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.biases = biases
        self._fallback = Fallback.of(train)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        valid = (users >= 0) & (items >= 0)
        return np.where(
            valid, self.biases.ratings(users, items), self._fallback.ratings(users, items)
        )
