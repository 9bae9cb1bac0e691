"""Factors by stochastic gradient descent, in blocks without common users or items."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.parallel import Threads
from veil.core.rng import Randomness, generator
from veil.core.types import Ids, Singles
from veil.ratings.ratings import Positions, Ratings
from veil.ratings.recommender import Recommender, State, positive_of
from veil.ratings.recommenders.baselines import Biases
from veil.ratings.recommenders.factors import FactorModel, is_seeded
from veil.ratings.recommenders.kernels import LITTLE, compiled_at_hand

GROUPS = 8  # of users, and of items
Groups = NDArray[np.uint8]
_LANES = 32  # numbers per step of a compiled loop; vectors are padded with zeros


class SGD(Recommender):
    r"""Fit biases and factors rating by rating, along the gradient of the squared error.

    With :math:`e = r - \mu - b_u - b_i - p_u^T q_i`: :math:`b_u \mathrel{+}= rate (e - reg\,b_u)`,
    :math:`p_u \mathrel{+}= rate (e q_i - reg\,p_u)`, and the same for the item. Users and items
    are in 8 random groups each. The 64 blocks of ratings run as 8 strata of 8 blocks without
    common users or items, so the result is the same with any number of threads.

    References
    ----------
    Koren, Bell, Volinsky. Matrix factorization techniques for recommender systems. Computer 42(8),
    2009. doi:10.1109/MC.2009.263
    Gemulla, Nijkamp, Haas, Sismanis. Large-scale matrix factorization with distributed stochastic
    gradient descent. KDD 2011, section 4. doi:10.1145/2020408.2020426
    """

    name: ClassVar[str] = "sgd"
    factors: Annotated[int, Field(ge=1, le=1024, description="length of the vectors")] = 50
    rate: Annotated[float, Field(gt=0, le=1, description="length of a step")] = 0.01
    reg: Annotated[float, Field(ge=0, description="regularisation")] = 0.1
    epochs: Annotated[int, Field(ge=1, description="passes over the ratings")] = 20

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> FactorModel:
        limit = positive_of(train, positive)
        blocks = Blocks(train, self.factors, generator(rng))
        with Threads() as threads:
            for _ in range(self.epochs):
                blocks.run(self.rate, self.reg, threads)
        biases = Biases(blocks.mean, *(array.astype(np.float64) for array in blocks.biases()))
        users, items = blocks.factors()
        return FactorModel(str(self), train, limit, biases, users, items, seeded=is_seeded(rng))

    @override
    def restore(self, train: Ratings, positive: float, state: State) -> FactorModel:
        return FactorModel.of(str(self), train, positive, state)


class Blocks:
    """Ratings in 8 x 8 blocks, with users and items sorted by their groups."""

    def __init__(self, train: Ratings, factors: int, draws: Generator) -> None:
        self._train, self._width = train, factors
        self.mean = float(np.mean(train.value, dtype=np.float64))
        self._user_at, user_group = _dealt(train.n, draws)
        self._item_at, item_group = _dealt(train.m, draws)
        block = user_group[train.user] * np.uint8(GROUPS) + item_group[train.item]
        order = _ordered(block, self._item_at[train.item])
        self._user: Positions = self._user_at[train.user[order]]
        self._item: Positions = self._item_at[train.item[order]]
        self._value = train.value[order].astype(np.float32)
        counts = np.bincount(block, minlength=GROUPS * GROUPS)
        self._starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        self._p, self._q = (_zeros(size, factors) for size in (train.n, train.m))
        self._p[:, :factors] = draws.normal(0.0, 0.1, (train.n, factors))
        self._q[:, :factors] = draws.normal(0.0, 0.1, (train.m, factors))
        self._bu, self._bi = np.zeros(train.n, np.float32), np.zeros(train.m, np.float32)
        self._waves: dict[int, list[Ids]] = {}

    def run(self, rate: float, reg: float, threads: Threads) -> None:
        """Run one epoch over all ratings, stratum by stratum."""
        kernel = self._kernel(np.float32(rate), np.float32(reg))
        first = np.arange(GROUPS)
        strata = [first * GROUPS + (first + shift) % GROUPS for shift in range(GROUPS)]
        if len(self._value) < LITTLE // GROUPS:
            kernel(np.concatenate(strata))
            return
        for stratum in strata:
            threads.run(lambda part, blocks=stratum: kernel(blocks[part]), GROUPS)  # type: ignore[misc]

    def _kernel(self, rate: np.float32, reg: np.float32) -> Callable[[Ids], None]:
        if not compiled_at_hand():
            return partial(self._stepped, rate, reg)
        from veil.ratings.recommenders import _fused_factors

        mean = np.float32(self.mean)

        def steps(blocks: Ids) -> None:
            _fused_factors.descend(
                *(self._user, self._item, self._value, self._starts, blocks),
                *(self._p, self._q, self._bu, self._bi, mean, rate, reg),
            )

        return steps

    def _stepped(self, rate: np.float32, reg: np.float32, blocks: Ids) -> None:
        """Step wave by wave: the ratings of a wave have no common users or items."""
        for rows in chain.from_iterable(self._waves_of(block) for block in blocks.tolist()):
            u, i = self._user[rows], self._item[rows]
            p, q = self._p[u], self._q[i]
            error = self._value[rows] - np.float32(self.mean) - self._bu[u] - self._bi[i]
            error -= np.einsum("nf,nf->n", p, q)
            self._bu[u] += rate * (error - reg * self._bu[u])
            self._bi[i] += rate * (error - reg * self._bi[i])
            step = (rate * error)[:, None]
            self._p[u] = (1 - rate * reg) * p + step * q
            self._q[i] = (1 - rate * reg) * q + step * p

    def _waves_of(self, block: int) -> list[Ids]:
        if block not in self._waves:
            part = slice(int(self._starts[block]), int(self._starts[block + 1]))
            self._waves[block] = waves(self._user[part], self._item[part], part.start)
        return self._waves[block]

    def biases(self) -> tuple[Singles, Singles]:
        """Return the biases of users and items, in the original order."""
        return self._bu[self._user_at], self._bi[self._item_at]

    def factors(self) -> tuple[Singles, Singles]:
        """Return the factors in the original order; 0 without ratings."""
        train = self._train
        users = self._p[self._user_at, : self._width] * (train.per_user > 0)[:, None]
        items = self._q[self._item_at, : self._width] * (train.per_item > 0)[:, None]
        return users.astype(np.float32), items.astype(np.float32)


def _zeros(rows: int, factors: int) -> Singles:
    """Return zeros (rows, padded) whose rows begin at cache lines."""
    lanes = _LANES if factors > _LANES // 2 else _LANES // 4
    padded = -(-factors // lanes) * lanes
    room = np.zeros(rows * padded + 16, dtype=np.float32)
    first = -(room.ctypes.data // 4) % 16
    return room[first : first + rows * padded].reshape(rows, padded)


def _ordered(block: Groups, item: Positions) -> Ids:
    """Return the order by block, then item, which keeps the row of an item in the cache.

    It is a radix sort of small integers.
    """
    small = np.uint16 if len(item) and item.max() < 2**16 else np.int32
    by_item = np.argsort(item.astype(small), kind="stable")
    order: Ids = by_item[np.argsort(block[by_item], kind="stable")]
    return order


def _dealt(size: int, draws: Generator) -> tuple[Positions, Groups]:
    """Return the position (size,) of each row in a random order, and its group."""
    place = draws.permutation(size).astype(np.int32)
    return place, (place.astype(np.int64) * GROUPS // max(size, 1)).astype(np.uint8)


def waves(user: Positions, item: Positions, first: int) -> list[Ids]:
    """Split ratings into waves without repeated users or items."""
    busy_user: dict[int, int] = {}
    busy_item: dict[int, int] = {}
    layers: list[list[int]] = []
    for at, (u, i) in enumerate(zip(user.tolist(), item.tolist(), strict=True), start=first):
        busy = busy_user.get(u, 0) | busy_item.get(i, 0)
        free = ~busy & (busy + 1)  # the lowest clear bit
        busy_user[u] = busy_user.get(u, 0) | free
        busy_item[i] = busy_item.get(i, 0) | free
        wave = free.bit_length() - 1
        if wave == len(layers):
            layers.append([])
        layers[wave].append(at)
    return [np.array(rows, dtype=np.int64) for rows in layers]
