"""Shared parts of recommenders with user-level differential privacy."""

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
    "The bound is joint: the model of the items is public, and each user's vector and list,"
    " computed at home from her own ratings, are for her only."
)
UNKNOWN = "The default 'delta' is 1/(10 n), so the guarantee is known only after a fit."
COUNTED = "The number of users is assumed to be public, since delta depends on it."
TUNED = "The guarantee does not cover a choice of parameters and items that uses the data."
WEIGHT = 100  # c: number of a user's ratings that count in full
STEPS = 24  # bits of a weight
_LEAST = 20.0  # least number of ratings of an item in a mean
_SHRINK = 5.0  # pseudo-ratings of 0 for every user


class PrivateRecommender(Recommender):
    """Learns with (epsilon, delta)-DP for users, in the central model."""

    sample: ClassVar[dict[str, float]] = {"delta": 1e-6}  # for examples without a fit

    epsilon: Annotated[float, Field(gt=0, description="budget of a user", examples=[1.0])]
    delta: Annotated[
        float | None,
        Field(gt=0, lt=1, description="probability of a larger loss; by default 1/(10 n)"),
    ] = None

    @property
    def guarantee(self) -> Guarantee:
        """DP of a user; known before a fit only if delta is set."""
        if self.delta is None:
            return Guarantee(
                "none",
                unit="user",
                caveat=UNKNOWN,
            )
        return self.proved(self.delta)

    def proved(self, delta: float) -> Guarantee:
        """Return the guarantee for a given delta."""
        return Guarantee(
            "dp",
            self.epsilon,
            unit="user",
            delta=delta,
            neighbours=NEIGHBOURS,
            caveat=f"{JOINT} {ASSUMED} {TUNED}",
        )

    def settled(self, train: Ratings) -> float:
        """Return delta, or raise if nothing can be proved for the data."""
        declared_scale(train, self.name)
        require_catalogue(train, self.name)
        return checked_delta(self.delta, train.n)

    def cost(self, delta: float) -> Guarantee:
        """Return the guarantee of a fit with a delta from `settled`."""
        guarantee = self.proved(delta)
        return guarantee if self.delta is not None else guarantee.with_caveat(COUNTED)


class PrivateModel(Model):
    """A model whose arrays in `public` may be published; the rest is for its users only."""

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
        """Return the public arrays: fitting again would be another release."""
        return dict(self.public)


def item_means(train: Ratings, noise: Noise, rng: Generator) -> Floats:
    """Return noisy means (m,) of the items, within the scale; this is one release."""
    low, high = train.scale
    middle, half = (low + high) / 2, (high - low) / 2
    noisy = noise.add(item_totals(train), 2 * WEIGHT << (2 * STEPS), rng) / 2**STEPS
    means = middle + half * noisy[0] / np.maximum(noisy[1], _LEAST)
    return np.asarray(np.clip(means, low, high), dtype=np.float64)


def item_totals(train: Ratings) -> Floats:
    """Return exact sums (2, m) of w r and w, in steps of 2^-24, for ratings r in [-1, 1].

    One user changes them by at most sqrt(2 c) in total, in L2.
    """
    low, high = train.scale
    weight = weights(train.per_user, WEIGHT, STEPS)[train.user].astype(np.float64)
    scaled = np.clip((train.value - (low + high) / 2) / ((high - low) / 2), -1.0, 1.0)
    columns = (towards_zero(weight * scaled), weight)
    return np.stack([np.bincount(train.item, column, train.m) for column in columns])


def residuals(train: Ratings, means: Floats) -> tuple[Floats, Floats]:
    """Return user offsets (n,) and residuals (N,); both use only the user's own ratings."""
    centred = np.asarray(train.value - means[train.item], dtype=np.float64)
    offsets = np.bincount(train.user, centred, train.n) / (train.per_user + _SHRINK)
    return offsets, centred - offsets[train.user]


def fold_in(train: Ratings, residual: Floats, factors: Floats, users: Ids, ridge: float) -> Floats:
    """Return the vector (b, f) of each user by ridge regression on her own ratings."""
    wide = factors.shape[1]
    vectors = np.empty((len(users), wide))
    for row, user in enumerate(users.tolist()):
        rows = train.rows(user)
        own = factors[train.item[rows]]
        vectors[row] = np.linalg.solve(own.T @ own + ridge * np.eye(wide), own.T @ residual[rows])
    return vectors


class FactorModel(PrivateModel):
    """Means (m,) and factors (m, f) of the items; vectors of users are computed on demand."""

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
        self._offsets, self._residual = residuals(train, self.means)

    def scores(self, users: Ids) -> Floats:
        vectors = fold_in(self.train, self._residual, self.factors, users, self.ridge)
        return self.means + self._offsets[users][:, None] + vectors @ self.factors.T

    def ratings(self, users: Ids, items: Ids) -> Floats:
        distinct, where = np.unique(users[users >= 0], return_inverse=True)
        vectors = np.zeros((len(users), self.factors.shape[1]))
        vectors[users >= 0] = fold_in(
            self.train, self._residual, self.factors, distinct, self.ridge
        )[where]
        offsets = np.where(users >= 0, np.append(self._offsets, 0.0)[users], 0.0)
        means = np.append(self.means, math.fsum(self.means) / len(self.means))[items]
        factors = np.vstack([self.factors, np.zeros(self.factors.shape[1])])[items]
        return np.asarray(means + offsets + (vectors * factors).sum(axis=1))
