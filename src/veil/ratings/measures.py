"""Measures of lists of recommendations, user by user.

A `Measure` takes a `Block` of users with relevant test items, and gives each of them a value.
`rmse` and `mae` are over pairs of user and item, and `coverage` is over all lists together:
`veil.ratings.evaluate` computes these three.
"""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from veil.core.component import Component
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Likes, Ratings, spread


@dataclass(frozen=True, eq=False, repr=False)
class TrainStats:
    """What measures need of the training part: its likes, and items by how many like them."""

    train: Ratings
    likes: Likes
    rank: Ids  # (m,) place of each item in the order of popularity

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "TrainStats":
        """Take the likes and the order of popularity, ties to the smaller position."""
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
    relevant: NDArray[np.bool_]  # (b, m) items of the test that are liked: at least one each

    @cached_property
    def hits(self) -> NDArray[np.bool_]:
        """(b, k) whether each place holds a relevant item."""
        rows = np.arange(len(self.users))[:, None]
        return np.asarray(self.relevant[rows, self.index] & (self.index >= 0))

    @cached_property
    def sizes(self) -> Floats:
        """(b,) number of relevant items of each user."""
        return np.asarray(self.relevant.sum(axis=1), dtype=np.float64)


class Measure(Component):
    """A figure for each user's list; `lowest` and `highest` are its limits, and more is better.

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

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        return np.asarray(block.hits.mean(axis=1))


class Recall(Measure):
    """Hits / relevant items."""

    name: ClassVar[str] = "recall"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        return np.asarray(block.hits.sum(axis=1) / block.sizes)


class F1(Measure):
    """Harmonic mean of precision and recall; 0 if both are 0."""

    name: ClassVar[str] = "f1"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        precision, recall = Precision().values(block), Recall().values(block)
        both = precision + recall
        return 2 * precision * recall / np.where(both > 0, both, 1.0)


class NDCG(Measure):
    """Discounted gain (1 / log2(rank + 1) per hit) divided by that of the best list."""

    name: ClassVar[str] = "ndcg"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        k = block.hits.shape[1]
        discounts = 1 / np.log2(np.arange(2, k + 2))
        best = np.cumsum(discounts)[np.minimum(k, block.sizes.astype(np.int64)) - 1]
        return np.asarray((block.hits * discounts).sum(axis=1) / best)


class AP(Measure):
    """Sum of the precisions at the hits / number of relevant items, as in trec_eval."""

    name: ClassVar[str] = "ap"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        ranks = np.arange(1, block.hits.shape[1] + 1)
        at_hits = np.cumsum(block.hits, axis=1) / ranks * block.hits
        return np.asarray(at_hits.sum(axis=1) / block.sizes)


class AUC(Measure):
    """P(a relevant candidate scores above another one); a tie counts 1/2; 1/2 without another."""

    name: ClassVar[str] = "auc"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        found = np.full(len(block.users), 0.5)
        for row, (scores, own) in enumerate(zip(block.scores, block.relevant, strict=True)):
            liked, others = scores[own], scores[~own & (scores > -np.inf)]
            if len(others):
                found[row] = _above(liked, others) / (len(liked) * len(others))
        return found


class Novelty(Measure):
    """Mean of -log2(max(c, 1) / n) over the list, if c of n users rated an item."""

    name: ClassVar[str] = "novelty"
    highest: ClassVar[float] = inf

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        train = block.ground.train
        bits = -np.log2(np.maximum(train.per_item, 1) / train.n)
        listed = block.index >= 0
        total = np.where(listed, bits[block.index], 0.0).sum(axis=1)
        return np.asarray(total / np.maximum(listed.sum(axis=1), 1))


class Diversity(Measure):
    r"""1 minus the mean cosine of the pairs of a list, by who likes each item.

    With :math:`w_i = 1/\sqrt{c_i}`, the cosines of all ordered pairs add up to
    :math:`\sum_u (\sum_{i \ni u} w_i)^2` minus one for each item that somebody likes.
    """

    name: ClassVar[str] = "diversity"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
        likes = block.ground.likes
        sizes = likes.per_item
        found = np.ones(len(block.users))
        for row, places in enumerate(block.index):
            items = places[places >= 0]
            pairs = len(items) * (len(items) - 1)
            if not pairs:
                continue
            at, owner = spread(likes.by_item[items], likes.by_item[items + 1])
            weights = 1 / np.sqrt(np.maximum(sizes[items], 1))
            sums = np.bincount(likes.likers[at], weights[owner])
            found[row] = 1 - ((sums**2).sum() - (sizes[items] > 0).sum()) / pairs
        return found


class Serendipity(Measure):
    """Share of the k places with a relevant item outside the user's popular k.

    The popular k are the k items with the most likes that the user has not rated in training.
    """

    name: ClassVar[str] = "serendipity"

    def values(self, block: Block) -> Floats:
        """Return a value for each user."""
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
    """Count pairs in which the liked one is above; equal ones count half."""
    if len(liked) <= _FEW:
        one = liked[:, None]
        return np.count_nonzero(one > others) + 0.5 * np.count_nonzero(one == others)
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
"""Measures of lists, also of plugins: `names()`, `get(name)`, `parse(spec)`."""

ERRORS = ("rmse", "mae")
COVERAGE = "coverage"
NAMES = (*ERRORS, "precision", "recall", "f1", "ndcg", "ap", "auc", COVERAGE, "novelty",
         "diversity", "serendipity")  # fmt: skip
"""The built-in measures, in the order in which they are shown."""


def names() -> tuple[str, ...]:
    """Return the names of all measures: the built-in ones, and then those of plugins."""
    return (*NAMES, *(name for name in MEASURES.names() if name not in NAMES))
