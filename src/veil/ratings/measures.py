"""Measures of recommendation lists, user by user.

A `Measure` returns a value for each user of a `Block`; all users have relevant test items. `rmse`
and `mae` are over pairs of user and item, and `coverage` is over all lists together:
`veil.ratings.evaluate` computes these three.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from veil.core.component import Component
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Likes, Ratings, spread


@dataclass(frozen=True, eq=False, repr=False)
class TrainStats:
    """Likes of the training part, and items ranked by their number of likes."""

    train: Ratings
    likes: Likes
    rank: Ids  # (m,) popularity rank of each item, from 0

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "TrainStats":
        """Return the likes and popularity ranks of `train`; ties go to the smaller position."""
        likes = Likes.of(train, positive)
        rank = np.empty(train.m, dtype=np.int64)
        rank[np.argsort(-likes.per_item, kind="stable")] = np.arange(train.m)
        return cls(train, likes, rank)


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Users (b,) with their lists (b, k), -1 pads, and scores (b, m), -inf for their own items."""

    ground: TrainStats
    users: Ids
    index: Ids
    scores: Floats
    relevant: NDArray[np.bool_]  # (b, m) liked test items: at least one per user

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """(b, k) mask of the places with a relevant item."""
        rows = np.arange(len(self.users))[:, None]
        return np.asarray(self.relevant[rows, self.index] & (self.index >= 0))

    @cached_property
    def sizes(self) -> Floats:
        """(b,) number of relevant items of each user."""
        return np.asarray(self.relevant.sum(axis=1), dtype=np.float64)


class Measure(Component):
    """A value for each user's list, from `lowest` to `highest`; more is better.

    A measure from 0 to 1 can be the utility of a plane.
    """

    lowest: ClassVar[float] = 0.0
    highest: ClassVar[float] = 1.0

    @abstractmethod
    def values(self, block: Block) -> Floats:
        """Return a value (b,) for each user of a block."""


_FEW = 32  # liked items up to which all pairs are compared


class Precision(Measure):
    """Hits / k."""

    name: ClassVar[str] = "precision"

    @override
    def values(self, block: Block) -> Floats:
        return np.asarray(block.hits.mean(axis=1))


class Recall(Measure):
    """Hits / relevant items."""

    name: ClassVar[str] = "recall"

    @override
    def values(self, block: Block) -> Floats:
        return np.asarray(block.hits.sum(axis=1) / block.sizes)


class F1(Measure):
    """Harmonic mean of precision and recall; 0 if both are 0."""

    name: ClassVar[str] = "f1"

    @override
    def values(self, block: Block) -> Floats:
        precision, recall = Precision().values(block), Recall().values(block)
        total = precision + recall
        return 2 * precision * recall / np.where(total > 0, total, 1.0)


class NDCG(Measure):
    """Discounted gain (1 / log2(rank + 1) per hit) divided by that of the best list."""

    name: ClassVar[str] = "ndcg"

    @override
    def values(self, block: Block) -> Floats:
        k = block.hits.shape[1]
        discounts = 1 / np.log2(np.arange(2, k + 2))
        best = np.cumsum(discounts)[np.minimum(k, block.sizes.astype(np.int64)) - 1]
        return np.asarray((block.hits * discounts).sum(axis=1) / best)


class AP(Measure):
    """Sum of the precisions at the hits / number of relevant items, as in trec_eval."""

    name: ClassVar[str] = "ap"

    @override
    def values(self, block: Block) -> Floats:
        ranks = np.arange(1, block.hits.shape[1] + 1)
        at_hits = np.cumsum(block.hits, axis=1) / ranks * block.hits
        return np.asarray(at_hits.sum(axis=1) / block.sizes)


class AUC(Measure):
    """P(a relevant candidate scores above an irrelevant one); ties count 1/2; 1/2 if undefined."""

    name: ClassVar[str] = "auc"

    @override
    def values(self, block: Block) -> Floats:
        values = np.full(len(block.users), 0.5)
        for row, (scores, own) in enumerate(zip(block.scores, block.relevant, strict=True)):
            liked, others = scores[own], scores[~own & (scores > -np.inf)]
            if len(others):
                values[row] = _above(liked, others) / (len(liked) * len(others))
        return values


