"""Where given rows stand by cosine, by counting: no list is sorted, and none is held."""

import numpy as np

from veil.core.parallel import in_threads, one_blas_thread
from veil.core.types import Floats, Ids, Singles

_COLUMNS = 256  # centroids at a time
_BYTES = 8 * 2**20  # of scores, by one thread
_PAIRS = 2**20  # numbers gathered at a time, to compute scores again
_SINGLE = 2.0**-24  # relative rounding of float32


def ranks(centroids: Floats, vectors: Singles, places: Ids, *, block: int | None = None) -> Ids:
    """Return the rank (n,) of row ``places[i]`` of `vectors` by its cosine with centroid i.

    The rank is 1 + the number of rows with a higher score, or with an equal one and an earlier
    place. A place of -1 stands for a row that is not there: it comes after all others.

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
    there = np.flatnonzero(places >= 0)
    for start in range(0, len(there), _COLUMNS):
        part = there[start : start + _COLUMNS]
        rows = vectors[places[part]]
        out[part] = 1 + _Count(centroids[part], vectors, places[part], rows).ahead(block)
    return out


def ranks_beside(centroids: Floats, vectors: Singles, rows: Singles) -> Ids:
    """Return the rank (n,) that row i of `rows` has by its cosine with centroid i.

    As `ranks`, with each row alone at the end of `vectors`: an equal score is ahead of its own.
    """
    last = np.full(len(rows), len(vectors), dtype=np.int64)
    return 1 + _Count(centroids, vectors, last, rows).ahead(None)


class _Count:
    """How many rows are ahead of one row of each centroid."""

    def __init__(self, centroids: Floats, vectors: Singles, places: Ids, rows: Singles) -> None:
        lengths = np.linalg.norm(centroids, axis=1, keepdims=True)
        self._units = centroids / np.where(lengths > 0, lengths, 1)
        self._columns = np.ascontiguousarray(self._units.T, dtype=np.float32)
        self._vectors, self._places = vectors, places
        self._own = _exact(self._units, rows)
        error = (2 * vectors.shape[1] + 64) * _SINGLE  # of the product, with rounded inputs
        self._low = (self._own - error).astype(np.float32)
        self._high = (self._own + error).astype(np.float32)

    def ahead(self, block: int | None) -> Ids:
        """Count in blocks of rows, shared out to threads."""
        rows = block or max(1, _BYTES // (4 * len(self._places)))
        blocks = -(-len(self._vectors) // rows)
        counts = np.zeros((blocks, len(self._places)), dtype=np.int64)

        def work(numbers: slice) -> None:
            scores = np.empty((min(rows, len(self._vectors)), len(self._places)), np.float32)
            for number in range(numbers.start, numbers.stop):
                first = number * rows
                some = self._vectors[first : first + rows]
                product = np.matmul(some, self._columns, out=scores[: len(some)])
                counts[number] = self._in_block(product, first)

        with one_blas_thread():
            in_threads(work, blocks)
        total: Ids = counts.sum(axis=0)
        return total

    def _in_block(self, scores: Singles, first: int) -> Ids:
        above = scores > self._high
        counts: Ids = np.count_nonzero(above, axis=0).astype(np.int64)
        near = scores >= self._low
        near &= ~above
        row, which = np.nonzero(near)
        row = row + first
        step = max(1, _PAIRS // self._vectors.shape[1])
        for start in range(0, len(row), step):
            r, w = row[start : start + step], which[start : start + step]
            score, own = _exact(self._units[w], self._vectors[r]), self._own[w]
            wins = (score > own) | ((score == own) & (r < self._places[w]))
            counts += np.bincount(w[wins], minlength=len(counts))
        return counts


def _exact(units: Floats, rows: Singles) -> Floats:
    """Return scores of pairs in float64; equal vectors have equal scores."""
    total: Floats = (units * rows).sum(axis=1)
    return total
