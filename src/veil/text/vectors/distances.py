"""Distances from a few words to the whole vocabulary, in float64, and sums over them.

The vocabulary is processed by several threads in blocks, which fit the processor's cache during
all steps of a computation.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np

from veil.core.parallel import in_threads, one_blas_thread
from veil.core.types import Floats, Ids
from veil.text.vectors.embeddings import Embeddings
from veil.text.vectors.nearest import fused_at_hand

_LOWEST = -700.0  # below it the exponential nearly underflows


def exp_in_place(logs: Floats) -> None:
    """Replace logs <= 0 by their exponentials, accurate to one unit in the last place.

    The extra `fast` uses SIMD registers; on many processors NumPy does not for float64.
    """
    if logs.flags.c_contiguous and _fused() and logs.size and logs.min() >= _LOWEST:
        from veil.text.vectors._fused_exp import fused_exp

        flat = logs.reshape(-1)
        fused_exp(flat, np.empty_like(flat))
    else:
        np.exp(logs, out=logs)


@cache
def _fused() -> bool:
    return fused_at_hand()


Take = Callable[[Floats, slice], None]  # distances (m, b), which it may overwrite, and columns
_Finish = Callable[[Floats, slice], None]  # products (m, b) -> distances, in place

COLUMNS = 2048  # words at a time
_BUDGET = 180 * 2**20  # bytes of distances at a time: 64 rows of glove-100d
_GROUP = 64  # words per group in `smallest`


def in_chunks(ids: Ids, most: int) -> Iterator[slice]:
    """Yield slices that cut `ids` into chunks of at most `most`."""
    for start in range(0, len(ids), most):
        yield slice(start, min(start + most, len(ids)))


def rows_at_once(space: Embeddings) -> int:
    """Return the number of rows of distances to all words that fit the memory budget."""
    return max(1, _BUDGET // (8 * space.size))


def sweep(space: Embeddings, ids: Ids, metric: str, take: Take) -> None:
    """Pass the distances of words (m,) to all words to `take`, one block of columns at a time.

    Several threads call it, in any order, once per block.
    """
    factor, finish = _METRICS[metric](space, ids)

    def work(blocks: slice) -> None:
        scores = np.empty((len(ids), COLUMNS))
        right = np.ones((COLUMNS, space.dim + 2))  # the words, their squared lengths, and ones
        for number in range(blocks.start, blocks.stop):
            columns = slice(number * COLUMNS, min((number + 1) * COLUMNS, space.size))
            width = columns.stop - columns.start
            right[:width, :-2] = space.vectors[columns]
            right[:width, -2] = space.squares[columns]
            np.matmul(factor, right.T, out=scores)  # columns beyond `width` are ignored
            part = scores[:, :width]
            finish(part, columns)
            take(part, columns)

    with one_blas_thread():
        in_threads(work, -(-space.size // COLUMNS))


def distances(space: Embeddings, ids: Ids, metric: str) -> Floats:
    """Return the distances of words (m,) to all words, (m, V)."""
    out = np.empty((len(ids), space.size))

    def take(part: Floats, columns: slice) -> None:
        out[:, columns] = part

    sweep(space, ids, metric, take)
    return out


def _extended(space: Embeddings, ids: Ids, scale: Floats, constant: Floats) -> Floats:
    """Return rows [scale * w, 0, constant], whose products with [v, |v|^2, 1] are affine in wv."""
    factor = np.zeros((len(ids), space.dim + 2))
    factor[:, :-2] = space.points(ids) * scale[:, None]
    factor[:, -1] = constant
    return factor


def _squared(space: Embeddings, ids: Ids) -> tuple[Floats, _Finish]:
    """Return the squared Euclidean distance, as one product: |w|^2 + |v|^2 - 2wv."""
    points, own = space.points(ids), space.squares[ids]
    factor = _extended(space, ids, np.full(len(ids), -2.0), own)
    factor[:, -2] = 1
    near = 1e-7 * own[:, None] + 1e-30

    def finish(part: Floats, columns: slice) -> None:
        # The three terms cancel for nearly equal vectors, so compute the difference directly.
        coincide = part < near
        if coincide.any():
            row, column = np.nonzero(coincide)
            for start in range(0, len(row), 4096):
                r, c = row[start : start + 4096], column[start : start + 4096]
                gap = points[r] - space.vectors[columns.start + c]
                part[r, c] = np.einsum("ij,ij->i", gap, gap)

    return factor, finish


def _euclidean(space: Embeddings, ids: Ids) -> tuple[Floats, _Finish]:
    r"""Return :math:`\lVert \phi(w) - \phi(v) \rVert_2`."""
    factor, square = _squared(space, ids)

    def finish(part: Floats, columns: slice) -> None:
        square(part, columns)
        np.sqrt(part, out=part)

    return factor, finish


def _inverse_lengths(space: Embeddings) -> Floats:
    lengths = np.sqrt(space.squares)
    return np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)


def _own_zero(part: Floats, ids: Ids, columns: slice) -> None:
    """Set the distance of each word in this block to itself to zero."""
    inside = np.flatnonzero((ids >= columns.start) & (ids < columns.stop))
    part[inside, ids[inside] - columns.start] = 0


def _cosine(space: Embeddings, ids: Ids) -> tuple[Floats, _Finish]:
    r"""Return :math:`1 - \cos(\phi(w), \phi(v))`; a zero vector has distance 1 to all others."""
    inverse = _inverse_lengths(space)
    factor = _extended(space, ids, -inverse[ids], np.zeros(len(ids)))

    def finish(part: Floats, columns: slice) -> None:
        part *= inverse[columns]
        part += 1
        np.maximum(part, 0, out=part)
        _own_zero(part, ids, columns)

    return factor, finish


def _angular(space: Embeddings, ids: Ids) -> tuple[Floats, _Finish]:
    """Return the angle between the vectors in radians: a true metric on directions."""
    factor, cosine = _cosine(space, ids)

    def finish(part: Floats, columns: slice) -> None:
        cosine(part, columns)
        np.subtract(1, part, out=part)
        np.maximum(part, -1, out=part)
        np.arccos(part, out=part)

    return factor, finish


def _product(space: Embeddings, ids: Ids) -> tuple[Floats, _Finish]:
    """Return the product of cosine and Euclidean distance."""
    factor, square = _squared(space, ids)
    inverse = _inverse_lengths(space)

    def finish(part: Floats, columns: slice) -> None:
        square(part, columns)
        angle = part - space.squares[columns]  # -2wv, then 1 - cos
        angle -= space.squares[ids][:, None]
        angle *= 0.5 * inverse[columns]
        angle *= inverse[ids][:, None]
        angle += 1
        np.maximum(angle, 0, out=angle)
        np.sqrt(part, out=part)
        part *= angle
        _own_zero(part, ids, columns)

    return factor, finish


_METRICS: dict[str, Callable[[Embeddings, Ids], tuple[Floats, _Finish]]] = {
    "squared": _squared,
    "euclidean": _euclidean,
    "cosine": _cosine,
    "angular": _angular,
    "product": _product,
}
METRICS = tuple(_METRICS)


def between(space: Embeddings, ids: Ids, others: Ids, metric: str) -> Floats:
    """Return the Euclidean or cosine distances of words (m,) to `others` (m, c)."""
    points = space.points(ids)[:, None, :]
    targets = space.points(others.ravel()).reshape(*others.shape, space.dim)
    if metric == "euclidean":
        gaps: Floats = np.linalg.norm(points - targets, axis=2)
        return gaps
    norms = np.sqrt(space.squares[ids][:, None] * space.squares[others])
    inner = np.einsum("mcd,mcd->mc", points, targets)
    gaps = 1 - np.divide(inner, norms, out=np.zeros_like(inner), where=norms > 0)
    np.clip(gaps, 0, 2, out=gaps)
    gaps[others == ids[:, None]] = 0
    return gaps


def smallest(values: Floats, count: int) -> Ids:
    """Return the positions of the `count` smallest entries of each row, (m, count), in order.

    Ties go to the lower position. The result is exact: the `count`-th smallest of the groups'
    minima bounds the `count`-th smallest entry, so only entries up to it are sorted.
    """
    out = np.empty((len(values), count), dtype=np.int64)
    width = values.shape[1]
    starts = np.arange(0, width, _GROUP)

    def search(rows: slice) -> None:
        for row in range(rows.start, rows.stop):
            entries = values[row]
            near = np.arange(width)
            if count <= len(starts):
                minima = np.minimum.reduceat(entries, starts)
                near = np.flatnonzero(entries <= np.partition(minima, count - 1)[count - 1])
            out[row] = near[np.argsort(entries[near], kind="stable")[:count]]

    in_threads(search, len(values))
    return out


Change = Callable[[Floats], None]  # of a block of distances, in place
ROUNDING = 1e-9  # relative error of sums in float64
_ROWS = 64  # observed words at a time


def subspace(space: Embeddings, words: Ids) -> Embeddings:
    """Return a space of only these words, which must be distinct and in order."""
    subset = tuple(space.words[i] for i in words.tolist())
    name = f"{len(subset)} words of {space.name}"
    return Embeddings(subset, space.vectors[words], name, trusted=True)


def summed(space: Embeddings, seen: Ids, metric: str, change: Change | None = None) -> Floats:
    """Return the sum over `seen` of a function of the distance to each word, (V,).

    Repeated words cost no extra time.
    """
    words, counts = np.unique(seen, return_counts=True)
    out = np.zeros(space.size)
    for part in in_chunks(words, _ROWS):
        weights = counts[part].astype(np.float64)

        def take(block: Floats, columns: slice, weights: Floats = weights) -> None:
            if change is not None:
                change(block)
            out[columns] += weights @ block

        sweep(space, words[part], metric, take)
    return out


def log_mean(logs: Floats) -> float:
    """Return the logarithm of the mean of the exponentials; -inf for an empty array."""
    top = logs.max(initial=-np.inf)
    if not np.isfinite(top):
        return float("-inf")
    return float(top + np.log(np.exp(logs - top).mean()))
