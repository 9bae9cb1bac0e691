"""Relevant items among the first k: precision, recall, F1, nDCG, average precision."""

import numpy as np

from veil.core.types import Floats
from veil.ratings.measures.block import Block


def precision(block: Block) -> Floats:
    """Return hits / k."""
    return np.asarray(block.hits.mean(axis=1))


def recall(block: Block) -> Floats:
    """Return hits / relevant items."""
    return np.asarray(block.hits.sum(axis=1) / block.sizes)


def f1(block: Block) -> Floats:
    """Return the harmonic mean of precision and recall, 0 where both are."""
    both = precision(block) + recall(block)
    return 2 * precision(block) * recall(block) / np.where(both > 0, both, 1.0)


def ndcg(block: Block) -> Floats:
    """Return the discounted gain (1 / log2(rank + 1) per hit) over that of the best list."""
    k = block.hits.shape[1]
    discounts = 1 / np.log2(np.arange(2, k + 2))
    best = np.cumsum(discounts)[np.minimum(k, block.sizes.astype(np.int64)) - 1]
    return np.asarray((block.hits * discounts).sum(axis=1) / best)


def ap(block: Block) -> Floats:
    """Return the sum of the precisions at the hits over all relevant items, as trec_eval."""
    ranks = np.arange(1, block.hits.shape[1] + 1)
    at_hits = np.cumsum(block.hits, axis=1) / ranks * block.hits
    return np.asarray(at_hits.sum(axis=1) / block.sizes)
