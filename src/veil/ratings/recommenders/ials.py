"""Factors for implicit feedback: likes, with all other pairs as weak dislikes."""

from concurrent.futures import Executor
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids, Singles
from veil.ratings.ratings import Likes, Positions, Ratings
from veil.ratings.recommender import NOTHING, Fallback, Model, Recommender, State, positive_of
from veil.ratings.recommenders.factors import check_state, is_seeded
from veil.ratings.recommenders.kernels import compiled_at_hand, in_shares
from veil.ratings.shards import gather_shards, shard_rows

_STEPS = 3  # of conjugate gradients


class IALS(Recommender):
    r"""Fit factors to likes (1) and all other pairs (0), likes with confidence 1 + alpha.

    Each user takes three conjugate-gradient steps from her last value on
    :math:`(Q^T Q + reg I + alpha Q_u^T Q_u) p_u = (1 + alpha) Q_u^T 1`, then each item in the same
    way. Rows of one side are independent.

    References
    ----------
    Hu, Koren, Volinsky. Collaborative filtering for implicit feedback datasets. ICDM 2008,
    equation 4. doi:10.1109/ICDM.2008.22
    Takacs, Pilaszy, Tikk. Applications of the conjugate gradient method for implicit feedback
    collaborative filtering. RecSys 2011. doi:10.1145/2043932.2043987
    """

    name: ClassVar[str] = "ials"
    implicit: ClassVar[bool] = True
    factors: Annotated[int, Field(ge=1, le=1024, description="length of the vectors")] = 64
    reg: Annotated[float, Field(gt=0, description="ridge")] = 0.01
    alpha: Annotated[float, Field(gt=0, description="added confidence of a like")] = 1.0
    iterations: Annotated[int, Field(ge=1, description="number of solutions of both sides")] = 15

    @override
    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> "IALSModel":
        limit = positive_of(train, positive)
        likes = Likes.of(train, limit)
        draws = generator(rng)
        users, items = (
            draws.normal(0.0, 0.1, (size, self.factors)).astype(np.float32)
            for size in (train.n, train.m)
        )
        weights = (self.reg, self.alpha)
        for _ in range(self.iterations):
            if executor is None:
                step(likes.by_user, likes.liked, items, *weights, users)
                step(likes.by_item, likes.likers, users, *weights, items)
            else:
                shared = (train, limit, *weights)
                gram = gram_of(items, self.reg)
                users = gather_shards(
                    executor, share, train.starts, *shared, False, items, users, gram
                )
                gram = gram_of(users, self.reg)
                items = gather_shards(
                    executor, share, train.item_starts, *shared, True, users, items, gram
                )
        return IALSModel(str(self), train, limit, users, items, seeded=is_seeded(rng))

    @override
    def restore(self, train: Ratings, positive: float, state: State) -> "IALSModel":
        check_state(state, train, "users", "items")
        users, items = (np.asarray(state[name], dtype=np.float32) for name in ("users", "items"))
        return IALSModel(str(self), train, positive, users, items, seeded=False)


class IALSModel(Model):
    """Factors of users (n, f) and items (m, f)."""

    def __init__(
        self,
        spec: str,
        train: Ratings,
        positive: float,
        users: Singles,
        items: Singles,
        *,
        seeded: bool,
    ) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=seeded)
        self.users, self.items = users, items
        self._fallback = Fallback.of(train)

    @override
    def scores(self, users: Ids) -> Floats:
        return (self.users[users] @ self.items.T).astype(np.float64)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        return self._fallback.ratings(users, items)

    @override
    def state(self) -> State:
        return {"users": self.users, "items": self.items}


def share(
    part: slice,
    train: Ratings,
    positive: float,
    reg: float,
    alpha: float,
    of_items: bool,
    fixed: Singles,
    x: Singles,
    gram: Singles,
) -> Singles:
    """Return the factors of some users or items after a step, in a worker."""
    rows, starts = shard_rows(train, part, of_items=of_items)
    liked = np.flatnonzero(train.value[rows] >= positive)
    other = (train.user[rows] if of_items else train.item[rows])[liked]
    own = x[part].copy()
    step(np.searchsorted(liked, starts).astype(np.int64), other, fixed, reg, alpha, own, gram)
    return own


def gram_of(fixed: Singles, reg: float) -> Singles:
    """Return Q^T Q + reg I, once for all workers: its rounding depends on the threads."""
    gram: Singles = fixed.T @ fixed
    return gram + np.float32(reg) * np.eye(fixed.shape[1], dtype=np.float32)


def step(
    starts: Ids,
    other: Positions,
    fixed: Singles,
    reg: float,
    alpha: float,
    x: Singles,
    gram: Singles | None = None,
) -> None:
    """Take three conjugate-gradient steps on the rows `x` (n, f), in place."""
    width = fixed.shape[1]
    gram = gram_of(fixed, reg) if gram is None else gram
    if compiled_at_hand():
        from veil.ratings.recommenders import _fused_factors

        def work(first: int, last: int) -> None:
            _fused_factors.conjugate(
                starts, other, fixed, gram, np.float32(alpha), _STEPS, first, last, x
            )

        in_shares(work, (np.diff(starts) * 2 + width) * width * _STEPS)
        return
    for row in range(len(x)):
        near = fixed[other[starts[row] : starts[row + 1]]]
        x[row] = _stepped(near, gram, alpha, x[row]) if len(near) else 0.0


def _stepped(near: Singles, gram: Singles, alpha: float, x: Singles) -> Singles:
    residual = -(gram @ x) + near.T @ (1 + alpha - alpha * (near @ x))
    direction, old = residual, float(residual @ residual)
    for _ in range(_STEPS):
        if old < 1e-20:
            break
        image = gram @ direction + alpha * (near.T @ (near @ direction))
        length = old / float(direction @ image)
        x, residual = x + length * direction, residual - length * image
        new = float(residual @ residual)
        direction, old = residual + new / old * direction, new
    return x
