"""Whose reports these are: how many a person has, and of how many different values."""

from collections.abc import Sequence

import numpy as np

from veil.dp.local.hashing import Words, octet_hash
from veil.dp.local.parts import Array


class Persons:
    """Counts the reports of persons, of whom 8 bytes of a hash are kept, never the name.

    Two names with the same hash count as one person: costs are then told too large, not too small.
    """

    def __init__(self) -> None:
        self._hashes: list[Words] = []
        self._values: list[Array] = []

    def add(self, names: Sequence[bytes], values: Array | None = None) -> None:
        """Count one report for each name; values (n,), as an oracle reads them, are told apart."""
        numbers = (octet_hash(name) for name in names)
        self._hashes.append(np.fromiter(numbers, dtype=np.uint64, count=len(names)))
        if values is not None:
            self._values.append(values)

    def counted(self) -> tuple[int, float]:
        """Return the largest number of reports of a person, and the mean of it over reports."""
        _, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        squares = float((counts.astype(np.float64) ** 2).sum())
        return int(counts.max()), squares / float(counts.sum())

    def different(self) -> int | None:
        """Return the largest number of different values of a person, if values were added."""
        if not self._values:
            return None
        persons, values = np.concatenate(self._hashes), np.concatenate(self._values)
        order = np.lexsort((values, persons))
        persons, values = persons[order], values[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (persons[1:] != persons[:-1]) | (values[1:] != values[:-1])
        return int(np.unique(persons[new], return_counts=True)[1].max())
