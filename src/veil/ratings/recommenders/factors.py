"""Factor models: a rating is a mean, two biases and a product of two vectors."""

import numpy as np
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids, Singles
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, Fallback, RatingModel, State
from veil.ratings.recommenders.baselines import Biases


class FactorModel(RatingModel):
    """Biases, and factors of users (n, f) and items (m, f), both 0 without ratings."""

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        biases: Biases,
        users: Singles,
        items: Singles,
        *,
        seeded: bool,
    ) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=seeded)
        self.biases, self.users, self.items = biases, users, items
        self._fallback = Fallback.of(train)

    @override
    def scores(self, users: Ids) -> Floats:
        product = (self.users[users] @ self.items.T).astype(np.float64)
        product += self.biases.items
        product += self.biases.mean + self.biases.users[users][:, None]
        return product

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        values = self._fallback.ratings(users, items)
        valid = np.flatnonzero((users >= 0) & (items >= 0))
        u, i = users[valid], items[valid]
        product = np.einsum("nf,nf->n", self.users[u], self.items[i], dtype=np.float64)
        values[valid] = self.biases.ratings(u, i) + product
        return values

    @override
    def state(self) -> State:
        return {
            "mean": np.array([self.biases.mean]),
            "user_biases": self.biases.users,
            "item_biases": self.biases.items,
            "users": self.users,
            "items": self.items,
        }

    @classmethod
    def of(cls, spec: str, train: Ratings, positive: float, state: State) -> "FactorModel":
        """Return the model of a `state`."""
        check_state(state, train, "users", "items")
        own, other = (
            np.asarray(state[name], dtype=np.float64) for name in ("user_biases", "item_biases")
        )
        biases = Biases(float(state["mean"][0]), own, other)
        users, items = (np.asarray(state[name], dtype=np.float32) for name in ("users", "items"))
        return cls(spec, train, positive, biases, users, items, seeded=False)


def check_state(state: State, train: Ratings, users: str, items: str) -> None:
    """Raise unless factors belong to these users and items."""
    if state[users].shape != (train.n, state[items].shape[1]) or len(state[items]) != train.m:
        raise InputError("The model does not fit the ratings. Pass those it was trained on.")


def is_seeded(rng: Randomness) -> bool:
    """Return whether the draws are reproducible."""
    return rng is not None