class Novelty(Measure):
    """Mean of -log2(max(c, 1) / n) over the list, if c of n users rated an item."""

    name: ClassVar[str] = "novelty"
    highest: ClassVar[float] = inf

    @override
    def values(self, block: Block) -> Floats:
        train = block.ground.train
        bits = -np.log2(np.maximum(train.per_item, 1) / train.n)
        listed = block.index >= 0
        total = np.where(listed, bits[block.index], 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(listed.sum(axis=1), 1))


class Diversity(Measure):
    r"""1 minus the mean cosine of the pairs in a list, by the users who like each item.

    With :math:`w_i = 1/\sqrt{c_i}`, the cosines of all ordered pairs add up to
    :math:`\sum_u (\sum_{i \ni u} w_i)^2` minus one for each item that somebody likes.
    """

    name: ClassVar[str] = "diversity"

    @override
    def values(self, block: Block) -> Floats:
        likes = block.ground.likes
        sizes = likes.per_item
        values = np.ones(len(block.users))
        for row, places in enumerate(block.index):
            items = places[places >= 0]
            pairs = len(items) * (len(items) - 1)
            if not pairs:
                continue
            rows, owner = spread(likes.by_item[items], likes.by_item[items + 1])
            weights = 1 / np.sqrt(np.maximum(sizes[items], 1))
            sums = np.bincount(likes.likers[rows], weights[owner])
            values[row] = 1 - ((sums**2).sum() - (sizes[items] > 0).sum()) / pairs
        return values


class Serendipity(Measure):
    """Share of the k places with a relevant item outside the user's popular k.

    The popular k are the k items with the most likes that the user has not rated in training.
    """

    name: ClassVar[str] = "serendipity"

    @override
    def values(self, block: Block) -> Floats:
        ground, k = block.ground, block.index.shape[1]
        last = np.empty(len(block.users), dtype=np.int64)
        for row, user in enumerate(block.users.tolist()):
            own = ground.rank[ground.train.item[ground.train.rows(user)]]
            free = np.ones(k + len(own), dtype=bool)
            free[own[own < len(free)]] = False
            last[row] = np.flatnonzero(free)[k - 1]
        places = ground.rank[block.index]
        return np.asarray((block.hits & (places > last[:, None])).mean(axis=1))


def _above(liked: Floats, others: Floats) -> float:
    """Count pairs whose liked item scores higher; ties count half."""
    if len(liked) <= _FEW:
        column = liked[:, None]
        return np.count_nonzero(column > others) + 0.5 * np.count_nonzero(column == others)
    ranked = np.sort(liked)
    below = np.searchsorted(ranked, others, "left") + np.searchsorted(ranked, others, "right")
    return float(len(liked) * len(others) - 0.5 * below.sum())


MEASURES: Registry[Measure] = Registry(
    noun="measure of lists",
    group="veil.measures.ratings",
    builtin={
        "ap": "veil.ratings.measures:AP",
        "auc": "veil.ratings.measures:AUC",
        "diversity": "veil.ratings.measures:Diversity",
        "f1": "veil.ratings.measures:F1",
        "ndcg": "veil.ratings.measures:NDCG",
        "novelty": "veil.ratings.measures:Novelty",
        "precision": "veil.ratings.measures:Precision",
        "recall": "veil.ratings.measures:Recall",
        "serendipity": "veil.ratings.measures:Serendipity",
    },
)
"""All measures of lists, also of plugins: `names()`, `get(name)`, `parse(spec)`."""

ERRORS = ("rmse", "mae")
COVERAGE = "coverage"
NAMES = (*ERRORS, "precision", "recall", "f1", "ndcg", "ap", "auc", COVERAGE, "novelty",
         "diversity", "serendipity")  # fmt: skip
"""The built-in measures, in display order."""


def names() -> tuple[str, ...]:
    """Return the names of all measures: built-in ones first, then those of plugins."""
    return (*NAMES, *(name for name in MEASURES.names() if name not in NAMES))
