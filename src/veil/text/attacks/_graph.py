"""Which queries of a log are near each other: what people may ask next."""

import numpy as np

from veil.core.types import Ids, Singles
from veil.data.fetch import Report, silent

_BYTES = 64 * 2**20  # of scores at a time


def neighbours(vectors: Singles, count: int, report: Report = silent) -> Ids:
    """Return the rows (n, count) that are nearest to each row by cosine, the nearest first.

    A row is no neighbour of its own, unless it is alone. Of equal scores the earlier row comes
    first.
    """
    n = len(vectors)
    count = min(count, n - 1)
    if count < 1:
        return np.zeros((n, 1), dtype=np.int64)
    found = np.empty((n, count), dtype=np.int64)
    step = max(1, _BYTES // (4 * n))
    for start in range(0, n, step):
        report("looking for neighbours", start, n)
        near = np.asarray(vectors[start : start + step] @ vectors.T)
        own = np.arange(len(near))
        near[own, start + own] = -np.inf
        found[start : start + step] = _best(near, count)
    report("looking for neighbours", n, n)
    return found


def _best(near: Singles, count: int) -> Ids:
    some = np.sort(np.argpartition(-near, count - 1, axis=1)[:, :count], axis=1)
    values = np.take_along_axis(near, some, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    best: Ids = np.take_along_axis(some, order, axis=1)
    return best
