"""The items nearest to each item: who likes both."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.ratings.likes import Likes, spread, starts
from veil.ratings.recommenders.engine import compiled_at_hand, in_shares

Index = NDArray[np.int32]
MOST = 1_000  # likes of one user that count: pairs grow with their square


@dataclass(frozen=True, eq=False, repr=False)
class ItemLists:
    """The k nearest items (m, k) of each item, best first, and their cosines; -1 and 0 pad.

    `capped` is the number of users of whom only the first 1,000 likes were counted.
    """

    index: Index
    sims: Floats
    capped: int = 0

    @classmethod
    def of(cls, likes: Likes, k: int, first: int = 0, last: int | None = None) -> "ItemLists":
        """Find those of the items first..last-1; ties go to the smaller position."""
        m = len(likes.by_item) - 1
        end = m if last is None else last
        likes, capped = _capped(likes)
        index = np.full((m, k), -1, dtype=np.int32)
        sims = np.zeros((m, k))
        if compiled_at_hand():
            _fused(likes, k, first, end, index, sims)
        else:
            for item in range(first, end):
                _one(likes, item, index[item], sims[item])
        return cls(index[first:end], sims[first:end], capped)

    @cached_property
    def _listed(self) -> tuple[Ids, Index, Floats]:
        """Per item, the items in whose lists it stands, with their cosines."""
        m, k = self.index.shape
        flat = self.index.ravel()
        real = np.flatnonzero(flat >= 0)
        order = real[np.argsort(flat[real], kind="stable")]
        return starts(flat[real], m), (order // k).astype(np.int32), self.sims.ravel()[order]

    def scores(self, likes: Likes, users: Ids) -> Floats:
        """Return, of users (b,), the sums (b, m) of the cosines of each item to what they like."""
        by_item, listed, weights = self._listed
        scores = np.zeros((len(users), len(self.index)))
        if compiled_at_hand():
            from veil.ratings.recommenders import _fused_lists

            _fused_lists.list_scores(
                *(by_item, listed, weights, likes.by_user, likes.liked),
                *(np.asarray(users, dtype=np.int64), 0, len(users), scores),
            )
            return scores
        for row, user in enumerate(users.tolist()):
            own = likes.liked[likes.by_user[user] : likes.by_user[user + 1]]
            at, _ = spread(by_item[own], by_item[own + 1])
            scores[row] = np.bincount(listed[at], weights[at], len(self.index))
        return scores


def _capped(likes: Likes) -> tuple[Likes, int]:
    """Keep the first likes of users who have very many."""
    many = likes.per_user > MOST
    if not many.any():
        return likes, 0
    ends = np.minimum(likes.by_user[1:], likes.by_user[:-1] + MOST)
    at, user = spread(likes.by_user[:-1], ends)
    item, people = likes.liked[at], user.astype(np.int32)
    order = np.argsort(item, kind="stable")
    n, m = len(ends), len(likes.by_item) - 1
    return Likes(starts(people, n), item, starts(item, m), people[order]), int(many.sum())


def _fused(likes: Likes, k: int, first: int, last: int, index: Index, sims: Floats) -> None:
    from veil.ratings.recommenders import _fused_lists

    def work(begin: int, end: int) -> None:
        _fused_lists.nearest_items(
            *(likes.by_item, likes.likers, likes.by_user, likes.liked),
            *(k, first + begin, first + end, index, sims),
        )

    ends = np.concatenate([[0], np.cumsum(likes.per_user[likes.likers])])
    costs = np.diff(ends[likes.by_item])[first:last]
    in_shares(work, costs)


def _one(likes: Likes, item: int, index: Index, sims: Floats) -> None:
    own = likes.likers[likes.by_item[item] : likes.by_item[item + 1]]
    at, _ = spread(likes.by_user[own], likes.by_user[own + 1])
    sizes = likes.per_item
    common = np.bincount(likes.liked[at], minlength=len(sizes))
    common[item] = 0
    near = np.flatnonzero(common)
    keys = common[near].astype(np.float64) ** 2 / sizes[near]
    chosen = np.argsort(-keys, kind="stable")[: len(index)]
    index[: len(chosen)] = near[chosen]
    sims[: len(chosen)] = np.sqrt(keys[chosen] / len(own))
