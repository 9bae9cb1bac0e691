"""Rows that are alike, taken as one; and all pairs of them, block by block."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.tables.column import MISSING, Column
from veil.tables.table import row_classes

BLOCK = 8 * 2**20  # bytes of one block of pairs


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different rows of some columns.

    Attributes
    ----------
    codes
        (m, columns) categories; the number of categories stands for a missing value.
    sizes
        (m,) how many rows are alike.
    at
        (n,) which pattern each row has.
    """

    codes: Ids
    sizes: Floats
    at: Ids

    def __len__(self) -> int:
        return len(self.codes)

    @classmethod
    def of(cls, columns: Sequence[Column]) -> "Patterns":
        """Find the different rows."""
        coded = [filled(column) for column in columns]
        return cls.of_codes(np.stack(coded, axis=1))

    @classmethod
    def of_codes(cls, codes: Ids) -> "Patterns":
        """Find the different rows of codes (n, columns)."""
        at = row_classes(list(codes.T), len(codes))
        sizes = np.bincount(at).astype(np.float64)
        first = np.empty(len(sizes), dtype=np.int64)
        first[at[::-1]] = np.arange(len(at))[::-1]
        return cls(codes[first], sizes, at)


def filled(column: Column) -> Ids:
    """Return the codes of a column; the number of categories stands for a missing value."""
    codes = column.codes
    return np.where(codes == MISSING, len(column.categories), codes)


class Pairing(Protocol):
    """Tells something of labels of a released column and values of the original one."""

    labels: int
    values: int

    def between(self, labels: Ids, values: Ids) -> NDArray[Any]:
        """Tell it of codes that are broadcast together."""
        ...


class Grid:
    """All pairs of some patterns of one side with all patterns `across`, over all columns.

    What single columns tell is joined by `joined`: a sum, or a conjunction. A block is
    (across, b): taking whole rows of it is fast.
    """

    def __init__(
        self, pairings: Sequence[Pairing], across: Ids, joined: np.ufunc, *, released: bool
    ) -> None:
        self._pairings, self._across, self._joined = pairings, across, joined
        self._released = released  # whether `across` are labels, and blocks are of values

    def block(self, codes: Ids) -> NDArray[Any]:
        """Return what is told (across, b) of patterns (b, columns)."""
        total: NDArray[Any] | None = None
        room: NDArray[Any] | None = None
        for column, pairing in enumerate(self._pairings):
            rows = rows_across(pairing, codes[:, column], released=self._released)
            across = self._across[:, column]
            if total is None:
                total = rows.take(across, axis=0)
                room = np.empty_like(total)
            else:
                np.take(rows, across, axis=0, out=room, mode="clip")
                self._joined(total, room, out=total)
        assert total is not None  # noqa: S101 - there is at least one column
        return total

    def blocks(self, n: int, itemsize: int = 8) -> Iterator[slice]:
        """Cut n patterns into blocks that fit."""
        step = max(1, BLOCK // (itemsize * max(1, len(self._across))))
        for start in range(0, n, step):
            yield slice(start, min(n, start + step))


def rows_across(pairing: Pairing, codes: Ids, *, released: bool) -> NDArray[Any]:
    """Return what is told of codes (b,) and all labels, or values, across: (those + 1, b)."""
    if released:
        return pairing.between(np.arange(pairing.labels + 1)[:, None], codes[None, :])
    return pairing.between(codes[None, :], np.arange(pairing.values + 1)[:, None])


def told(pairings: Sequence[Pairing], labels: Ids, values: Ids) -> list[NDArray[Any]]:
    """Return per column what is told of n pairs of patterns (n, columns)."""
    return [
        pairing.between(labels[:, column], values[:, column])
        for column, pairing in enumerate(pairings)
    ]
