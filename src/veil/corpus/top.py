"""The best of many scores, always in the same order."""

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids


def top(scores: NDArray[np.floating], k: int, above: float = -np.inf) -> Ids:
    """Return the positions of the `k` highest scores above a floor, best first.

    Equal scores stand in the order of their positions.

    >>> top(np.array([1.0, 3.0, 0.0, 3.0, 2.0]), 3, above=0.0).tolist()
    [1, 3, 4]
    """
    found = np.flatnonzero(scores > above)
    if len(found) > k:
        values = scores[found]
        edge = np.partition(values, len(values) - k)[len(values) - k]
        better = found[values > edge]
        found = np.concatenate([better, found[values == edge][: k - len(better)]])
        found.sort()
    order: Ids = found[np.argsort(-scores[found], kind="stable")]
    return order
