r"""Sketches of hashed texts: one row for each hash function, and what collides in them.

The estimate of a text is, over m columns and k rows T of the sketch,

.. math:: \frac{m}{m-1}\left(\frac{1}{k}\sum_j T_j[h_j(d)] - \frac{n}{m}\right)

Its variance has two parts: the noise of n reports, and the texts that share a cell with this one
by chance, :math:`\sum_{v \ne d} c_v^2 / (k m)`. Reports of the text itself have less noise than
those of others; only those count so that are surely its own, or few reports that agree by chance
would have no error at all. The sum of squares of all counts is read from the
sketch itself: the squares of its cells hold it, beside the noise, which is known.
"""

from abc import abstractmethod

import numpy as np

from veil.core.types import Floats, Ids
from veil.dp.local.aggregate import Aggregate, Reader
from veil.dp.local.counts import bonferroni
from veil.dp.local.hashing import positions
from veil.dp.local.parts import Array

_LOOKUPS = 2**20  # cells that are looked up at a time


class Sketch(Aggregate):
    """Sums of reports in `hashes` rows of `width` cells.

    `noise` is the variance of one report at the cell of another text, `own` that at the cell of
    its own, and `energy` the expected sum of squares of one report over the cells of its row.
    """

    def __init__(
        self, oracle: Reader, shape: tuple[int, int], noise: float, own: float, energy: float
    ) -> None:
        super().__init__(oracle)
        self.hashes, self.width = hashes, width = shape
        self._noise, self._own, self._energy = noise, own, energy
        self._cells: Ids = np.zeros((hashes, width), dtype=np.int64)

    @abstractmethod
    def rows(self) -> Floats:
        """Return T (hashes, width): each row alone estimates the counts of its cells."""

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        return self.look(targets)

    def look(self, targets: Array) -> tuple[Floats, Floats]:
        """Estimate the counts of texts, given by their numbers, and the variances."""
        table = self.rows()
        spread = self.width / (self.width - 1)
        counts = spread * (self._means(table, targets) - self.n / self.width)
        others = np.maximum(self._squares(table) - np.maximum(counts, 0.0) ** 2, 0.0)
        collisions = others / (self.hashes * self.width)
        noise = self.n * self._noise - self._surely(counts, collisions) * (self._noise - self._own)
        return counts, spread**2 * (noise + collisions)

    def _surely(self, counts: Floats, collisions: Floats) -> Floats:
        """Return how many reports are of a text at least: none, if it may not be there at all."""
        errors = np.sqrt(self.n * self._noise + collisions) * self.width / (self.width - 1)
        return np.clip(counts - bonferroni(len(counts)) * errors, 0.0, self.n)

    def _means(self, table: Floats, targets: Array) -> Floats:
        """Look each text up in every row, and average."""
        functions = np.arange(self.hashes)
        found = np.empty(len(targets))
        step = max(1, _LOOKUPS // self.hashes)
        for start in range(0, len(targets), step):
            block = targets[start : start + step]
            cells = positions(block[:, None], functions, self.width)
            found[start : start + step] = table[functions, cells].mean(axis=1)
        return found

    def _squares(self, table: Floats) -> float:
        """Estimate the sum of the squares of all counts.

        Two reports of one text share a cell of each row, two of different texts that of one row
        in `width`; a report with itself adds `energy`.
        """
        n, width = float(self.n), self.width
        pairs = float((table**2).sum()) / self.hashes - self.hashes * n * self._energy
        return max(0.0, (pairs + n - n * n / width) / (1 - 1 / width))


class Signs(Sketch):
    """Sums of Hadamard entries; the fast transform turns a row into counts."""

    def __init__(self, oracle: Reader, hashes: int, width: int, scale: float) -> None:
        square = scale**2
        super().__init__(oracle, (hashes, width), square, square - 1, square * width)
        self._scale = scale

    def _add(self, data: Array, index: Array) -> None:
        self.put(data, index[:, 0], index[:, 1])

    def put(self, bits: Array, functions: Array, entries: Array) -> None:
        """Add bits of some hash functions and entries of the Hadamard matrix."""
        at = functions.astype(np.int64) * self.width + entries
        flat = self._cells.reshape(-1)
        flat += 2 * np.bincount(at[bits == 1], minlength=flat.size)
        flat -= np.bincount(at, minlength=flat.size)

    def rows(self) -> Floats:
        """Transform the sums."""
        return self.hashes * self._scale * walsh_hadamard(self._cells.astype(np.float64))


def walsh_hadamard(rows: Floats) -> Floats:
    """Multiply rows (k, m) with the Hadamard matrix (-1)^popcount(i AND j), m a power of two.

    >>> walsh_hadamard(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]]
    """
    count, width = rows.shape
    half = 1
    while half < width:
        pairs = rows.reshape(count, width // (2 * half), 2, half)
        one, other = pairs[:, :, :1], pairs[:, :, 1:]
        rows = np.concatenate((one + other, one - other), axis=2).reshape(count, width)
        half *= 2
    return rows
