"""Draw from discrete laws known up to a factor, many words and many draws at once.

A row holds one word's weights in blocks of 64, float32, and the running sums of the blocks in
float64: 4 bytes per word of the vocabulary, and a draw touches one block. Weights below 1e-38 of
the largest are zero, and are never drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Floats, Ids, Singles

BLOCK = 64
VANISHED = "The law of a word cannot be computed: its weights vanish; use a smaller 'epsilon'."
_CHUNK = 16_384  # draws expanded at a time


@dataclass(frozen=True, slots=True)
class Row:
    """The law of one word: weights over all words, or over `candidates` if given."""

    weights: Singles  # (blocks, 64), padded with zeros
    sums: Floats  # (blocks,) running sums of the blocks
    candidates: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.sums[-1] < np.inf:  # also when it is nan
            raise ParameterError(VANISHED)

    @property
    def nbytes(self) -> int:
        """Memory held."""
        held = 0 if self.candidates is None else self.candidates.nbytes
        return self.weights.nbytes + self.sums.nbytes + held + 200


def make_rows(log_weights: Floats, candidates: Ids) -> list[Row]:
    """Turn log-weights (m, c) of candidates (m, c) into rows; -inf means never."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    blocks = -(-weights.shape[1] // BLOCK)
    rows = []
    for own, chosen in zip(weights, candidates, strict=True):
        padded = np.zeros((blocks, BLOCK), dtype=np.float32)
        padded.reshape(-1)[: len(own)] = own
        rows.append(Row(padded, running_sums(padded), chosen.astype(np.int32)))
    return rows


def running_sums(weights: Singles) -> Floats:
    """Return the running sums of blocks of weights (blocks, 64)."""
    return np.cumsum(weights.sum(axis=1, dtype=np.float64))


def draw(rows: Sequence[Row], counts: Sequence[int], rng: Generator) -> Ids:
    """Draw `counts[i]` words from row i, for all rows; the draws of row i stand together."""
    total = sum(counts)
    blocks = np.empty(total, dtype=np.int64)
    rest = rng.random(total)
    start = 0
    for row, count in zip(rows, counts, strict=True):
        span = slice(start, start + count)
        blocks[span], rest[span] = _choose_blocks(row.sums, rest[span])
        start += count
    out = np.empty(total, dtype=np.int64)
    for first in range(0, total, _CHUNK):
        _finish(rows, counts, slice(first, min(first + _CHUNK, total)), blocks, rest, out)
    return out


def _choose_blocks(sums: Floats, uniform: Floats) -> tuple[Ids, Floats]:
    """Return the block of each draw, and how far into the block's mass it fell."""
    mass = sums[-1]
    target = uniform * mass
    block = np.searchsorted(sums, target, side="right")
    if len(sums) > 1:
        # Rounding up to the whole mass must not lead past the last block that has any.
        np.minimum(block, np.searchsorted(sums, mass), out=block)
        below = np.where(block > 0, sums[block - 1], 0.0)
    else:
        block[:] = 0
        below = np.zeros(len(block))
    return block, target - below


def _finish(
    rows: Sequence[Row],
    counts: Sequence[int],
    span: slice,
    blocks: Ids,
    rest: Floats,
    out: Ids,
) -> None:
    """Find the word within each chosen block, for one chunk of draws."""
    length = span.stop - span.start
    weights = np.empty((length, BLOCK), dtype=np.float32)
    pieces = list(_overlaps(counts, span))
    for i, piece in pieces:
        local = slice(piece.start - span.start, piece.stop - span.start)
        rows[i].weights.take(blocks[piece], axis=0, out=weights[local], mode="clip")
    running = np.cumsum(weights, axis=1, dtype=np.float64)
    inside = np.count_nonzero(running <= rest[span, None], axis=1)
    over = np.flatnonzero(inside == BLOCK)
    if over.size:  # rounding led past the block: its last word that has any weight
        inside[over] = BLOCK - 1 - np.argmax(weights[over, ::-1] > 0, axis=1)
    out[span] = blocks[span] * BLOCK + inside
    for i, piece in pieces:
        candidates = rows[i].candidates
        if candidates is not None:
            out[piece] = candidates[out[piece]]


def _overlaps(counts: Sequence[int], span: slice) -> list[tuple[int, slice]]:
    """Return the rows that have draws in `span`, each with its part of it."""
    ends = np.cumsum(counts)
    first = int(np.searchsorted(ends, span.start, side="right"))
    found = []
    for i in range(first, len(counts)):
        start = int(ends[i]) - counts[i]
        if start >= span.stop:
            break
        piece = slice(max(start, span.start), min(int(ends[i]), span.stop))
        if piece.stop > piece.start:
            found.append((i, piece))
    return found
