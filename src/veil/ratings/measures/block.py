"""Some users, what was listed to them, and what they like of the test."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.ratings.likes import Likes
from veil.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Ground:
    """What measures need of the training part: its likes, and items by how many like them."""

    train: Ratings
    likes: Likes
    rank: Ids  # (m,) place of each item in the order of popularity

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "Ground":
        """Take the likes and the order of popularity, ties to the smaller position."""
        likes = Likes.of(train, positive)
        rank = np.empty(train.m, dtype=np.int64)
        rank[np.argsort(-likes.per_item, kind="stable")] = np.arange(train.m)
        return cls(train, likes, rank)


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """Users (b,) with their lists (b, k), -1 pads, and scores (b, m), -inf for their own items."""

    ground: Ground
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
