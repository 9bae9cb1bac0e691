"""Ones that are counted for each code, and the counts that follow from them."""

import numpy as np

from veil.core.types import Floats, Ids
from veil.dp.local.aggregate import Aggregate, Reader, frequency
from veil.dp.local.packed import column_sums
from veil.dp.local.parts import Array


class Tally(Aggregate):
    """How often each code was reported, seen with probability `hit` if true and else `miss`."""

    def __init__(self, oracle: Reader, size: int, hit: float, miss: float) -> None:
        super().__init__(oracle)
        self._hit, self._miss = hit, miss
        self._ones: Ids = np.zeros(size, dtype=np.int64)

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += np.bincount(data, minlength=len(self._ones))

    def _counts(self, targets: Array) -> tuple[Floats, Floats]:
        ones = self._ones[targets].astype(np.float64)
        return frequency(ones, self.n, self._hit, self._miss)


class Columns(Tally):
    """The same, of reports with one bit for each code."""

    def _add(self, data: Array, index: Array) -> None:
        del index
        self._ones += column_sums(data, len(self._ones))
