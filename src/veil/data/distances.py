"""Distances from a few words to the whole vocabulary, in float64 and in blocks."""

from collections.abc import Callable, Iterator

import numpy as np

from veil.core.parallel import in_threads
from veil.core.types import Floats, Ids
from veil.data.embeddings import Embeddings

_BLOCK = 4096  # vocabulary rows converted to float64 at a time
_BUDGET = 2**26  # bytes of distances held at a time
_GROUP = 64  # words per group when looking for the nearest


def in_chunks(ids: Ids, space: Embeddings) -> Iterator[slice]:
    """Cut `ids` so that one chunk's distances to all words fit the budget."""
    step = max(1, _BUDGET // (8 * space.size))
    for start in range(0, len(ids), step):
        yield slice(start, min(start + step, len(ids)))


def _products(space: Embeddings, points: Floats) -> Floats:
    """Inner products of points (m, d) with all words, (m, V)."""
    out = np.empty((len(points), space.size))
    for start in range(0, space.size, _BLOCK):
        block = space.vectors[start : start + _BLOCK].astype(np.float64)
        np.matmul(points, block.T, out=out[:, start : start + len(block)])
    return out


def euclidean(space: Embeddings, ids: Ids) -> Floats:
    r"""Return :math:`\lVert \phi(w) - \phi(v) \rVert_2` as (m, V)."""
    points = space.points(ids)
    out = _products(space, points)
    own = space.squares[ids]

    def finish(rows: slice) -> None:
        part = out[rows]
        part *= -2
        part += space.squares
        part += own[rows, None]
        # |w|^2 + |v|^2 - 2wv cancels for vectors that nearly coincide: take their difference.
        scale = 1e-7 * (own[rows, None] + 1e-30)
        for row, column in zip(*np.nonzero(part < scale), strict=True):
            gap = points[rows.start + row] - space.vectors[column]
            part[row, column] = gap @ gap
        np.sqrt(part, out=part)
        part[np.arange(len(part)), ids[rows]] = 0

    in_threads(finish, len(ids))
    return out


def cosine(space: Embeddings, ids: Ids) -> Floats:
    r"""Return :math:`1 - \cos(\phi(w), \phi(v))` as (m, V); a zero vector is at 1 from all."""
    out = _products(space, space.points(ids))
    norms = np.sqrt(space.squares)
    inverse = np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)

    def finish(rows: slice) -> None:
        part = out[rows]
        part *= inverse
        part *= -inverse[ids[rows], None]
        part += 1
        np.clip(part, 0, 2, out=part)
        part[np.arange(len(part)), ids[rows]] = 0

    in_threads(finish, len(ids))
    return out


def angular(space: Embeddings, ids: Ids) -> Floats:
    """Return the angle between the vectors in radians as (m, V): a true metric on directions."""
    out = cosine(space, ids)

    def finish(rows: slice) -> None:
        part = out[rows]
        np.subtract(1, part, out=part)
        np.arccos(part, out=part)

    in_threads(finish, len(ids))
    return out


def product(space: Embeddings, ids: Ids) -> Floats:
    """Return the product of cosine and Euclidean distance as (m, V)."""
    out = cosine(space, ids)
    out *= euclidean(space, ids)
    return out


Distance = Callable[[Embeddings, Ids], Floats]

DISTANCES: dict[str, Distance] = {
    "euclidean": euclidean,
    "cosine": cosine,
    "angular": angular,
    "product": product,
}


def between(space: Embeddings, ids: Ids, others: Ids, metric: str) -> Floats:
    """Return the distances of words (m,) to a few others each (m, c): Euclidean or cosine."""
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


def smallest(distances: Floats, count: int) -> Ids:
    """Return the positions of the `count` smallest entries of each row, (m, count), in order.

    Ties go to the lower position. Exact: the `count`-th smallest of the minima of groups of
    entries is an upper bound for the `count`-th smallest entry, so that only entries up to it
    need sorting.
    """
    out = np.empty((len(distances), count), dtype=np.int64)
    width = distances.shape[1]
    starts = np.arange(0, width, _GROUP)

    def search(rows: slice) -> None:
        for row in range(rows.start, rows.stop):
            values = distances[row]
            near = np.arange(width)
            if count <= len(starts):
                minima = np.minimum.reduceat(values, starts)
                near = np.flatnonzero(values <= np.partition(minima, count - 1)[count - 1])
            out[row] = near[np.argsort(values[near], kind="stable")[:count]]

    in_threads(search, len(distances))
    return out
