"""Factors by alternating least squares."""

from concurrent.futures import Executor
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Positions, Ratings
from veil.ratings.recommender import Recommender, State, positive_of
from veil.ratings.recommenders.baselines import Biases
from veil.ratings.recommenders.factors import FactorModel, is_seeded
from veil.ratings.recommenders.kernels import compiled_at_hand, in_shares
from veil.ratings.shards import gather_shards, shard_rows


class ALS(Recommender):
    r"""Fit factors to the residuals of biases, alternating between users and items.

    With e the residuals of `bias`, each user solves :math:`(Q_u^T Q_u + reg |I_u| I) p_u = Q_u^T
    e_u` over her items (ALS-WR), then each item in the same way. The factors of items start from
    N(0, 0.1^2). Rows of one side are independent, so the result is the same with any number of
    threads.

    References
    ----------
    Zhou, Wilkinson, Schreiber, Pan. Large-scale parallel collaborative filtering for the Netflix
    prize. AAIM 2008, section 3.2. doi:10.1007/978-3-540-68880-8_32
    """

    name: ClassVar[str] = "als"
    factors: Annotated[int, Field(ge=1, le=512, description="length of the vectors")] = 32
    reg: Annotated[float, Field(gt=0, description="ridge per rating")] = 0.15
    iterations: Annotated[int, Field(ge=1, description="number of solutions of both sides")] = 10

    @override
    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> FactorModel:
        limit = positive_of(train, positive)
        biases = Biases.of(train)
        user, item = train.user.astype(np.int64), train.item.astype(np.int64)
        residual = np.subtract(train.value, biases.ratings(user, item), dtype=np.float64)
        items = generator(rng).normal(0.0, 0.1, (train.m, self.factors))
        if executor is not None:
            shared = (train, biases, self.reg)
            for _ in range(self.iterations):
                users = gather_shards(executor, share, train.starts, *shared, False, items)
                items = gather_shards(executor, share, train.item_starts, *shared, True, users)
        else:
            order = train.order
            by_item = train.user[order], residual[order]
            for _ in range(self.iterations):
                users = solve(train.starts, train.item, residual, items, self.reg)
                items = solve(train.item_starts, *by_item, users, self.reg)
        return FactorModel(
            *(str(self), train, limit, biases, users.astype(np.float32)),
            items.astype(np.float32),
            seeded=is_seeded(rng),
        )

    @override
    def restore(self, train: Ratings, positive: float, state: State) -> FactorModel:
        return FactorModel.of(str(self), train, positive, state)


def share(
    part: slice, train: Ratings, biases: Biases, reg: float, of_items: bool, fixed: Floats
) -> Floats:
    """Return the factors of some users or items; residuals are computed in the worker."""
    rows, starts = shard_rows(train, part, of_items=of_items)
    other = train.user[rows] if of_items else train.item[rows]
    own = np.repeat(np.arange(part.start, part.stop), np.diff(starts))
    pair = (other, own) if of_items else (own, other)
    residual = np.subtract(
        train.value[rows],
        biases.ratings(*(positions.astype(np.int64) for positions in pair)),
        dtype=np.float64,
    )
    return solve(starts, other, residual, fixed, reg)


def solve(starts: Ids, other: Positions, value: Floats, fixed: Floats, reg: float) -> Floats:
    """Return the ridge solution (rows, f) of each row against the fixed other side."""
    width = fixed.shape[1]
    solved = np.zeros((len(starts) - 1, width))
    counts = np.diff(starts)
    if compiled_at_hand():
        from veil.ratings.recommenders import _fused_factors

        def work(first: int, last: int) -> None:
            _fused_factors.ridge(starts, other, value, fixed, reg, first, last, solved)

        in_shares(work, counts * width + width * width)
        return solved
    for row in np.flatnonzero(counts).tolist():
        part = slice(int(starts[row]), int(starts[row + 1]))
        q = fixed[other[part]]
        gram = q.T @ q + reg * counts[row] * np.eye(width)
        solved[row] = np.linalg.solve(gram, q.T @ value[part])
    return solved
