"""How different the items of one list are."""

import numpy as np

from veil.core.types import Floats
from veil.ratings.likes import spread
from veil.ratings.measures.block import Block


def diversity(block: Block) -> Floats:
    r"""Return 1 - the mean cosine of the pairs of a list, by who likes each item.

    With :math:`w_i = 1/\sqrt{c_i}`, the cosines of all ordered pairs add up to
    :math:`\sum_u (\sum_{i \ni u} w_i)^2` minus one for each item that somebody likes.
    """
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
