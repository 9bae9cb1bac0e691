"""Draw from discrete laws known up to a factor, many words and many draws at once.

A row holds one word's weights in blocks of 64, float32, and the running sums of the blocks in
float64: 4 bytes per word of the vocabulary, and a draw touches one block. A weight is thus kept to
24 bits, which moves a log-probability by at most 6e-8; weights below 1e-45 of the largest are
zero, and are never drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.parallel import in_threads
from veil.core.types import Floats, Ids, Singles

_BLOCK = 64
_CHUNK = 16_384  # draws expanded at a time


@dataclass(frozen=True, slots=True)
class Row:
    """The law of one word: weights over all words, or over `candidates` if given."""

    weights: Singles  # (blocks, 64), padded with zeros
    sums: Floats  # (blocks,) running sums of the blocks
    candidates: NDArray[np.int32] | None = None

    @property
    def nbytes(self) -> int:
        """Memory held."""
        held = 0 if self.candidates is None else self.candidates.nbytes
        return self.weights.nbytes + self.sums.nbytes + held + 200


def make_rows(log_weights: Floats, candidates: Ids | None = None) -> list[Row]:
    """Turn log-weights (m, c), which are overwritten, into rows; -inf means never.

    With `candidates` (m, c) the columns are those words, otherwise all words in order.
    """
    blocks = -(-log_weights.shape[1] // _BLOCK)
    weights = np.zeros((len(log_weights), blocks * _BLOCK), dtype=np.float32)

    def fill(part: slice) -> None:
        for logs, row in zip(log_weights[part], weights[part], strict=True):
            logs -= logs.max()
            np.exp(logs, out=logs)
            row[: len(logs)] = logs

    in_threads(fill, len(log_weights))
    rows = []
    for i in range(len(log_weights)):
        own = weights[i].reshape(blocks, _BLOCK).copy()  # so that each row can be let go of alone
        sums = np.cumsum(own.sum(axis=1, dtype=np.float64))
        chosen = None if candidates is None else candidates[i].astype(np.int32)
        rows.append(Row(own, sums, chosen))
    return rows


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
    weights = np.empty((length, _BLOCK), dtype=np.float32)
    pieces = list(_overlaps(counts, span))
    for i, piece in pieces:
        local = slice(piece.start - span.start, piece.stop - span.start)
        rows[i].weights.take(blocks[piece], axis=0, out=weights[local], mode="clip")
    running = np.cumsum(weights, axis=1, dtype=np.float64)
    inside = np.count_nonzero(running <= rest[span, None], axis=1)
    over = np.flatnonzero(inside == _BLOCK)
    if over.size:  # rounding led past the block: its last word that has any weight
        inside[over] = _BLOCK - 1 - np.argmax(weights[over, ::-1] > 0, axis=1)
    out[span] = blocks[span] * _BLOCK + inside
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
