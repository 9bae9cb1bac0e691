"""Kernels of word mechanisms: perturb a vector, sample from candidates, or from all words.

The discrete distributions are known up to a factor, and many words are sampled at once. A row has
the weights of one word in blocks of 64 as float32, and the cumulative sums of the blocks as
float64. That is 4 bytes per word of the vocabulary, and a draw reads one block. Weights below
1e-38 of the largest are zero and are never drawn.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.parallel import in_threads
from veil.core.types import Floats, Ids, Singles
from veil.data.memo import Memo, private_cache
from veil.text.vectors.distances import (
    COLUMNS,
    distances,
    exp_in_place,
    in_chunks,
    rows_at_once,
    sweep,
)
from veil.text.vectors.embeddings import Embeddings

BLOCK = 64
VANISHED = (
    "The distribution of a word cannot be computed because its weights vanish. Decrease 'epsilon'."
)
_CHUNK = 16_384  # draws expanded at a time


@dataclass(frozen=True, slots=True)
class WeightedRow:
    """The distribution of one word: weights of all words, or of its `candidates`."""

    weights: Singles  # (blocks, 64), padded with zeros
    sums: Floats  # (blocks,) cumulative sums of the blocks
    candidates: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        if not 0 < self.sums[-1] < np.inf:  # true for nan, too
            raise ParameterError(VANISHED)

    @property
    def nbytes(self) -> int:
        """Memory use in bytes."""
        candidates = 0 if self.candidates is None else self.candidates.nbytes
        return self.weights.nbytes + self.sums.nbytes + candidates + 200


def make_rows(log_weights: Floats, candidates: Ids) -> list[WeightedRow]:
    """Return rows for log-weights (m, c) of candidates (m, c); -inf means never drawn."""
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    blocks = -(-weights.shape[1] // BLOCK)
    rows = []
    for own, words in zip(weights, candidates, strict=True):
        padded = np.zeros((blocks, BLOCK), dtype=np.float32)
        padded.reshape(-1)[: len(own)] = own
        rows.append(WeightedRow(padded, running_sums(padded), words.astype(np.int32)))
    return rows


def running_sums(weights: Singles) -> Floats:
    """Return the cumulative sums of blocks of weights (blocks, 64)."""
    return np.cumsum(weights.sum(axis=1, dtype=np.float64))


def draw(rows: Sequence[WeightedRow], counts: Sequence[int], rng: Generator) -> Ids:
    """Draw `counts[i]` words from row i, for all rows. The draws of a row are consecutive."""
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
    """Return the block of each draw, and the position of the draw within the block's mass."""
    mass = sums[-1]
    target = uniform * mass
    block = np.searchsorted(sums, target, side="right")
    if len(sums) > 1:
        # A target rounded up to the total mass must not go past the last block with any mass.
        np.minimum(block, np.searchsorted(sums, mass), out=block)
        below = np.where(block > 0, sums[block - 1], 0.0)
    else:
        block[:] = 0
        below = np.zeros(len(block))
    return block, target - below


def _finish(
    rows: Sequence[WeightedRow],
    counts: Sequence[int],
    span: slice,
    blocks: Ids,
    rest: Floats,
    out: Ids,
) -> None:
    """Find the word within the block of each draw, for one chunk of draws."""
    length = span.stop - span.start
    weights = np.empty((length, BLOCK), dtype=np.float32)
    pieces = list(_overlaps(counts, span))
    for i, piece in pieces:
        local = slice(piece.start - span.start, piece.stop - span.start)
        rows[i].weights.take(blocks[piece], axis=0, out=weights[local], mode="clip")
    running = np.cumsum(weights, axis=1, dtype=np.float64)
    inside = np.count_nonzero(running <= rest[span, None], axis=1)
    over = np.flatnonzero(inside == BLOCK)
    if over.size:  # rounding went past the block: take its last word with any weight
        inside[over] = BLOCK - 1 - np.argmax(weights[over, ::-1] > 0, axis=1)
    out[span] = blocks[span] * BLOCK + inside
    for i, piece in pieces:
        candidates = rows[i].candidates
        if candidates is not None:
            out[piece] = candidates[out[piece]]


