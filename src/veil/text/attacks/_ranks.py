"""Where given rows stand by cosine, by counting: no list is sorted, and none is held."""

import numpy as np

from veil.core.parallel import in_threads, one_blas_thread
from veil.core.types import Floats, Ids, Singles

_COLUMNS = 256  # centroids at a time
_BYTES = 8 * 2**20  # of scores, by one thread
_PAIRS = 2**20  # numbers gathered at a time, to compute scores again
_SINGLE = 2.0**-24  # relative rounding of float32


def ranks(
    centroids: Floats, vectors: Singles, places: Ids, *, block: int | None = None
) -> tuple[Ids, Ids]:
    """Return where row ``places[i]`` of `vectors` stands by its cosine with centroid i.

    That is its rank (n,), 1 + the number of rows with a higher score, and how many rows (n,) have
    its score, itself included. A place of -1 stands for a row that is not there: it comes after
    all others, alone.

    Parameters
    ----------
    centroids
        (n, d) of any length; a centroid of zeros has the same score with all rows.
    vectors
        (N, d) rows of length 1; may be memory-mapped, and is read once per 256 centroids.
    places
        (n,) positions in `vectors`.
    block
        Rows at a time; the result does not depend on it.

    Notes
    -----
    A float32 product decides for all rows whose score differs from that of the row in question by
    more than its proven error. The others, equal rows among them, are compared in float64 by a sum
    that depends on the two vectors alone, so that ties are ties whatever the blocks.
    """
    out = np.full(len(places), len(vectors) + 1, dtype=np.int64)
    ties = np.ones(len(places), dtype=np.int64)
    there = np.flatnonzero(places >= 0)
    for start in range(0, len(there), _COLUMNS):
        part = there[start : start + _COLUMNS]
        ahead, level = _Count(centroids[part], vectors, vectors[places[part]]).all(block)
        out[part], ties[part] = 1 + ahead, level
    return out, ties


def ranks_beside(centroids: Floats, vectors: Singles, rows: Singles) -> tuple[Ids, Ids]:
    """Return the same for row i of `rows`, which is no row of `vectors`, with centroid i."""
    ahead, level = _Count(centroids, vectors, rows).all(None)
    return 1 + ahead, 1 + level


class _Count:
    """How many rows are ahead of one row of each centroid, and level with it."""

    def __init__(self, centroids: Floats, vectors: Singles, rows: Singles) -> None:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        self._units = centroids / np.where(lengths > 0, lengths, 1)
        self._columns = np.ascontiguousarray(self._units.T, dtype=np.float32)
        self._vectors = vectors
        self._own = _exact(self._units, rows)
        error = (2 * vectors.shape[1] + 64) * _SINGLE  # of the product, with rounded inputs
        self._low = (self._own - error).astype(np.float32)
        self._high = (self._own + error).astype(np.float32)

    def all(self, block: int | None) -> tuple[Ids, Ids]:
        """Count in blocks of rows, shared out to threads."""
        many = len(self._own)
        rows = block or max(1, _BYTES // (4 * many))
        blocks = -(-len(self._vectors) // rows)
        counts = np.zeros((blocks, 2, many), dtype=np.int64)

        def work(numbers: slice) -> None:
            scores = np.empty((min(rows, len(self._vectors)), many), np.float32)
            for number in range(numbers.start, numbers.stop):
                first = number * rows
                some = self._vectors[first : first + rows]
                product = np.matmul(some, self._columns, out=scores[: len(some)])
                counts[number] = self._in_block(product, first)

        with one_blas_thread():
            in_threads(work, blocks)
        ahead, level = counts.sum(axis=0)
        return ahead, level

    def _in_block(self, scores: Singles, first: int) -> Ids:
        above = scores > self._high
        counts: Ids = np.zeros((2, len(self._own)), dtype=np.int64)
        counts[0] = np.count_nonzero(above, axis=0)
        near = scores >= self._low
        near &= ~above
        row, which = np.nonzero(near)
        row = row + first
        step = max(1, _PAIRS // self._vectors.shape[1])
        for start in range(0, len(row), step):
            r, w = row[start : start + step], which[start : start + step]
            score, own = _exact(self._units[w], self._vectors[r]), self._own[w]
            for count, there in zip(counts, (score > own, score == own), strict=True):
                count += np.bincount(w[there], minlength=len(count))
        return counts


def _exact(units: Floats, rows: Singles) -> Floats:
    """Return scores of pairs in float64; equal vectors have equal scores."""
    total: Floats = (units * rows).sum(axis=1)
    return total
