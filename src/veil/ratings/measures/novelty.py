"""How little known the listed items are."""

import numpy as np

from veil.core.types import Floats
from veil.ratings.measures.block import Block


def novelty(block: Block) -> Floats:
    """Return the mean of -log2(max(c, 1) / n) over the list; c of n users rated the item."""
    train = block.ground.train
    bits = -np.log2(np.maximum(train.per_item, 1) / train.n)
    listed = block.index >= 0
    total = np.where(listed, bits[block.index], 0.0).sum(axis=1)
    return np.asarray(total / np.maximum(listed.sum(axis=1), 1))