def _overlaps(counts: Sequence[int], span: slice) -> list[tuple[int, slice]]:
    """Return the rows that have draws in `span`, each with its part of `span`."""
    ends = np.cumsum(counts)
    first = int(np.searchsorted(ends, span.start, side="right"))
    overlaps = []
    for i in range(first, len(counts)):
        start = int(ends[i]) - counts[i]
        if start >= span.stop:
            break
        piece = slice(max(start, span.start), min(int(ends[i]), span.stop))
        if piece.stop > piece.start:
            overlaps.append((i, piece))
    return overlaps


Noise = Callable[[int, Generator], Floats]  # count, generator -> (count, d)
Pick = Callable[[Ids, Floats, Generator], Ids]  # nearest ids, distances (m, k) -> ids (m,)
Candidates = Callable[[Ids], tuple[Ids, Floats]]  # (m,) -> words (m, c), log-weights (m, c)
_FAR = 1e8  # times the length of the longest vector
_OWN_BYTES = 32 * 2**20  # for rows in a cache that is not shared
_POINTS = 4096  # perturbed vectors searched at a time


def take_nearest(ids: Ids, distances: Floats, rng: Generator) -> Ids:
    """Return the nearest word."""
    del distances, rng
    return ids[:, 0]


@dataclass(frozen=True)
class NoiseKernel:
    """Add noise to the word's vector, and pick one of the `k` words nearest to the sum."""

    space: Embeddings
    noise: Noise
    k: int = 1
    pick: Pick = take_nearest

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        flat = np.tile(ids, size)
        out = np.empty(len(flat), dtype=np.int64)
        for start in range(0, len(flat), _POINTS):
            part = flat[start : start + _POINTS]
            points = self._shorten(self.space.points(part) + self.noise(len(part), rng))
            nearest, distances = self.space.searcher.nearest(points, self.k)
            out[start : start + len(part)] = self.pick(nearest, distances, rng)
        return out.reshape(size, len(ids))

    def _shorten(self, points: Floats) -> Floats:
        """Shorten very long points, keeping their direction.

        At that distance only the direction of a word matters, and no square overflows. This uses
        only the perturbed vector, so it is post-processing, like the search itself.
        """
        limit = _FAR * max(1.0, math.sqrt(self.space.squares.max()))
        largest = np.abs(points).max(axis=1)
        if not np.isfinite(largest).all():
            raise ParameterError("The noise is too large to compute. Use a larger 'epsilon'.")
        far = largest > limit
        points[far] *= (limit / largest[far])[:, None]
        return points


@dataclass(frozen=True)
class NearestCandidates:
    """How the candidates of a word follow from its nearest words, for callers with a lookup table.

    `weigh` takes the `depth` nearest words of m words and their distances, both (m, depth), where
    each word comes first in its own row with distance -1. It returns words and log-weights like
    `CandidateKernel.shortlist`.
    """

    metric: str
    depth: int
    weigh: Callable[[Ids, Floats], tuple[Ids, Floats]]


