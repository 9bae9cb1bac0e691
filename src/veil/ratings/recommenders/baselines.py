"""Baselines: the mean, popularity, and biases of users and items."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

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
    """Predict the mean of all training ratings for everybody: what others must beat."""

    name: ClassVar[str] = "mean"

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "MeanModel":
        """Take the mean."""
        del rng  # nothing is drawn
        return MeanModel(str(self), train, positive_of(train, positive))


class MeanModel(RatingModel):
    """One number."""

    def __init__(self, spec: str, train: Ratings, positive: float) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.mean = float(np.mean(train.value, dtype=np.float64))

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the mean."""
        del items
        return np.full(len(users), self.mean)


class Popularity(Recommender):
    """Score an item by its number of positive training ratings."""

    name: ClassVar[str] = "popularity"
    implicit: ClassVar[bool] = True

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "PopularityModel":
        """Count the likes of each item."""
        del rng  # nothing is drawn
        chosen = positive_of(train, positive)
        likes = np.bincount(train.item[train.value >= chosen], minlength=train.m)
        return PopularityModel(str(self), train, chosen, likes.astype(np.float64))


class PopularityModel(Model):
    """Counts (m,) of likes, the same for everybody."""

    def __init__(self, spec: str, train: Ratings, positive: float, likes: Floats) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.likes = likes
        self._fallback = Fallback.of(train)

    def scores(self, users: Ids) -> Floats:
        """Return the same counts for every user."""
        return np.broadcast_to(self.likes, (len(users), len(self.likes)))

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the fallback: counts are no ratings."""
        return self._fallback.ratings(users, items)


_SWEEPS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Biases:
    """Mean of all ratings, and what users (n,) and items (m,) add to it."""

    mean: float
    users: Floats
    items: Floats

    @classmethod
    def of(cls, train: Ratings, reg_user: float = 10.0, reg_item: float = 15.0) -> "Biases":
        """Sweep over items and users ten times, beginning with nothing."""
        mean = float(np.mean(train.value, dtype=np.float64))
        left = train.value.astype(np.float64) - mean
        users, items = np.zeros(train.n), np.zeros(train.m)
        for _ in range(_SWEEPS):
            sums = np.bincount(train.item, left - users[train.user], train.m)
            items = sums / (reg_item + train.per_item)
            sums = np.bincount(train.user, left - items[train.item], train.n)
            users = sums / (reg_user + train.per_user)
        return cls(mean, users, items)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the sums for pairs of positions."""
        return np.asarray(self.mean + self.users[users] + self.items[items])


class Bias(Recommender):
    r"""Predict :math:`\mu + b_u + b_i`.

    Ten sweeps from 0: :math:`b_i = \sum_u (r_{ui} - \mu - b_u) / (reg\_item + |U_i|)`, then
    :math:`b_u = \sum_i (r_{ui} - \mu - b_i) / (reg\_user + |I_u|)`.
    """

    name: ClassVar[str] = "bias"
    reg_user: Annotated[float, Field(ge=0, description="ratings of nobody that pull b_u to 0")] = (
        10.0
    )
    reg_item: Annotated[float, Field(ge=0, description="ratings of nobody that pull b_i to 0")] = (
        15.0
    )

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "BiasModel":
        """Sweep."""
        del rng  # nothing is drawn
        biases = Biases.of(train, max(self.reg_user, 1e-9), max(self.reg_item, 1e-9))
        return BiasModel(str(self), train, positive_of(train, positive), biases)


class BiasModel(RatingModel):
    """Biases of users and items."""

    def __init__(self, spec: str, train: Ratings, positive: float, biases: Biases) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self.biases = biases
        self._fallback = Fallback.of(train)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the sums; the fallback for who or what is not known."""
        known = (users >= 0) & (items >= 0)
        return np.where(
            known, self.biases.ratings(users, items), self._fallback.ratings(users, items)
        )
