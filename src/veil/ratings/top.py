"""The best of each row, ties to the smaller position."""

import numpy as np

from veil.core.types import Floats, Ids


def top(scores: Floats, k: int) -> tuple[Ids, Floats]:
    """Return positions and scores (n, k) of the best of rows (n, m); -1 and -inf pad.

    >>> top(np.array([[1.0, 3.0, 3.0, -np.inf]]), 4)[0].tolist()
    [[1, 2, 0, -1]]
    """
    least = np.partition(scores, -k, axis=1)[:, -k:].min(axis=1)
    index = np.full((len(scores), k), -1, dtype=np.int64)
    best = np.full((len(scores), k), -np.inf)
    for row, (line, bound) in enumerate(zip(scores, least, strict=True)):
        among = np.flatnonzero((line >= bound) & (line > -np.inf))
        chosen = among[np.argsort(-line[among], kind="stable")[:k]]
        index[row, : len(chosen)], best[row, : len(chosen)] = chosen, line[chosen]
    return index, best