@dataclass(frozen=True)
class CandidateKernel:
    """Draw from a distribution over a few candidates of each word.

    `near` is set if the candidates are nearest words.
    """

    space: Embeddings
    key: str
    shortlist: Candidates
    near: NearestCandidates | None = None

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        most = rows_at_once(self.space)
        return sample_rows(self.space, self.key, self._rows, ids, size, most, rng)

    def probs(self, ids: Ids) -> Floats:
        """Return the exact probabilities (n, V)."""
        out = np.zeros((len(ids), self.space.size))
        self._fill(out, ids, np.exp)
        return out

    def log_probs(self, ids: Ids) -> Floats:
        """Return the exact log-probabilities (n, V), -inf for words that are not candidates."""
        out = np.full((len(ids), self.space.size), -np.inf)
        self._fill(out, ids, np.positive)
        return out

    def _fill(self, out: Floats, ids: Ids, function: np.ufunc) -> None:
        """Write a function of the log-probabilities into the columns of the candidates."""
        for part in in_chunks(ids, rows_at_once(self.space)):
            candidates, weights = self.shortlist(ids[part])
            row, column = np.nonzero(weights > -np.inf)  # -inf is padding
            out[part][row, candidates[row, column]] = function(normalise(weights)[row, column])

    def _rows(self, ids: Ids) -> list[WeightedRow]:
        candidates, weights = self.shortlist(ids)
        return make_rows(weights, candidates)


def normalise(logs: Floats) -> Floats:
    """Subtract the log of the sum of exponentials from each row, in place."""
    top = logs.max(axis=1, keepdims=True)
    if not np.isfinite(top).all():
        raise ParameterError(VANISHED)
    logs -= top
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs


def sample_rows(
    space: Embeddings,
    key: str,
    make: Callable[[Ids], list[WeightedRow]],
    ids: Ids,
    size: int,
    most: int,
    rng: Generator,
) -> Ids:
    """Draw for each position from its word's row. Rows are computed once, `most` at a time.

    Rows are kept in the bounded cache of the embeddings under `key`, which identifies the
    distribution, or in the private cache if one is active (`veil.data.memo.private_cache`).
    """
    distinct, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable")  # positions, grouped by word
    out = np.empty((size, len(ids)), dtype=np.int64)
    done = 0
    for part in in_chunks(distinct, most):
        rows = _cached(space, key, make, distinct[part])
        draws = draw(rows, (counts[part] * size).tolist(), rng)
        positions = order[done : done + int(counts[part].sum())]
        out[:, positions] = draws.reshape(len(positions), size).T
        done += len(positions)
    return out


def _cached(
    space: Embeddings, key: str, make: Callable[[Ids], list[WeightedRow]], distinct: Ids
) -> Sequence[WeightedRow]:
    """Return the rows of distinct words, from the cache if possible."""
    memo = private_cache(("laws", id(space)), lambda: Memo(_OWN_BYTES)) or space.memo
    rows = {int(i): memo.get((key, int(i)), WeightedRow) for i in distinct}
    missing = np.array([i for i, row in rows.items() if row is None], dtype=np.int64)
    for i, row in zip(missing.tolist(), make(missing) if len(missing) else (), strict=True):
        memo.put((key, i), row)
        rows[i] = row
    return [row for row in rows.values() if row is not None]


_ROWS = 64  # rows made at a time
_STEEPEST = 1e30  # larger slopes are the same in float32: no other word is ever drawn
_EMPTY = WeightedRow(np.ones((1, BLOCK), dtype=np.float32), np.ones(1))
_FAINT = 1e-25  # a row with a smaller sum of weights is computed again, scaled


