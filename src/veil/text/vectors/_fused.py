"""First pass of the nearest-word search with numba: fused products of 8-bit integers.

It needs a second copy of the vocabulary in 8 bits (a quarter of its size). Each block and each
point has a scale that maps numbers to integers. The error is bounded by |x.y - x'.y'| <=
|x||y-y'| + |x-x'||y'| (Cauchy-Schwarz) in float64, so that no possible nearest word is missed.
"""

import numpy as np

from veil.core.parallel import in_threads
from veil.core.types import Floats, Ids, Singles
from veil.text.vectors._fused_kernels import (
    LANES,
    QUERIES_TILE,
    ROWS_TILE,
    block_maxima,
    pack_blocks,
    quantise_queries,
    refine,
    select,
)
from veil.text.vectors.nearest import half_squares

_SIZE = 32  # words in a block
_CHUNK = 128  # dimensions summed in 16 bits


class QuantisedVectors:
    """The vocabulary in 8 bits, with the bounds of every block."""

    def __init__(self, vectors: Singles, rounding: float, most: int) -> None:
        self._vectors = np.ascontiguousarray(vectors)
        self._rounding, self._most = rounding, most
        total, dim = vectors.shape
        self._order: Ids = np.argsort(half_squares(vectors), kind="stable")
        self._size = _SIZE
        while self._size > ROWS_TILE and self._size * LANES > 2 * total:
            self._size //= 2  # for a small space, use less padding
        panels = -(-total // (self._size * LANES))
        self._chunks = -(-dim // _CHUNK)
        self._pairs = -(-dim // (2 * self._chunks))
        width = self._chunks * self._pairs * 2
        self._packed = np.zeros(panels * self._size * width * LANES, dtype=np.uint8)
        blocks = panels * LANES
        self._scale, self._lost, self._length, self._low, self._high = np.zeros((5, blocks))

        def pack(part: slice) -> None:
            pack_blocks(
                self._vectors,
                self._order,
                self._size,
                self._chunks,
                self._pairs,
                part.start,
                part.stop,
                self._packed,
                *self._bounds,
            )

        in_threads(pack, blocks)
        margin = np.where(np.isfinite(self._high), 2 * rounding * self._high, 0)
        self._low -= margin
        self._high += margin

    @property
    def _bounds(self) -> tuple[Floats, Floats, Floats, Floats, Floats]:
        return self._scale, self._lost, self._length, self._low, self._high

    def candidates(self, points: Floats, k: int) -> tuple[Ids, Ids] | None:
        """Return all pairs that can be among the k nearest, or None if they are too many."""
        m = len(points)
        padded = -(-m // QUERIES_TILE) * QUERIES_TILE
        words = np.empty(padded * self._chunks * (self._pairs + 1), dtype=np.int32)
        query = np.empty((3, m))  # scale, loss, length
        quantise_queries(points, self._chunks, self._pairs, words, *query)
        shift = (self._chunks - 1).bit_length()  # 2**shift >= chunks: their sum fits again
        maxima = np.empty((len(self._scale) // LANES, padded, LANES), dtype=np.int16)
        block_maxima(
            self._packed, words, self._pairs, self._chunks, shift, self._size, len(maxima), maxima
        )
        lost = self._chunks if self._chunks > 1 else 0
        pairs = select(maxima, m, k, float(2**shift), lost, *self._bounds, *query, self._rounding)
        which, rows, whole = refine(
            points, self._vectors, self._order, self._size, k, *pairs, self._rounding, self._most
        )
        return (which, rows) if whole else None
