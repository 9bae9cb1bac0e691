"""Exact search for the nearest words of a point.

The nearest word y of a point x has the largest score x.y - |y|^2/2 = (|x|^2 - |x-y|^2) / 2. Words
are sorted by length and cut into blocks, so that |y|^2/2 hardly varies within a block. A first
pass in low precision bounds each block's largest x.y with a proven error, and rules out blocks
that cannot contain one of the k nearest words. The second pass computes |x-y|^2 in float64 for the
remaining words, and sorts by distance, then by position in the vocabulary. The result equals that
of a plain loop in float64, whichever first pass ran.

The first pass is a float32 product with NumPy, or, with numba on a processor with AVX2 (extra
`fast`), a fused product of 8-bit integers (see `veil.text.vectors._fused`).
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from veil.core.errors import VeilError
from veil.core.parallel import cores, one_blas_thread
from veil.core.types import Floats, Ids, Singles

if TYPE_CHECKING:
    from veil.text.vectors._fused import QuantisedVectors

Engine = Literal["auto", "numpy", "numba"]
Pairs = tuple[Ids, Ids]  # candidates: which point, which word

_SINGLE = 2.0**-24  # relative rounding of float32
_DOUBLE = 2.0**-53  # relative rounding of float64
_SIZE = 64  # words in a block of the NumPy pass
_ROWS = 2048  # words in one product
_BATCH = 256  # points at a time per thread
_MAX_PAIRS = 2**22  # candidates at a time per thread


def fused_at_hand() -> bool:
    """Return whether the fused pass can run on this machine, where it is then faster."""
    try:
        from llvmlite import binding

        from veil.text.vectors import _fused, _fused_exp  # noqa: F401 - numba may find no place to cache
    except (ImportError, RuntimeError):
        return False
    return bool(binding.get_host_cpu_features().get("avx2", False))


class NearestWords:
    """Search for nearest words among rows of finite float32 vectors."""

    def __init__(self, vectors: Singles, engine: Engine = "auto") -> None:
        self.vectors = vectors
        self.size, self.dim = vectors.shape
        self.engine = ("numba" if fused_at_hand() else "numpy") if engine == "auto" else engine
        self._rounding = 8.0 * (self.dim + 16) * _DOUBLE  # of a float64 sum, with a wide margin

    def nearest(self, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Return the `k` nearest words of points (m, d), nearest first: ids and distances (m, k).

        Ties go to the word that comes first in the vocabulary.
        """
        points = np.ascontiguousarray(points, dtype=np.float64)
        first_pass = self._fused if self.engine == "numba" else self._product
        parts = _split(points)
        with one_blas_thread():
            if len(parts) == 1:
                results = [self._search(parts[0], k, first_pass)]
            else:
                with ThreadPoolExecutor(cores()) as pool:
                    results = list(pool.map(lambda part: self._search(part, k, first_pass), parts))
        ids, squares = (np.concatenate(column) for column in zip(*results, strict=True))
        return ids, np.sqrt(squares)

    def _search(
        self, points: Floats, k: int, first_pass: "MatrixProduct | QuantisedVectors"
    ) -> tuple[Ids, Floats]:
        pairs = first_pass.candidates(points, k)
        if pairs is None:  # too many ties: search fewer points at a time
            half = len(points) // 2
            halves = [self._search(part, k, first_pass) for part in (points[:half], points[half:])]
            return np.concatenate([h[0] for h in halves]), np.concatenate([h[1] for h in halves])
        return _finish(self.vectors, points, *pairs, k)

    @cached_property
    def _product(self) -> "MatrixProduct":
        return MatrixProduct(self.vectors, self._rounding)

    @cached_property
    def _fused(self) -> "QuantisedVectors":
        from veil.text.vectors._fused import QuantisedVectors

        return QuantisedVectors(self.vectors, self._rounding, _MAX_PAIRS)


