"""Relevant items that are not what everybody likes."""

import numpy as np

from veil.core.types import Floats
from veil.ratings.measures.block import Block


def serendipity(block: Block) -> Floats:
    """Return the share of the k places with a relevant item outside the user's popular k.

    Those are the k items with the most likes that she has not rated in training.
    """
    ground, k = block.ground, block.index.shape[1]
    last = np.empty(len(block.users), dtype=np.int64)
    for row, user in enumerate(block.users.tolist()):
        own = ground.rank[ground.train.item[ground.train.rows(user)]]
        free = np.ones(k + len(own), dtype=bool)
        free[own[own < len(free)]] = False
        last[row] = np.flatnonzero(free)[k - 1]
    places = ground.rank[block.index]
    return np.asarray((block.hits & (places > last[:, None])).mean(axis=1))
