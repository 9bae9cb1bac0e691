"""Who rates high, and what is rated high."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.fallback import Fallback
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, RatingModel, Recommender, positive_of

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
