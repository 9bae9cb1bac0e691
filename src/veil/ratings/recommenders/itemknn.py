"""Things that the same people like."""

from concurrent.futures import Executor
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.fallback import Fallback
from veil.ratings.likes import Likes
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, Model, positive_of
from veil.ratings.recommenders.lists import MOST, Index, ItemLists
from veil.ratings.recommenders.neighbours import Neighbours, Rows
from veil.ratings.shards import apart, shards


class ItemKNN(Neighbours):
    r"""Rank by items that the same people like; predict from the k most alike a user rated.

    For lists, :math:`s_{ij} = c_{ij} / \sqrt{c_i c_j}` of the likes, the k nearest per item kept,
    and the score of item i is the sum of :math:`s_{ij}` over those of its k nearest that the user
    likes. For ratings, as userknn with users and items exchanged.
    """

    name: ClassVar[str] = "itemknn"
    k: Annotated[int, Field(ge=1, description="neighbours of an item")] = 40

    def fit(
        self,
        train: Ratings,
        positive: float | None = None,
        rng: Randomness = None,
        executor: Executor | None = None,
    ) -> "ItemKNNModel":
        """Find the k nearest of each item; an executor is handed shares of the items."""
        del rng  # nothing is drawn
        chosen, k = positive_of(train, positive), min(self.k, train.m)
        likes = Likes.of(train, chosen)
        if executor is None:
            return ItemKNNModel(self, train, chosen, likes, ItemLists.of(likes, k))
        given = [(part, train, chosen, k) for part in shards(train.item_starts)]
        parts = apart(executor, _lists, given)
        index, sims = (np.concatenate(rows) for rows in zip(*parts, strict=True))
        capped = int((likes.per_user > MOST).sum())
        return ItemKNNModel(self, train, chosen, likes, ItemLists(index, sims, capped))


def _lists(part: slice, train: Ratings, positive: float, k: int) -> tuple[Index, Floats]:
    """Return the nearest of some items, and their cosines."""
    found = ItemLists.of(Likes.of(train, positive), k, part.start, part.stop)
    return found.index, found.sims


class ItemKNNModel(Model):
    """The nearest items of each item; ratings by item and by user."""

    def __init__(
        self, spec: ItemKNN, train: Ratings, positive: float, likes: Likes, lists: ItemLists
    ) -> None:
        super().__init__(str(spec), train, positive, NOTHING, seeded=False)
        self.likes, self.neighbours = likes, lists
        self._spec, self._fallback = spec, Fallback.of(train)
        self._rows: Rows | None = None

    def scores(self, users: Ids) -> Floats:
        """Return the sums of similarities (b, m)."""
        return self.neighbours.scores(self.likes, users)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the weighted means; the fallback for who or what is not known."""
        if self._rows is None:
            self._rows = Rows(self.train, self._spec, transposed=True, signed=False)
        found = self._fallback.ratings(users, items)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        found[known] = self._rows.predict(items[known], users[known])
        return found