@dataclass(frozen=True)
class ExponentialKernel:
    r"""Weights :math:`e^{-slope \min(d(w, v), cap)}` over the words v >= first.

    A word w < first is kept with probability 1 - p, and replaced like any other with probability
    p. `key` identifies the distribution in the cache of the embeddings.
    """

    space: Embeddings
    key: str
    slope: float
    metric: str = "euclidean"
    cap: float = math.inf
    first: int = 0
    p: float = 1.0

    def sample(self, ids: Ids, size: int, rng: Generator) -> Ids:
        """Map word ids (n,) to draws (size, n)."""
        return sample_rows(self.space, self.key, self._rows, ids, size, _ROWS, rng)

    def probs(self, ids: Ids) -> Floats:
        """Return the exact probabilities (n, V)."""
        out = np.empty((len(ids), self.space.size))
        for part in in_chunks(ids, _ROWS):
            own = out[part]
            sums = np.zeros((len(own), -(-self.space.size // COLUMNS)))

            def take(
                block: Floats, columns: slice, own: Floats = own, sums: Floats = sums
            ) -> None:
                self._scale(block, columns)
                exp_in_place(block)
                own[:, columns] = block
                sums[:, columns.start // COLUMNS] = block.sum(axis=1)

            sweep(self.space, ids[part], self.metric, take)
            total = sums.sum(axis=1, keepdims=True)
            if total.min() < _FAINT:
                own[:] = np.exp(self.log_probs(ids[part]))
                continue
            rare = self._keepable(ids[part])

            def divide(rows: slice, own: Floats = own, total: Floats = total) -> None:
                own[rows] /= total[rows]

            in_threads(divide, len(own))
            own[rare] *= self.p
            own[rare, ids[part][rare]] = 1 - self.p
        return out

    def log_probs(self, ids: Ids) -> Floats:
        """Return the exact log-probabilities (n, V)."""
        out = np.empty((len(ids), self.space.size))
        for part in in_chunks(ids, rows_at_once(self.space)):
            out[part] = self._logs(ids[part])
        return out

    def _scale(self, block: Floats, columns: slice) -> None:
        """Convert distances to log-weights, in place."""
        if self.cap < math.inf:
            np.minimum(block, self.cap, out=block)
        with np.errstate(over="ignore"):
            block *= -self.slope
        if columns.start < self.first:
            block[:, : self.first - columns.start] = -np.inf

    def _keepable(self, ids: Ids) -> Ids:
        """Return the positions of words that are kept with probability 1 - p."""
        return np.flatnonzero(ids < self.first)

    def _logs(self, ids: Ids) -> Floats:
        logs = distances(self.space, ids, self.metric)
        self._scale(logs, slice(0, self.space.size))
        normalise(logs)
        rows = self._keepable(ids)
        logs[rows] += math.log(self.p)
        logs[rows, ids[rows]] = math.log(1 - self.p) if self.p < 1 else -math.inf
        return logs

    def _rows(self, ids: Ids) -> list[WeightedRow]:
        """Compute the weights of all words for `ids`, block by block, directly in their rows.

        Products are float64; root, factor and exponential are float32. The effect is the same as a
        relative error of 3e-7 in epsilon.
        """
        width = -(-self.space.size // BLOCK) * BLOCK
        weights: list[Singles] = [np.zeros(width, dtype=np.float32) for _ in ids]
        euclidean = self.metric == "euclidean"

        def take(block: Floats, columns: slice) -> None:
            part = block.astype(np.float32)
            if euclidean:
                np.sqrt(part, out=part)
            if self.cap < _STEEPEST:
                np.minimum(part, self.cap, out=part)
            part *= -min(self.slope, _STEEPEST)
            np.exp(part, out=part)
            part[:, : max(0, self.first - columns.start)] = 0
            for row, own in zip(part, weights, strict=True):
                own[columns] = row

        sweep(self.space, ids, "squared" if euclidean else self.metric, take)
        rows: list[WeightedRow] = [_EMPTY] * len(ids)

        def add_up(part: slice) -> None:
            for i in range(part.start, part.stop):
                rows[i] = self._row(int(ids[i]), weights[i])

        in_threads(add_up, len(ids))
        return rows

    def _row(self, word: int, weights: Singles) -> WeightedRow:
        blocks = weights.reshape(-1, BLOCK)
        sums = running_sums(blocks)
        if sums[-1] < _FAINT:  # all words are far: rescale, which leaves the distribution the same
            logs = self._logs(np.array([word]))[0]
            weights[: len(logs)] = np.exp(logs - logs.max())
        elif word < self.first:
            weights[word] = sums[-1] * (1 - self.p) / self.p
        else:
            return WeightedRow(blocks, sums)
        return WeightedRow(blocks, running_sums(blocks))


Shortlist = CandidateKernel  # former name; remove in 0.4
