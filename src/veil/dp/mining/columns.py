"""Columns of a table as codes, by rules that are public: bins of numbers, cells of texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.dp.mining.bins import bins

CELLS = 32


@dataclass(frozen=True)
class Column:
    """A column, and how its values become `size` codes.

    With bounds, numbers are put into bins. Without, texts are hashed: which texts there are need
    not be known, and some share a cell.
    """

    name: str
    size: int = CELLS
    bounds: tuple[float, float] | None = None

    @classmethod
    def parse(cls, text: str) -> "Column":
        """Read ``name``, or ``name:low:high`` or ``name:low:high:bins`` of numbers.

        >>> Column.parse("age:15:95:16")
        Column(name='age', size=16, bounds=(15.0, 95.0))
        """
        name, *rest = text.split(":")
        try:
            if name and len(rest) in (2, 3):
                low, high, size = float(rest[0]), float(rest[1]), int([*rest, "16"][2])
                bins([low], low, high, size)
                return cls(name, size, (low, high))
        except (ValueError, ParameterError):
            rest = [""]
        if rest or not name:
            raise ParameterError(
                "A column must be NAME, or NAME:LOW:HIGH[:BINS] of numbers with LOW below HIGH, as"
                " in age:15:95:16."
            )
        return cls(name)

    def codes(self, values: Sequence[str]) -> Ids:
        """Return the code of each value; a number that is none is told by its row alone."""
        if self.bounds is None:
            cells = {value: _cell(value, self.size) for value in set(values)}
            return np.array([cells[value] for value in values], dtype=np.int64)
        return bins(self._numbers(values), *self.bounds, self.size)

    def _numbers(self, values: Sequence[str]) -> list[float]:
        numbers: list[float] = []
        for row, value in enumerate(values, start=1):
            try:
                number = float(value)
            except ValueError:
                number = float("nan")
            if not np.isfinite(number):
                raise InputError(
                    f"Column {self.name!r} must hold finite numbers; row {row} has none. Leave"
                    " such rows out, or name the column without bounds."
                )
            numbers.append(number)
        return numbers


def _cell(value: str, size: int) -> int:
    digest = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % size
