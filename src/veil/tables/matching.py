"""Who matches whom when a missing value matches every value, on both sides."""

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import MISSING


class Matching:
    """Rows of codes (n, columns), which may be blanked one by one.

    Rows that are alike are counted as one pattern; the patterns are few where tables are coarse.
    """

    def __init__(self, codes: Ids, weights: Floats | None = None) -> None:
        self._codes = codes  # changed in place by `change`
        weight = np.ones(len(codes)) if weights is None else weights
        patterns, at = np.unique(codes, axis=0, return_inverse=True)
        self._number = {tuple(pattern): i for i, pattern in enumerate(patterns.tolist())}
        self._patterns = patterns.T.copy()  # (columns, patterns)
        self._sizes = np.bincount(at.ravel(), weight, minlength=len(patterns))
        self._weight = weight
        self._used = len(patterns)

    def count(self, row: Ids) -> float:
        """Return how many rows (or how much weight) match one."""
        match = np.ones(self._used, dtype=np.bool_)
        for column, code in zip(self._patterns, row, strict=True):
            if code != MISSING:
                known = column[: self._used]
                match &= (known == code) | (known == MISSING)
        return float(self._sizes[: self._used][match].sum())

    def counts(self) -> Floats:
        """Return how many rows (or how much weight) match each row (n,)."""
        patterns, at = np.unique(self._codes, axis=0, return_inverse=True)
        found = np.array([self.count(pattern) for pattern in patterns])
        return found[at.ravel()]

    def change(self, row: int, column: int, code: int) -> None:
        """Give a cell another code."""
        before = self._place(row)
        self._sizes[before] -= self._weight[row]
        self._codes[row, column] = code
        after = self._place(row)  # may make room: not within the sum
        self._sizes[after] += self._weight[row]

    def _place(self, row: int) -> int:
        key = tuple(self._codes[row].tolist())
        found = self._number.get(key)
        if found is None:
            if self._used == self._patterns.shape[1]:
                self._patterns = np.concatenate([self._patterns, self._patterns], axis=1)
                self._sizes = np.concatenate([self._sizes, np.zeros(len(self._sizes))])
            found = self._number[key] = self._used
            self._patterns[:, found] = self._codes[row]
            self._sizes[found] = 0.0
            self._used += 1
        return found
