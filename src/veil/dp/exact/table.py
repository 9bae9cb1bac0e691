r"""Draw from a law on the whole numbers by inversion, exactly.

A uniform number U of infinitely many bits is compared with the distribution function, of which
only bounds lo_i <= 2^P F(i) <= hi_i are known; as many bits of U are drawn as the comparison
needs. The first 16 decide by one look into a table of 65,536 cells, wherever a whole cell lies
inside one step of F; 48 more decide nearly all others by a binary search; what is still open
after 64 bits, or lies beyond the listed values, is decided by integers of twice the precision,
and again. Every draw takes the same work, and none of it depends on data.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.dp.exact.bits import Words, halves, more, words

PRECISION = 256
_BLOCK = 2**17  # draws at a time: they stay in the cache
FEW = 1_024  # draws that are not worth a table of cells
SINGLE = 4  # draws that are not worth arrays
_FIRST = 16


@dataclass(frozen=True)
class Steps:
    """Values in the order of the steps of F, and bounds of 2^bits F after each.

    The values of a law that has no last one end where less than 2^-(bits - 106) is left.
    """

    values: Sequence[int]
    lo: Sequence[int]
    hi: Sequence[int]
    bits: int


class Law(Protocol):
    """A law on the whole numbers, at any precision."""

    def steps(self, bits: int) -> Steps:
        """Return values and bounds."""
        ...


class Table:
    """Draws from one law. `depth` is the number of bits of the binary search."""

    def __init__(self, law: Law, bits: int = PRECISION, depth: int = 64) -> None:
        self._law, self._depth = law, depth
        self._steps = law.steps(bits)
        self._values = np.array(self._steps.values, dtype=np.int64)
        shift = bits - depth
        top = (1 << depth) - 1
        self._below = np.array([min(lo >> shift, top) for lo in self._steps.lo], dtype=np.uint64)
        self._above = np.array([min(hi >> shift, top) for hi in self._steps.hi], dtype=np.uint64)
        self._cells: NDArray[np.signedinteger] | None = None

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n values."""
        if n <= FEW:  # by n alone, so that a seed gives the same whatever was drawn before
            return self.few(words(n, rng), rng)
        drawn = np.empty(n, dtype=np.int64)
        for start in range(0, n, _BLOCK):
            part = drawn[start : start + _BLOCK]
            part[:] = self._look(halves(len(part), rng), rng)
        return drawn

    def few(self, fresh: Words, rng: Generator) -> Ids:
        """Return a value for each of a few random words."""
        if len(fresh) <= SINGLE:
            return np.array([self.one(int(u), rng) for u in fresh], dtype=np.int64)
        return self._search(fresh >> np.uint64(64 - self._depth), rng)

    def one(self, fresh: int, rng: Generator) -> int:
        """Decide as `_search` does, for one word, where arrays cost more than they save."""
        u = fresh >> (64 - self._depth)
        below, above = self._ends
        at = bisect_left(above, u)
        if at < len(above) and u < below[at]:
            return int(self._steps.values[at])
        return self._resolve(u, self._depth, rng)

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        return self._below.tolist(), self._above.tolist()

    def _look(self, first: NDArray[np.uint16], rng: Generator) -> NDArray[np.signedinteger]:
        """Look 16-bit words up, and search for those whose cell is not inside one step."""
        if self._cells is None:
            self._cells = self._make_cells()
        seen = self._cells.take(first)
        open_ = np.flatnonzero(seen == np.iinfo(seen.dtype).min)
        if not len(open_):
            return seen
        rest = self._depth - _FIRST
        more_bits = words(len(open_), rng) >> np.uint64(64 - rest)
        drawn = seen.astype(np.int64)
        drawn[open_] = self._search(
            (first[open_].astype(np.uint64) << np.uint64(rest)) | more_bits, rng
        )
        return drawn

    def _make_cells(self) -> NDArray[np.signedinteger]:
        steps, shift = self._steps, self._steps.bits - _FIRST
        largest = max(abs(int(self._values.min())), abs(int(self._values.max())))
        kind = next(
            kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max
        )
        cells = np.full(2**_FIRST, np.iinfo(kind).min, dtype=kind)
        start = 0
        for value, lo, hi in zip(steps.values, steps.lo, steps.hi, strict=True):
            cells[start : lo >> shift] = value
            start = -(-hi >> shift)
        return cells

    def _search(self, u: Words, rng: Generator) -> Ids:
        """Decide by numbers of `depth` bits."""
        at = np.searchsorted(self._above, u, side="left")  # all before it are certainly below U
        sure = at < len(self._values)
        at = np.minimum(at, len(self._values) - 1)
        sure &= u < self._below[at]
        drawn = self._values[at]
        for i in () if sure.all() else np.flatnonzero(~sure):
            drawn[i] = self._resolve(int(u[i]), self._depth, rng)
        return drawn

    def _resolve(self, prefix: int, length: int, rng: Generator) -> int:
        """Draw more bits, and bounds of more bits, until they decide."""
        steps = self._steps
        while True:
            if length + 32 > steps.bits:
                steps = self._law.steps(2 * steps.bits)
            shift = steps.bits - length
            low, high = prefix << shift, (prefix + 1) << shift  # U is in [low, high)
            at = bisect_right(steps.hi, low)
            if at < len(steps.lo) and high <= steps.lo[at]:
                return int(steps.values[at])
            if at >= len(steps.lo):  # beyond what is listed
                steps = self._law.steps(2 * steps.bits)
            prefix, length = more(prefix, rng), length + 64
