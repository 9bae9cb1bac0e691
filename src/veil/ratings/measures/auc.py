"""How often a relevant item is scored above another."""

import numpy as np

from veil.core.types import Floats
from veil.ratings.measures.block import Block

_FEW = 32  # liked items up to which all pairs are compared


def auc(block: Block) -> Floats:
    """Return P(a relevant candidate scores above another one), ties 1/2; 1/2 without another."""
    found = np.full(len(block.users), 0.5)
    for row, (scores, own) in enumerate(zip(block.scores, block.relevant, strict=True)):
        liked, others = scores[own], scores[~own & (scores > -np.inf)]
        if len(others):
            found[row] = _above(liked, others) / (len(liked) * len(others))
    return found


def _above(liked: Floats, others: Floats) -> float:
    """Count pairs in which the liked one is above; equal ones count half."""
    if len(liked) <= _FEW:
        one = liked[:, None]
        return np.count_nonzero(one > others) + 0.5 * np.count_nonzero(one == others)
    ranked = np.sort(liked)
    below = np.searchsorted(ranked, others, "left") + np.searchsorted(ranked, others, "right")
    return float(len(liked) * len(others) - 0.5 * below.sum())
