"""The mean of all ratings."""

from typing import ClassVar

import numpy as np

from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, RatingModel, Recommender, positive_of


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
