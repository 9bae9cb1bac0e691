"""Neighbourhoods: items that the same users like, and users with the same taste."""

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Likes, Ratings, spread, starts
from veil.ratings.recommender import (
    NOTHING,
    Fallback,
    Model,
    RatingModel,
    Recommender,
    positive_of,
)
from veil.ratings.recommenders.kernels import compiled_at_hand, in_shares
from veil.ratings.shards import map_shards, shards

Index = NDArray[np.int32]
MOST = 1_000  # maximum number of counted likes of a user: pairs grow with the square


@dataclass(frozen=True, eq=False, repr=False)
class ItemLists:
    """The k nearest items (m, k) of each item, best first, and their cosines; -1 and 0 pad.

    `capped` is the number of users with more than 1,000 likes, of which the first 1,000 count.
    """

    index: Index
    sims: Floats
    capped: int = 0

    @classmethod
    def of(cls, likes: Likes, k: int, first: int = 0, last: int | None = None) -> "ItemLists":
        """Return the lists of the items first..last-1; ties go to the smaller position."""
        m = len(likes.by_item) - 1
        end = m if last is None else last
        likes, capped = _capped(likes)
        index = np.full((m, k), -1, dtype=np.int32)
        sims = np.zeros((m, k))
        if compiled_at_hand():
            _fused(likes, k, first, end, index, sims)
        else:
            for item in range(first, end):
                _fill_list(likes, item, index[item], sims[item])
        return cls(index[first:end], sims[first:end], capped)

    @cached_property
    def _listed(self) -> tuple[Ids, Index, Floats]:
        """Return, for each item, the items that list it, with their cosines."""
        m, k = self.index.shape
        flat = self.index.ravel()
        real = np.flatnonzero(flat >= 0)
        order = real[np.argsort(flat[real], kind="stable")]
        return starts(flat[real], m), (order // k).astype(np.int32), self.sims.ravel()[order]

    def scores(self, likes: Likes, users: Ids) -> Floats:
        """Return, for users (b,), the sums (b, m) of the cosines of each item to their likes."""
        by_item, listed, weights = self._listed
        scores = np.zeros((len(users), len(self.index)))
        if compiled_at_hand():
            from veil.ratings.recommenders import _fused_neighbours

            _fused_neighbours.list_scores(
                *(by_item, listed, weights, likes.by_user, likes.liked),
                *(np.asarray(users, dtype=np.int64), 0, len(users), scores),
            )
            return scores
        for row, user in enumerate(users.tolist()):
            own = likes.liked[likes.by_user[user] : likes.by_user[user + 1]]
            rows, _ = spread(by_item[own], by_item[own + 1])
            scores[row] = np.bincount(listed[rows], weights[rows], len(self.index))
        return scores


def _capped(likes: Likes) -> tuple[Likes, int]:
    """Return likes with at most the first `MOST` of each user, and the number of users cut."""
    many = likes.per_user > MOST
    if not many.any():
        return likes, 0
    ends = np.minimum(likes.by_user[1:], likes.by_user[:-1] + MOST)
    rows, user = spread(likes.by_user[:-1], ends)
    item, people = likes.liked[rows], user.astype(np.int32)
    order = np.argsort(item, kind="stable")
    n, m = len(ends), len(likes.by_item) - 1
    return Likes(starts(people, n), item, starts(item, m), people[order]), int(many.sum())


def _fused(likes: Likes, k: int, first: int, last: int, index: Index, sims: Floats) -> None:
    from veil.ratings.recommenders import _fused_neighbours

    def work(begin: int, end: int) -> None:
        _fused_neighbours.nearest_items(
            *(likes.by_item, likes.likers, likes.by_user, likes.liked),
            *(k, first + begin, first + end, index, sims),
        )

    ends = np.concatenate([[0], np.cumsum(likes.per_user[likes.likers])])
    costs = np.diff(ends[likes.by_item])[first:last]
    in_shares(work, costs)


def _fill_list(likes: Likes, item: int, index: Index, sims: Floats) -> None:
    own = likes.likers[likes.by_item[item] : likes.by_item[item + 1]]
    rows, _ = spread(likes.by_user[own], likes.by_user[own + 1])
    sizes = likes.per_item
    common = np.bincount(likes.liked[rows], minlength=len(sizes))
    common[item] = 0
    near = np.flatnonzero(common)
    keys = common[near].astype(np.float64) ** 2 / sizes[near]
    nearest = np.argsort(-keys, kind="stable")[: len(index)]
    index[: len(nearest)] = near[nearest]
    sims[: len(nearest)] = np.sqrt(keys[nearest] / len(own))


class Neighbours(Recommender):
    r"""Shared parameters of user and item neighbourhoods.

    The similarity of two rows uses only their common columns,
    :math:`\sum xy / \sqrt{\sum x^2 \sum y^2}`, times :math:`c / (c + shrinkage)` for c common
    columns. For Pearson, the mean of each row over all its ratings is subtracted first.
    """

    k: Annotated[int, Field(ge=0, description="neighbours; 0 takes all")] = 40
    similarity: Annotated[
        Literal["cosine", "pearson"], Field(description="measure of similarity")
    ] = "cosine"
    centre: Annotated[
        Literal["mean", "none"], Field(description="subtract the means of ratings, or not")
    ] = "mean"
    shrinkage: Annotated[
        float, Field(ge=0, description="pulls similarities from few ratings to 0")
    ] = 0.0
    min_common: Annotated[int, Field(ge=1, description="columns that two rows must share")] = 1


class Rows:
    """Ratings by row and by column, with the means of the rows."""

    def __init__(
        self, train: Ratings, spec: Neighbours, *, transposed: bool, signed: bool
    ) -> None:
        self.spec, self.signed = spec, signed
        row, column, value = train.user, train.item, train.value.astype(np.float64)
        order = train.order
        if transposed:
            row, column, value = train.item[order], train.user[order], value[order]
            order = np.argsort(column, kind="stable")
            self.starts, self.by_column = train.item_starts, train.starts
        else:
            self.starts, self.by_column = train.starts, train.item_starts
        counts = np.diff(self.starts)
        self.means = np.bincount(row, value, len(counts)) / np.maximum(counts, 1)
        self.columns = column
        self.shifted = value - self.means[row] if spec.similarity == "pearson" else value
        self.rows, self.column_shifted = row[order], self.shifted[order]
        centred = value - self.means[row] if spec.centre == "mean" else value
        self.column_values = centred[order]
        self.mean = float(value.mean())

    def predict(self, rows: Ids, columns: Ids) -> Floats:
        """Return ratings of pairs of positions; without neighbours the row mean, or mu."""
        order = np.argsort(rows, kind="stable")
        groups, first = np.unique(rows[order], return_index=True)
        starts = np.append(first, len(rows)).astype(np.int64)
        values = np.empty(len(rows))
        targets = columns[order]
        if compiled_at_hand():
            self._fused(groups, starts, targets, values)
        else:
            for group, row in enumerate(groups.tolist()):
                part = slice(int(starts[group]), int(starts[group + 1]))
                values[part] = self._predicted(self._similarities(row), targets[part])
        back = np.empty(len(rows))
        back[order] = values
        centre = self.means[rows] if self.spec.centre == "mean" else 0.0
        rated = np.diff(self.starts)[rows] > 0
        instead = self.means[rows] if self.spec.centre == "mean" else self.mean
        instead = np.where(rated, instead, self.mean)
        return np.where(np.isnan(back), instead, centre + back)

    def _fused(self, groups: Ids, starts: Ids, targets: Ids, values: Floats) -> None:
        from veil.ratings.recommenders import _fused_neighbours

        spec = self.spec

        def work(first: int, last: int) -> None:
            _fused_neighbours.predict(
                *(groups, starts, targets, self.starts, self.columns, self.shifted),
                *(self.by_column, self.rows, self.column_shifted, self.column_values),
                *(spec.k, spec.shrinkage, spec.min_common, self.signed, first, last, values),
            )

        sizes = np.diff(self.by_column)
        ends = np.concatenate([[0], np.cumsum(sizes[self.columns])])
        pairs = np.concatenate([[0], np.cumsum(sizes[targets])])
        costs = ends[self.starts[groups + 1]] - ends[self.starts[groups]]
        in_shares(work, costs + np.diff(pairs[starts]))

    def _similarities(self, row: int) -> Floats:
        """Return the similarities (rows,) of one row to all rows."""
        part = slice(int(self.starts[row]), int(self.starts[row + 1]))
        entries, owner = spread(
            self.by_column[self.columns[part]], self.by_column[self.columns[part] + 1]
        )
        x, y, others = self.shifted[part][owner], self.column_shifted[entries], self.rows[entries]
        n = len(self.starts) - 1
        common = np.bincount(others, minlength=n)
        lengths = np.bincount(others, x * x, n) * np.bincount(others, y * y, n)
        enough = (common >= self.spec.min_common) & (lengths > 0)
        sims = np.zeros(n)
        weight = common[enough] / (common[enough] + self.spec.shrinkage)
        sims[enough] = np.bincount(others, x * y, n)[enough] / np.sqrt(lengths[enough]) * weight
        sims[row] = 0.0
        return sims

    def _predicted(self, sims: Floats, columns: Ids) -> Floats:
        """Return the weighted mean of the nearest raters of each column, or nan."""
        means = np.full(len(columns), np.nan)
        for place, column in enumerate(columns.tolist()):
            part = slice(int(self.by_column[column]), int(self.by_column[column + 1]))
            near, values = sims[self.rows[part]], self.column_values[part]
            if not self.signed:
                near, values = near[near > 0], values[near > 0]
            if self.spec.k and len(near) > self.spec.k:
                nearest = np.argsort(-near, kind="stable")[: self.spec.k]
                near, values = near[nearest], values[nearest]
            below = near.sum()
            if below != 0:
                means[place] = (near * values).sum() / below
        return means


class ItemKNN(Neighbours):
    r"""Rank by items that the same users like; predict from the k most similar rated items.

    For lists, :math:`s_{ij} = c_{ij} / \sqrt{c_i c_j}` of the likes, with the k nearest per item,
    and the score of item i is the sum of :math:`s_{ij}` over those of its k nearest that the user
    likes. For ratings, it is userknn with users and items exchanged.
    """

    name: ClassVar[str] = "itemknn"
    k: Annotated[int, Field(ge=1, description="neighbours of an item")] = 40

    @override
    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> "ItemKNNModel":
        del rng  # deterministic
        limit, k = positive_of(train, positive), min(self.k, train.m)
        likes = Likes.of(train, limit)
        if executor is None:
            return ItemKNNModel(self, train, limit, likes, ItemLists.of(likes, k))
        calls = [(part, train, limit, k) for part in shards(train.item_starts)]
        parts = map_shards(executor, _lists, calls)
        index, sims = (np.concatenate(rows) for rows in zip(*parts, strict=True))
        capped = int((likes.per_user > MOST).sum())
        return ItemKNNModel(self, train, limit, likes, ItemLists(index, sims, capped))


def _lists(part: slice, train: Ratings, positive: float, k: int) -> tuple[Index, Floats]:
    """Return the nearest of some items, and their cosines."""
    lists = ItemLists.of(Likes.of(train, positive), k, part.start, part.stop)
    return lists.index, lists.sims


class ItemKNNModel(Model):
    """The nearest items of each item, and ratings by item and by user."""

    def __init__(
        self, spec: ItemKNN, train: Ratings, positive: float, likes: Likes, lists: ItemLists
    ) -> None:
        super().__init__(str(spec), train, positive, NOTHING, seeded=False)
        self.likes, self.neighbours = likes, lists
        self._spec, self._fallback = spec, Fallback.of(train)
        self._rows: Rows | None = None

    @override
    def scores(self, users: Ids) -> Floats:
        return self.neighbours.scores(self.likes, users)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        if self._rows is None:
            self._rows = Rows(self.train, self._spec, transposed=True, signed=False)
        values = self._fallback.ratings(users, items)
        valid = np.flatnonzero((users >= 0) & (items >= 0))
        values[valid] = self._rows.predict(items[valid], users[valid])
        return values


class UserKNN(Neighbours):
    r"""Predict from the k raters of an item who are most similar to the user.

    :math:`\hat r_{ui} = \bar r_u + \sum_v s_{uv} (r_{vi} - \bar r_v) / \sum_v s_{uv}` over the k
    raters with the largest positive similarity, ties to the smaller position. Without any, it is
    the mean of the user (centred) or of all ratings. Only one row of similarities is in memory.

    Notes
    -----
    Textbooks also print a sum over all raters, divided by the signed sum of their similarities:
    ``userknn(k=0, centre='none', signed=True)``. If similarities of both signs nearly cancel, the
    quotient leaves the scale by any amount. Use it only to show that.
    """

    name: ClassVar[str] = "userknn"
    signed: Annotated[
        bool, Field(description="sum over all raters, including dissimilar ones")
    ] = False

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "UserKNNModel":
        del rng  # deterministic
        if self.signed and self.k:
            raise ParameterError("signed=True of userknn needs k=0 (all raters). Use k=0.")
        rows = Rows(train, self, transposed=False, signed=self.signed)
        return UserKNNModel(str(self), train, positive_of(train, positive), rows)


class UserKNNModel(RatingModel):
    """A model of ratings by user and by item."""

    def __init__(self, spec: str, train: Ratings, positive: float, rows: Rows) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self._rows, self._fallback = rows, Fallback.of(train)

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        values = self._fallback.ratings(users, items)
        valid = np.flatnonzero((users >= 0) & (items >= 0))
        values[valid] = self._rows.predict(users[valid], items[valid])
        return values
