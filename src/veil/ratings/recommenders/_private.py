"""What recommenders with differential privacy for users have in common."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.accounting import Noise, checked_delta, towards_zero, weights
from veil.ratings.catalogue import ASSUMED, NEIGHBOURS, catalogue_notes, require_catalogue
from veil.ratings.mechanism import declared_scale
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model, Recommender, State

JOINT = (
    "The bound is joint: what is learnt of the items is public, and each user's own vector and"
    " list, made at home with her own ratings, are for her alone."
)
COUNTED = "The number of users is taken to be public, since delta is made of it."
TUNED = "The choice of parameters and of items is not covered where it was made by the data."
WEIGHT = 100  # c: ratings of a user that count in full
STEPS = 24  # bits of a weight
_LEAST = 20.0  # ratings that an item is taken to have, at least
_SHRINK = 5.0  # ratings of 0 that every user is taken to have besides


class PrivateRecommender(Recommender):
    """Learns with (epsilon, delta)-DP for users, in the central model."""

    sample: ClassVar[dict[str, float]] = {"delta": 1e-6}  # shown where nothing is fitted

    epsilon: Annotated[float, Field(gt=0, description="budget of a user", examples=[1.0])]
    delta: Annotated[
        float | None,
        Field(gt=0, lt=1, description="chance that it is exceeded; else 1/(10 n)"),
    ] = None

    @property
    def guarantee(self) -> Guarantee:
        """DP of a user; known before the data is where delta is given."""
        if self.delta is None:
            return Guarantee(
                "none",
                unit="user",
                caveat="Without 'delta' it is 1/(10 n), and the guarantee is known after a fit.",
            )
        return self.proved(self.delta)

    def proved(self, delta: float) -> Guarantee:
        """Return what is proved at a delta."""
        return Guarantee(
            "dp",
            self.epsilon,
            unit="user",
            delta=delta,
            neighbours=NEIGHBOURS,
            caveat=f"{JOINT} {ASSUMED} {TUNED}",
        )

    def settled(self, train: Ratings) -> float:
        """Refuse data of which nothing could be proved, and return delta."""
        declared_scale(train, self.name)
        require_catalogue(train, self.name)
        return checked_delta(self.delta, train.n)

    def cost(self, delta: float) -> Guarantee:
        """Return what is proved of a fit at a delta that was settled."""
        told = self.proved(delta)
        return told if self.delta is not None else told.with_caveat(COUNTED)


class PrivateModel(Model):
    """A model whose arrays in `public` may be known to everybody; the rest is for its users."""

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        guarantee: Guarantee,
        public: dict[str, Floats],
        *,
        seeded: bool,
    ) -> None:
        super().__init__(spec, train, positive, guarantee, seeded=seeded)
        self.public = public
        self.notes = catalogue_notes(train)

    def state(self) -> State:
        """Return what a file must hold: to learn again would be another release."""
        return dict(self.public)


def item_means(train: Ratings, noise: Noise, rng: Generator) -> Floats:
    """Return noisy means (m,) of the items, on the scale; one release."""
    low, high = train.scale
    middle, half = (low + high) / 2, (high - low) / 2
    noisy = noise.add(item_totals(train), 2 * WEIGHT << (2 * STEPS), rng) / 2**STEPS
    means = middle + half * noisy[0] / np.maximum(noisy[1], _LEAST)
    return np.asarray(np.clip(means, low, high), dtype=np.float64)


def item_totals(train: Ratings) -> Floats:
    """Return the exact sums (2, m) of w r and of w, in steps of 2^-24, of ratings r in [-1, 1].

    One user changes them by at most sqrt(2 c) together, in L2.
    """
    low, high = train.scale
    weight = weights(train.per_user, WEIGHT, STEPS)[train.user].astype(np.float64)
    scaled = np.clip((train.value - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)
    columns = (towards_zero(weight * scaled), weight)
    return np.stack([np.bincount(train.item, column, train.m) for column in columns])


def residuals(train: Ratings, means: Floats) -> tuple[Floats, Floats]:
    """Return offsets (n,) of the users and what is left (N,), each of a user's own ratings."""
    left = np.asarray(train.value - means[train.item], dtype=np.float64)
    offsets = np.bincount(train.user, left, train.n) / (train.per_user + _SHRINK)
    return offsets, left - offsets[train.user]


def fold_in(train: Ratings, left: Floats, factors: Floats, users: Ids, ridge: float) -> Floats:
    """Return the vector (b, f) of each user: a ridge regression on her own ratings."""
    wide = factors.shape[1]
    made = np.empty((len(users), wide))
    for row, user in enumerate(users.tolist()):
        rows = train.rows(user)
        own = factors[train.item[rows]]
        made[row] = np.linalg.solve(own.T @ own + ridge * np.eye(wide), own.T @ left[rows])
    return made


class FactorModel(PrivateModel):
    """Means (m,) and factors (m, f) of the items; vectors of users are made when asked for."""

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        guarantee: Guarantee,
        public: tuple[Floats, Floats],
        *,
        ridge: float,
        seeded: bool,
    ) -> None:
        self.means, self.factors = public
        arrays = {"means": self.means, "factors": self.factors}
        super().__init__(spec, train, positive, guarantee, arrays, seeded=seeded)
        self.ridge = ridge
        self._offsets, self._left = residuals(train, self.means)

    def scores(self, users: Ids) -> Floats:
        """Return predicted ratings (b, m) of all items, unclipped."""
        vectors = fold_in(self.train, self._left, self.factors, users, self.ridge)
        return self.means + self._offsets[users][:, None] + vectors @ self.factors.T

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Predict pairs; a user or an item that is not known counts as average."""
        known, where = np.unique(users[users >= 0], return_inverse=True)
        vectors = np.zeros((len(users), self.factors.shape[1]))
        vectors[users >= 0] = fold_in(self.train, self._left, self.factors, known, self.ridge)[
            where
        ]
        offsets = np.where(users >= 0, np.append(self._offsets, 0.0)[users], 0.0)
        means = np.append(self.means, math.fsum(self.means) / len(self.means))[items]
        factors = np.vstack([self.factors, np.zeros(self.factors.shape[1])])[items]
        return np.asarray(means + offsets + (vectors * factors).sum(axis=1))
