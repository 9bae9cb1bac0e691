"""What is predicted where nothing is known: mean of the user, else of the item, else of all."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Fallback:
    """Mean of all ratings, (n,) of each user and (m,) of each item; nan without a rating."""

    mean: float
    users: Floats
    items: Floats

    @classmethod
    def of(cls, train: Ratings) -> "Fallback":
        """Take the means of training ratings."""
        with np.errstate(invalid="ignore"):
            users = np.bincount(train.user, train.value, train.n) / train.per_user
            items = np.bincount(train.item, train.value, train.m) / train.per_item
        return cls(float(np.mean(train.value, dtype=np.float64)), users, items)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return a rating for each pair of positions, -1 for who or what is not known."""
        of_user = np.where(users >= 0, np.append(self.users, np.nan)[users], np.nan)
        of_item = np.where(items >= 0, np.append(self.items, np.nan)[items], np.nan)
        best = np.where(np.isnan(of_user), of_item, of_user)
        return np.where(np.isnan(best), self.mean, best)
