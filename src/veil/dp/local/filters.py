"""Bloom filters of candidates in all cohorts, as the columns of a regression."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.dp.local.hashing import Words, positions

_CELLS = 2**21  # cells of the regression that are in memory at a time
_WELL = 1e8  # condition up to which normal equations are inverted at once
_SAME = 1e-6  # share of a column that must not lie in the others


@dataclass(frozen=True)
class Fit:
    """Counts of some candidates and their variances, for residuals of variance 1."""

    counts: Floats
    variances: Floats


class Filters:
    """Candidates (m,) whose filter in cohort c sets the bits of `hashes` hash functions.

    A column has 1 at (cohort, bit) where the filter has, less the share of ones in the filter of
    any text: a text that is no candidate then adds nothing on average.
    """

    def __init__(self, targets: Words, cohorts: int, bits: int, hashes: int) -> None:
        self.targets = targets
        self._cohorts, self._bits, self._hashes = cohorts, bits, hashes
        self.share = 1 - (1 - 1 / bits) ** hashes

    def __len__(self) -> int:
        return len(self.targets)

    def take(self, rows: Ids) -> "Filters":
        """Return some of the candidates."""
        return Filters(self.targets[rows], self._cohorts, self._bits, self._hashes)

    def blocks(self) -> list[slice]:
        """Return parts of the candidates that fit in memory."""
        step = max(1, _CELLS // (self._cohorts * self._hashes))
        return [slice(start, start + step) for start in range(0, len(self), step)]

    def cells(self, part: slice) -> tuple[Ids, NDArray[np.bool_]]:
        """Return (m, cohorts, hashes) cells ``cohort * bits + bit``, and which are no repeats."""
        functions = np.arange(self._cohorts * self._hashes)
        where = positions(self.targets[part, None], functions, self._bits)
        where = where.reshape(-1, self._cohorts, self._hashes)
        new = np.ones(where.shape, dtype=np.bool_)
        for turn in range(1, self._hashes):
            new[:, :, turn] = (where[:, :, :turn] != where[:, :, turn : turn + 1]).all(axis=2)
        return where + self._bits * np.arange(self._cohorts)[:, None], new

    def times(self, weights: Floats, values: Floats) -> tuple[Floats, Floats]:
        """Return the weighted products of each column with `values`, and with itself."""
        total, product = float(weights.sum()), float(weights @ values)
        with_values, with_itself = np.empty(len(self)), np.empty(len(self))
        for part in self.blocks():
            cells, new = self.cells(part)
            inside = (weights[cells] * new).sum(axis=(1, 2))
            found = ((weights * values)[cells] * new).sum(axis=(1, 2))
            with_values[part] = found - self.share * product
            with_itself[part] = (1 - 2 * self.share) * inside + self.share**2 * total
        return with_values, with_itself

    def predict(self, counts: Floats) -> Floats:
        """Return the sum of the columns, each as often as it is counted."""
        total = np.full(self._cohorts * self._bits, -self.share * float(counts.sum()))
        for part in self.blocks():
            cells, new = self.cells(part)
            often = np.broadcast_to(counts[part, None, None], cells.shape)[new]
            total += np.bincount(cells[new], weights=often, minlength=len(total))
        return total

    def fit(self, weights: Floats, values: Floats) -> Fit:
        """Return the weighted least squares of `values` on the columns, by normal equations.

        A column that follows from the others has no count: its variance is infinite.
        """
        both = self._both(weights)
        alone = np.diag(both)
        either = alone[:, None] + alone
        normal = both - self.share * either + self.share**2 * float(weights.sum())
        inverse = _inverse(normal)
        variances = np.diag(inverse).copy()
        known = np.einsum("ij,ji->i", inverse, normal)
        variances[known < 1 - _SAME] = np.inf
        return Fit(inverse @ self.times(weights, values)[0], variances)

    def _both(self, weights: Floats) -> Floats:
        """Return the weights of the cells that two candidates both set, (m, m)."""
        parts = [self.cells(part) for part in self.blocks()]
        cells, new = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        total = np.zeros((len(self), len(self)))
        group = max(1, _CELLS * self._bits // (len(self) * self._hashes) ** 2)
        for start in range(0, self._cohorts, group):
            some, there = (array[:, start : start + group] for array in (cells, new))
            total += _met(some[there], np.nonzero(there)[0], weights, len(self))
        return total


def _met(cells: Ids, rows: Ids, weights: Floats, count: int) -> Floats:
    """Add up the weights of cells, for each two rows that stand there at the same cell."""
    order = np.argsort(cells, kind="stable")
    cells, rows = cells[order], rows[order]
    _, firsts, sizes = np.unique(cells, return_index=True, return_counts=True)
    others = np.repeat(sizes, sizes)  # for each entry, how many stand at its cell
    ends = np.cumsum(others)
    one = np.repeat(np.arange(len(cells)), others)
    turn = np.arange(ends[-1]) - np.repeat(ends - others, others)
    other = np.repeat(np.repeat(firsts, sizes), others) + turn
    at = rows[one] * count + rows[other]
    summed = np.bincount(at, weights=weights[cells[one]], minlength=count**2)
    return summed.reshape(count, count).astype(np.float64, copy=False)


def _inverse(normal: Floats) -> Floats:
    """Invert what can be inverted well, which is quick, and the rest as far as it goes."""
    try:
        inverse = np.linalg.inv(normal)
    except np.linalg.LinAlgError:
        inverse = np.full_like(normal, np.inf)
    if np.linalg.norm(normal, 1) * np.linalg.norm(inverse, 1) < _WELL:
        return np.asarray(inverse)
    return np.asarray(np.linalg.pinv(normal, rcond=1e-10, hermitian=True))
