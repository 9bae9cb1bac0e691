"""Factors by alternating least squares."""

from concurrent.futures import Executor
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Positions, Ratings
from veil.ratings.recommender import Recommender, State, positive_of
from veil.ratings.recommenders.baselines import Biases
from veil.ratings.recommenders.factors import FactorModel, is_seeded
from veil.ratings.recommenders.kernels import compiled_at_hand, in_shares
from veil.ratings.shards import gather_shards, shard_rows


class ALS(Recommender):
    r"""Fit factors to what biases leave, one side at a time.

    With e the residuals of `bias`, each user solves :math:`(Q_u^T Q_u + reg |I_u| I) p_u = Q_u^T
    e_u` over the items of hers (ALS-WR), then each item in the same way; the factors of items
    begin as N(0, 0.1^2). A row does not depend on the others of its side: the result is the same
    with any number of threads.

    References
    ----------
    Zhou, Wilkinson, Schreiber, Pan. Large-scale parallel collaborative filtering for the Netflix
    prize. AAIM 2008, section 3.2. doi:10.1007/978-3-540-68880-8_32
    """

    name: ClassVar[str] = "als"
    factors: Annotated[int, Field(ge=1, le=512, description="length of the vectors")] = 32
    reg: Annotated[float, Field(gt=0, description="ridge per rating")] = 0.15
    iterations: Annotated[int, Field(ge=1, description="times both sides are solved")] = 10

    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> FactorModel:
        """Solve for users and items in turn; an executor solves shards of each side."""
        chosen = positive_of(train, positive)
        biases = Biases.of(train)
        user, item = train.user.astype(np.int64), train.item.astype(np.int64)
        left = np.subtract(train.value, biases.ratings(user, item), dtype=np.float64)
        items = generator(rng).normal(0.0, 0.1, (train.m, self.factors))
        if executor is not None:
            shared = (train, biases, self.reg)
            for _ in range(self.iterations):
                users = gather_shards(executor, share, train.starts, *shared, False, items)
                items = gather_shards(executor, share, train.item_starts, *shared, True, users)
        else:
            order = train.order
            by_item = train.user[order], left[order]
            for _ in range(self.iterations):
                users = solve(train.starts, train.item, left, items, self.reg)
                items = solve(train.item_starts, *by_item, users, self.reg)
        return FactorModel(
            *(str(self), train, chosen, biases, users.astype(np.float32)),
            items.astype(np.float32),
            seeded=is_seeded(rng),
        )

    def restore(self, train: Ratings, positive: float, state: State) -> FactorModel:
        """Take the factors."""
        return FactorModel.of(str(self), train, positive, state)


def share(
    part: slice, train: Ratings, biases: Biases, reg: float, of_items: bool, fixed: Floats
) -> Floats:
    """Solve some users, or items, in a worker, which has the ratings but no residuals."""
    rows, starts = shard_rows(train, part, of_items=of_items)
    other = train.user[rows] if of_items else train.item[rows]
    own = np.repeat(np.arange(part.start, part.stop), np.diff(starts))
    pair = (other, own) if of_items else (own, other)
    left = np.subtract(
        train.value[rows],
        biases.ratings(*(one.astype(np.int64) for one in pair)),
        dtype=np.float64,
    )
    return solve(starts, other, left, fixed, reg)


def solve(starts: Ids, other: Positions, value: Floats, fixed: Floats, reg: float) -> Floats:
    """Return the ridge solution (rows, f) of each row against the fixed factors of the others."""
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
