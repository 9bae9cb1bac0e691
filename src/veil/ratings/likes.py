"""Who likes what: positive ratings, by user and by item."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Ids
from veil.ratings.ratings import Positions, Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Likes:
    """Likes of n users for m items: `liked` in order of users, `likers` in order of items.

    `by_user` (n + 1,) and `by_item` (m + 1,) say where those of each begin.
    """

    by_user: Ids
    liked: Positions
    by_item: Ids
    likers: Positions

    @classmethod
    def of(cls, train: Ratings, positive: float) -> "Likes":
        """Take the ratings >= `positive`."""
        rows = train.value >= positive
        user, item = train.user[rows], train.item[rows]
        order = np.argsort(item, kind="stable")
        return cls(starts(user, train.n), item, starts(item, train.m), user[order])

    @property
    def per_user(self) -> Ids:
        """(n,) number of likes of each user."""
        return np.diff(self.by_user)

    @property
    def per_item(self) -> Ids:
        """(m,) number of likes of each item."""
        return np.diff(self.by_item)


def starts(positions: Positions, size: int) -> Ids:
    """Return (size + 1,) where rows of each position would begin if they were sorted."""
    counts = np.bincount(positions, minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def spread(begin: Ids, end: Ids) -> tuple[Ids, Ids]:
    """Return the places begin..end-1 of all ranges in a row, and the range each belongs to.

    >>> [part.tolist() for part in spread(np.array([3, 9]), np.array([5, 10]))]
    [[3, 4, 9], [0, 0, 1]]
    """
    sizes = end - begin
    owner = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    offset = np.arange(len(owner), dtype=np.int64) - (np.cumsum(sizes) - sizes)[owner]
    return begin[owner] + offset, owner
