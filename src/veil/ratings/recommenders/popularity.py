"""What most people like."""

from typing import ClassVar

import numpy as np

from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.fallback import Fallback
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, Model, Recommender, positive_of


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
