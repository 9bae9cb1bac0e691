"""The values of a column in a few bins, and released labels spread over them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.measures.meaning import Meaning, Meanings

FEW = 10  # different numbers up to which each is a bin of its own
_NARROW = 32  # bins up to which labels are spread by cumulative counts


@dataclass(frozen=True, eq=False)
class Placed:
    """Records in bins: `codes` (m,) say which row of `weights` (kinds, bins) each is spread by."""

    codes: Ids
    weights: Any  # a sparse matrix of SciPy, whose rows sum to 1


@dataclass(frozen=True, eq=False)
class Bins:
    """Bins of an original column: its values, or, of numbers, what its deciles cut.

    Behind them come a bin for what is missing, and one for values that the original lacks.
    """

    column: Column
    hierarchy: Hierarchy | None = None
    level: int = 0  # at which released labels stand, if it is known
    closed: bool = False  # whether intervals have both their ends

    @cached_property
    def cuts(self) -> Floats | None:
        """The deciles, each once, where there are more than ten numbers; x >= cut is right."""
        if not self.column.numeric or len(self.column.numbers) <= FEW:
            return None
        there = self.column.values[~self.column.missing]
        return np.unique(np.quantile(there, np.arange(1, 10) / 10))

    @cached_property
    def of_category(self) -> Ids:
        """The bin of each category (categories,)."""
        if self.cuts is None:
            return np.arange(len(self.column.categories))
        return np.searchsorted(self.cuts, self.column.numbers, side="right")

    @cached_property
    def named(self) -> int:
        """Number of bins for values of the column."""
        return len(self.column.categories) if self.cuts is None else len(self.cuts) + 1

    @property
    def size(self) -> int:
        """Number of all bins."""
        return self.named + 2

    @property
    def gap(self) -> int:
        """The bin of what is missing."""
        return self.named

    @property
    def outside(self) -> int:
        """The bin of values that the original lacks."""
        return self.named + 1

    @cached_property
    def meanings(self) -> Meanings:
        """What released labels stand for."""
        return Meanings(self.column, self.hierarchy, self.level, self.closed)

    @cached_property
    def codes(self) -> Ids:
        """The bin of each original record (n,)."""
        return np.append(self.of_category, self.gap)[self.column.codes]

    @cached_property
    def star(self) -> Floats:
        """Shares (bins,) of a record of which nothing is known: every value alike."""
        shares = np.bincount(self.of_category, minlength=self.size).astype(np.float64)
        if not shares.any():
            shares[self.gap] = 1.0
        whole: Floats = shares / shares.sum()
        return whole

    def placed(self, released: Column, rows: Ids | None) -> Placed:
        """Put released values into bins; labels are spread evenly over the values below them.

        `rows` says which original each is. A value that is missing, and was not, is a star; where
        it is not known whether it was, it is taken to have been, if any was.
        """
        gone = released.missing
        if rows is not None:
            was = self.column.missing[rows]
        else:
            was = np.full(len(released), bool(self.column.missing.any()))
        spread: list[Meaning] = []
        if released.numeric and self.column.numeric:
            bins = self._numbers(released)
        else:
            bins, spread = self._labels(released)
        codes = np.where(gone & was, self.gap, np.append(bins, 0)[released.codes])
        codes = np.where(gone & ~was, self.size + len(spread), codes)
        return Placed(codes, self._weights([*spread, self.meanings.star]))

    def _numbers(self, released: Column) -> Ids:
        """Return the bin of each released number."""
        if self.cuts is not None:
            return np.searchsorted(self.cuts, released.numbers, side="right")
        known = self.column.numbers
        at = np.searchsorted(known, released.numbers)
        same = np.append(known, np.nan)[at] == released.numbers
        return np.where(same, at, self.outside)

    def _labels(self, released: Column) -> tuple[Ids, list[Meaning]]:
        """Return the bin of each released label, or beyond `size` which of the spread ones."""
        codes = np.empty(len(released.categories), dtype=np.int64)
        spread: list[Meaning] = []
        for place, meaning in enumerate(self.meanings.of(released.categories)):
            if len(meaning) == 1:
                codes[place] = self.of_category[meaning.values[0]]
            elif len(meaning) == 0:
                codes[place] = self.outside
            else:
                codes[place] = self.size + len(spread)
                spread.append(meaning)
        return codes, spread

    def _weights(self, spread: list[Meaning]) -> Any:  # noqa: ANN401 - a matrix of SciPy
        """Return rows (kinds, bins): each bin by itself, then what is spread."""
        matrix = sparse()
        one = matrix.identity(self.size, format="csr")
        if self.named <= _NARROW:
            return matrix.vstack([one, matrix.csr_matrix(self._shares(spread))], format="csr")
        sizes = np.array([max(1, len(meaning)) for meaning in spread])
        at = [self.of_category[m.values] if len(m) else np.array([self.gap]) for m in spread]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        shares = np.repeat(1 / sizes, sizes)
        rest = matrix.csr_matrix(
            (shares, np.concatenate(at), ends), shape=(len(spread), self.size)
        )
        return matrix.vstack([one, rest], format="csr")

    def _shares(self, spread: list[Meaning]) -> Floats:
        """Return how meanings (m,) are spread over the bins (m, bins), by cumulative counts."""
        sums: dict[int, Floats] = {}
        shares = np.zeros((len(spread), self.size))
        for place, meaning in enumerate(spread):
            if not len(meaning):
                shares[place, self.gap] = 1.0
                continue
            if len(meaning) == len(meaning.order):
                counts = np.bincount(self.of_category[meaning.order], minlength=self.named)
                shares[place, : self.named] = counts / len(meaning)
                continue
            order = id(meaning.order)  # the same array for all labels of a level
            if order not in sums:
                one = np.zeros((len(meaning.order) + 1, self.named))
                one[np.arange(1, len(one)), self.of_category[meaning.order]] = 1.0
                sums[order] = one.cumsum(axis=0)
            counts = sums[order][meaning.stop] - sums[order][meaning.start]
            shares[place, : self.named] = counts / counts.sum()
        return shares


def sparse() -> Any:  # noqa: ANN401 - SciPy has no types
    """Return the module scipy.sparse, or say how to get it."""
    try:
        from scipy import sparse
    except ImportError:
        raise MissingExtraError(
            "Comparing tables needs scipy: pip install 'veil[tables]'."
        ) from None
    return sparse