def _split(points: Floats) -> list[Floats]:
    """Return parts of at most `_BATCH` points, in equal shares for all processors."""
    shares = cores() * -(-len(points) // (_BATCH * cores()))
    step = max(1, -(-len(points) // max(1, shares)))
    return [points[start : start + step] for start in range(0, max(1, len(points)), step)]


def _finish(vectors: Singles, points: Floats, which: Ids, rows: Ids, k: int) -> tuple[Ids, Floats]:
    """Return ids and squared distances (m, k) from candidate pairs, at least k of each point.

    The sum of a pair depends only on the pair, so equal vectors tie exactly.
    """
    squares = np.empty(len(rows))
    step = max(1, 2**18 // points.shape[1])
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        gap = points[which[part]]
        gap -= vectors[rows[part]]
        gap *= gap
        squares[part] = gap.sum(axis=1)
    order = np.lexsort((rows, squares, which))
    begin = np.searchsorted(which[order], np.arange(len(points)))
    if np.diff(begin, append=len(rows)).min(initial=k) < k:
        raise VeilError("The search lost track of a point; nothing is released.")
    take = order[begin[:, None] + np.arange(k)]
    return rows[take], squares[take]


def half_squares(vectors: Singles) -> Floats:
    """Return |y|^2/2 of every row, in float64."""
    out = np.empty(len(vectors))
    for start in range(0, len(vectors), 4096):
        part = vectors[start : start + 4096].astype(np.float64)
        out[start : start + len(part)] = 0.5 * np.einsum("ij,ij->i", part, part)
    return out


class MatrixProduct:
    """First pass with NumPy: float32 products with the words sorted by length."""

    def __init__(self, vectors: Singles, rounding: float) -> None:
        halves = half_squares(vectors)
        self._order: Ids = np.argsort(halves, kind="stable")
        self._sorted = np.ascontiguousarray(vectors[self._order])
        first = np.arange(0, len(vectors), _SIZE)
        last = np.minimum(first + _SIZE, len(vectors)) - 1
        ordered = halves[self._order]
        margin = 2 * rounding * ordered[last]
        self._low = ordered[first] - margin  # bounds of |y|^2/2 in each block
        self._high = ordered[last] + margin
        self._length = np.sqrt(2 * self._high)
        # A float32 product of d terms, rounded inputs, and the bounds themselves in float32.
        self._error = (2 * vectors.shape[1] + 32) * _SINGLE
        self._rounding = rounding

    def candidates(self, points: Floats, k: int) -> Pairs | None:
        """Return all pairs that can be among the k nearest, or None if they are too many."""
        squares = np.einsum("ij,ij->i", points, points)
        bounds = self._maxima(points)  # (blocks, m), of x.y
        tolerance = self._error * np.sqrt(squares)
        slack = 2 * self._rounding * squares + 1e-36 * points.shape[1]  # float32 may underflow
        # The error of a block: of the product, and of the two subtractions in float32.
        error = np.outer(self._length, tolerance) + (8 * _SINGLE * self._high)[:, None]
        error = error.astype(np.float32)
        bounds -= error
        bounds -= self._high[:, None].astype(np.float32)  # now lower bounds of the scores
        limit = _kth_largest(bounds, k) - slack
        error *= 2
        error += (self._high - self._low)[:, None].astype(np.float32)
        bounds += error  # now upper bounds
        block, which = np.nonzero(bounds >= limit.astype(np.float32) - _ulp(limit))
        if len(block) * _SIZE > _MAX_PAIRS and len(points) > 1:
            return None
        rows = block[:, None] * _SIZE + np.arange(_SIZE)
        real = rows < len(self._sorted)
        return np.broadcast_to(which[:, None], rows.shape)[real], self._order[rows[real]]

    def _maxima(self, points: Floats) -> Singles:
        """Return the largest product of each block with each point, (blocks, m)."""
        columns = np.ascontiguousarray(points.T, dtype=np.float32)
        total, m = len(self._sorted), len(points)
        out = np.empty((-(-total // _SIZE), m), dtype=np.float32)
        scores = np.empty((min(_ROWS, total), m), dtype=np.float32)
        for start in range(0, total, _ROWS):
            rows = self._sorted[start : start + _ROWS]
            part = np.matmul(rows, columns, out=scores[: len(rows)])
            whole = len(rows) // _SIZE
            block = start // _SIZE
            grouped = part[: whole * _SIZE].reshape(whole, _SIZE, m)
            np.max(grouped, axis=1, out=out[block : block + whole])
            if whole * _SIZE < len(rows):
                np.max(part[whole * _SIZE :], axis=0, out=out[block + whole])
        return out


def _kth_largest(bounds: Singles, k: int) -> Floats:
    """Return for each column a value that at least k blocks reach; -inf if there are fewer.

    The k-th largest maximum of groups of blocks is such a value, and cheaper to find.
    """
    blocks = len(bounds)
    if k > blocks:
        return np.full(bounds.shape[1], -np.inf)
    groups = min(blocks, max(64, 4 * k))
    starts = np.linspace(0, blocks, groups, endpoint=False).astype(int)
    maxima = np.maximum.reduceat(bounds, starts, axis=0)
    if k > 1:
        maxima = np.partition(maxima, groups - k, axis=0)[groups - k : groups - k + 1]
    largest: Floats = maxima.max(axis=0).astype(np.float64)
    return largest


def _ulp(values: Floats) -> Singles:
    """Return the float32 steps at these values, which keep rounding from raising a limit."""
    finite = np.where(np.isfinite(values), np.abs(values), 0)
    return (4 * _SINGLE * finite).astype(np.float32)
