"""Users whose lists a report shows: a few, by hash, who like enough."""

import numpy as np

from veil.core.types import Ids
from veil.ratings.hashing import id_hashes, mix
from veil.ratings.ratings import Ratings

_SHOWN, _TOLD, _LIKES = 3, 4, 5


def example_users(train: Ratings, test: Ratings, positive: float) -> Ids:
    """Return the positions of users with likes to go by and a held-out one to find."""
    likes = np.bincount(train.user[train.value >= positive], minlength=train.n)
    wanted = np.bincount(test.user[test.value >= positive], minlength=test.n)
    order = np.argsort(mix(id_hashes(train.users)), kind="stable")
    for least in (_LIKES, 1, 0):
        able = order[(likes[order] >= least) & (wanted[order] >= min(least, 1))]
        if len(able):
            break
    return np.asarray(able[:_SHOWN], dtype=np.int64)


def liked_of(train: Ratings, user: int, positive: float) -> Ids:
    """Return some of what a user likes, from what most know to what fewer do: her taste."""
    rows = train.rows(int(user))
    items, values = train.item[rows], train.value[rows]
    order = np.lexsort((items, -train.per_item[items], values < positive))
    liked = order[: max(1, int((values >= positive).sum()))]
    places = np.unique(np.arange(_TOLD) * len(liked) // _TOLD)
    return np.asarray(items[liked[places]], dtype=np.int64)
