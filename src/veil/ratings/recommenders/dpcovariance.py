"""Item directions from a noisy covariance matrix."""

from concurrent.futures import Executor
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.ratings.accounting import Noise, towards_zero
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import State, positive_of
from veil.ratings.recommenders._private import (
    FactorModel,
    PrivateRecommender,
    item_means,
    residuals,
)
from veil.ratings.shards import map_shards, shards

STEPS = 14  # bits of a row
_MOST = 5_000  # items
_BLOCK = 2**25  # bytes of rows at a time
_RIDGE = 0.2


class DPCovariance(PrivateRecommender):
    r"""Learn the strongest directions of a noisy Gram matrix; users fit their vectors at home.

    There are two releases. First, the sums and counts of the items, which one user changes by at
    most :math:`\sqrt{2c}` (L2), c = 100. Second, for rows x_u of ratings minus the item's mean and
    the user's own, clipped to the length `clip`,

    .. math:: G = \sum_u x_u x_u^\top, \qquad
       \lVert x_u x_u^\top \rVert_F = \lVert x_u \rVert^2 \le \mathrm{clip}^2

    with symmetric Gaussian noise on its upper triangle. Each has sigma sqrt(2), sigma being the
    analytic one of (epsilon, delta). Before the noise, which is discrete, all numbers are integer
    steps: see `veil.ratings.accounting`. Proved: (epsilon, delta)-DP of the items' means and
    directions when a user is added or removed.

    References
    ----------
    McSherry, Mironov. Differentially Private Recommender Systems. KDD 2009, Section 4 (whose
    guarantee is stated per rating; here it is per user). doi:10.1145/1557019.1557090
    """

    name: ClassVar[str] = "dpcovariance"
    factors: Annotated[int, Field(ge=1, le=512, description="number of directions")] = 8
    clip: Annotated[
        float, Field(gt=0, description="maximum length of a user's row, in units of ratings")
    ] = 30.0

    @override
    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> FactorModel:
        delta, limit = self.settled(train), positive_of(train, positive)
        self._check(train)
        noise, draws = Noise.of(self.epsilon, delta, 2), generator(rng)
        means = item_means(train, noise, draws)
        _, residual = residuals(train, means)
        total = gram(train, residual, self.clip, executor)
        directions = strongest(self._noisy(total, noise, draws), self.factors)
        return FactorModel(
            str(self),
            train,
            limit,
            self.cost(delta),
            (means, directions),
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

    def _check(self, train: Ratings) -> None:
        if train.m > _MOST:
            raise InputError(
                f"dpcovariance takes at most {_MOST:,} items. Got {train.m:,} instead. Select"
                " some, by public knowledge or with dppopularity."
            )
        if self.factors > train.m:
            raise ParameterError(
                f"The 'factors' parameter of dpcovariance must be at most the {train.m:,} items."
            )

    def _noisy(self, total: Floats, noise: Noise, rng: Generator) -> Floats:
        """Return `total` with noise on its upper triangle, mirrored."""
        upper = np.triu_indices(len(total))
        noisy = np.zeros_like(total)
        noisy[upper] = noise.add(total[upper], 1 << (4 * STEPS), rng)
        return noisy + np.triu(noisy, 1).T


def gram(
    train: Ratings, residual: Floats, clip: float, executor: Executor | None = None
) -> Floats:
    """Return the exact sum (m, m) of x x' over users, in steps of clip^2 / 2^28.

    Integer sums do not depend on the order, so noise is added once, to the total.
    """
    calls = [
        (part, train, residual[train.starts[part.start] : train.starts[part.stop]], clip)
        for part in shards(train.starts)
    ]
    return np.asarray(sum(map_shards(executor, _share, calls)), dtype=np.float64)


def _share(part: slice, train: Ratings, residual: Floats, clip: float) -> Floats:
    """Return the sum (m, m) over some users, given the residuals (N',) of their ratings."""
    total, begin = np.zeros((train.m, train.m)), int(train.starts[part.start])
    step = max(1, _BLOCK // (8 * train.m))
    for first in range(part.start, part.stop, step):
        last = min(first + step, part.stop)
        rows = slice(int(train.starts[first]), int(train.starts[last]))
        block = np.zeros((last - first, train.m))
        own = residual[rows.start - begin : rows.stop - begin]
        block[train.user[rows] - first, train.item[rows]] = own
        whole = cut(block, clip)
        total += whole.T @ whole
    return total


def cut(rows: Floats, clip: float) -> Floats:
    """Return rows in integer steps of clip / 2^14 that are at most `clip` long, exactly."""
    lengths = np.sqrt(np.square(rows).sum(axis=1))
    shrink = 2**STEPS * (1 - 1e-9) / np.maximum(lengths, clip)
    whole = towards_zero(rows * shrink[:, None])
    longest = np.square(whole).sum(axis=1).max(initial=0.0)
    if not longest <= 4**STEPS:
        raise InputError("A row of ratings could not be clipped. Nothing is released.")
    return whole


def strongest(matrix: Floats, factors: int) -> Floats:
    """Return the unit eigenvectors (m, factors) of the largest eigenvalues."""
    _, vectors = np.linalg.eigh(matrix)
    return np.ascontiguousarray(vectors[:, ::-1][:, :factors])
