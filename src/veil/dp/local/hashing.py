r"""Hashes of texts, and sketches of hashed texts.

A text is the little-endian BLAKE2b-64 of its UTF-8 bytes. Its position under hash function j is
``mix(h + G (j + 1)) mod width``, where mix is the finaliser of splitmix64, all modulo 2^64: one
BLAKE2b for each text, and a few operations on arrays for each hash function.

References
----------
Aumasson, Neves, Wilcox-O'Hearn, Winnerlein. BLAKE2. RFC 7693.
Steele, Lea, Flood. Fast Splittable Pseudorandom Number Generators. OOPSLA 2014, Figure 17.
doi:10.1145/2660193.2660195

A sketch has one row per hash function. With m columns and k rows T, the count of a text is
estimated by

.. math:: \frac{m}{m-1}\left(\frac{1}{k}\sum_j T_j[h_j(d)] - \frac{n}{m}\right)

Its variance has two parts: the noise of n reports, and the texts that share a cell with this one
by chance, :math:`\sum_{v \ne d} c_v^2 / (k m)`. Reports of the text itself have less noise than
other reports, but only reports that certainly belong to the text are counted that way. Otherwise a
few reports that agree by chance would seem to have no error. The sum of squares of all counts is
estimated from the squares of the cells, minus the known noise.
"""

from abc import abstractmethod
from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.dp.local.aggregate import Aggregate, Reader, bonferroni
from veil.dp.local.packed import Array

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """Return the 64-bit hash of a text.

    >>> text_hash("melanoma")
    15126047331207042889
    """
    try:
        octets = text.encode("utf-8")
    except (AttributeError, UnicodeError):
        raise InputError(
            "Values must be strings without lone surrogates. Convert numbers with str() first."
        ) from None
    return octet_hash(octets)


def octet_hash(octets: bytes) -> int:
    """Return the 64-bit hash of bytes."""
    return int.from_bytes(blake2b(octets, digest_size=8).digest(), "little")


class _TextHashes(dict[str, int]):
    """Cache of text hashes."""

    def __missing__(self, text: str) -> int:
        self[text] = number = text_hash(text)
        return number


def text_hashes(texts: Iterable[str]) -> Words:
    """Return the hashes (n,) of texts."""
    values = texts.tolist() if isinstance(texts, np.ndarray) else texts
    try:
        return np.fromiter(map(_TextHashes().__getitem__, values), dtype=np.uint64)
    except TypeError:  # unhashable values are not strings
        raise InputError("Values must be a list or array of strings.") from None


def positions(numbers: Words, functions: NDArray[Any], width: int) -> Ids:
    """Return the positions of text hashes under hash functions, with NumPy broadcasting.

    >>> positions(text_hashes(["melanoma"]), np.arange(4), 1024).tolist()
    [159, 928, 846, 554]
    """
    steps = functions.astype(np.uint64) + np.uint64(1)
    z = numbers + steps * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z ^= z >> np.uint64(31)
    if width & (width - 1):
        z %= np.uint64(width)
    else:
        z &= np.uint64(width - 1)
    where: Ids = z.astype(np.int64)
    return where


_LOOKUPS = 2**20  # cells looked up at a time


class Sketch(Aggregate):
    """Sums of reports in `hashes` rows of `width` cells.

    `noise` is the variance of one report at the cell of another text, `own` at the cell of its own
    text, and `energy` the expected sum of squares of one report over the cells of its row.
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
        """Return T (hashes, width): each row separately estimates the counts of its cells."""

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        return self.look(targets)

    def look(self, targets: Array) -> tuple[Floats, Floats]:
        """Return the estimated counts of text hashes, and their variances."""
        table = self.rows()
        spread = self.width / (self.width - 1)
        counts = spread * (self._means(table, targets) - self.n / self.width)
        others = np.maximum(self._squares(table) - np.maximum(counts, 0.0) ** 2, 0.0)
        collisions = others / (self.hashes * self.width)
        noise = self.n * self._noise - self._surely(counts, collisions) * (self._noise - self._own)
        return counts, spread**2 * (noise + collisions)

    def _surely(self, counts: Floats, collisions: Floats) -> Floats:
        """Return a lower bound on the reports of each text: 0 unless it is significant."""
        errors = np.sqrt(self.n * self._noise + collisions) * self.width / (self.width - 1)
        return np.clip(counts - bonferroni(len(counts)) * errors, 0.0, self.n)

    def _means(self, table: Floats, targets: Array) -> Floats:
        """Return the average over all rows of each text's cell."""
        functions = np.arange(self.hashes)
        means = np.empty(len(targets))
        step = max(1, _LOOKUPS // self.hashes)
        for start in range(0, len(targets), step):
            block = targets[start : start + step]
            cells = positions(block[:, None], functions, self.width)
            means[start : start + step] = table[functions, cells].mean(axis=1)
        return means

    def _squares(self, table: Floats) -> float:
        """Estimate the sum of the squares of all counts.

        Two reports of the same text share their cell in a row, two of different texts do so with
        probability 1/`width`, and a report with itself adds `energy`.
        """
        n, width = float(self.n), self.width
        pairs = float((table**2).sum()) / self.hashes - self.hashes * n * self._energy
        return max(0.0, (pairs + n - n * n / width) / (1 - 1 / width))


class Signs(Sketch):
    """Sums of Hadamard entries; the fast transform turns rows into counts."""

    def __init__(self, oracle: Reader, hashes: int, width: int, scale: float) -> None:
        square = scale**2
        super().__init__(oracle, (hashes, width), square, square - 1, square * width)
        self._scale = scale

    def _add(self, data: Array, index: Array) -> None:
        self.put(data, index[:, 0], index[:, 1])

    def put(self, bits: Array, functions: Array, entries: Array) -> None:
        """Add bits for these hash functions and entries of the Hadamard matrix."""
        at = functions.astype(np.int64) * self.width + entries
        flat = self._cells.reshape(-1)
        flat += 2 * np.bincount(at[bits == 1], minlength=flat.size)
        flat -= np.bincount(at, minlength=flat.size)

    def rows(self) -> Floats:
        """Transform the sums."""
        return self.hashes * self._scale * walsh_hadamard(self._cells.astype(np.float64))


def walsh_hadamard(rows: Floats) -> Floats:
    """Multiply rows (k, m) by the Hadamard matrix (-1)^popcount(i AND j), m a power of two.

    >>> walsh_hadamard(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, -1.0, 1.0, -1.0]]
    """
    count, width = rows.shape
    half = 1
    while half < width:
        pairs = rows.reshape(count, width // (2 * half), 2, half)
        first, second = pairs[:, :, :1], pairs[:, :, 1:]
        rows = np.concatenate((first + second, first - second), axis=2).reshape(count, width)
        half *= 2
    return rows
