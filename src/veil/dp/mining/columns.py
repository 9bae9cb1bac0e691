"""Check training data (tables, bounds and labels), and encode columns.

Errors name an argument, never a value of the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.dp.inputs import count as whole
from veil.dp.mechanism import Array

UNDECLARED = (
    "The set of labels was taken from the data and is treated as public. If it is not, list all"
    " labels in advance."
)
CHOSEN = "Choosing parameters by looking at the same data also costs budget."
_EXACT = 2.0**53


def numbers(x: object, what: str, columns: int | None = None) -> Floats:
    """Return a table of finite numbers, possibly without rows."""
    table = _table(x, what, columns)
    if table.dtype.kind not in "biuf":
        raise InputError(f"{what} must be numbers.")
    values: Floats = table.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} must be finite numbers. Remove rows with other values.")
    return values


def codes(x: object, sizes: Sequence[int]) -> Ids:
    """Return a table of codes: column j has integers from 0 to sizes[j] - 1."""
    table = _table(x, "X", len(sizes))
    if table.dtype.kind not in "biu":
        raise InputError("X must contain codes: integers from 0. Use bins() for other numbers.")
    if table.size and ((table < 0) | (table >= np.asarray(sizes, dtype=np.int64))).any():
        raise InputError("A code in X must be at least 0 and below the size of its feature.")
    result: Ids = table.astype(np.int64)
    return result


def _table(x: object, what: str, columns: int | None) -> Array:
    try:
        array = np.asarray(x)
    except ValueError:
        raise InputError(f"{what} must have equally many columns in each row.") from None
    if array.ndim != 2 or not array.shape[1]:
        raise InputError(f"{what} must be a table with at least one column.")
    if columns is not None and array.shape[1] != columns:
        raise InputError(f"{what} must have {columns} columns. Got {array.shape[1]} instead.")
    return array


def ranges(bounds: object, columns: int) -> Floats:
    """Return the public bounds of each column, (columns, 2); a single pair applies to all."""
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        pairs = np.empty(0)
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (columns, 1))
    if pairs.shape != (columns, 2):
        raise ParameterError(
            f"The 'bounds' argument must be a pair (low, high), or one pair per column"
            f" ({columns})."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        widths = pairs[:, 1] - pairs[:, 0]
    if not (np.isfinite(pairs).all() and np.isfinite(widths).all() and (widths > 0).all()):
        raise ParameterError("Bounds must be finite numbers with low < high.")
    return pairs


def label_codes(y: object, rows: int, classes: Sequence[object] | None) -> tuple[Ids, Array, str]:
    """Return the code of each label, the sorted labels, and a caveat if they were inferred.

    Without `classes`, labels that are all 0 or 1 (or booleans) have these two classes; otherwise
    every label that occurs is a class.
    """
    labels = _labels(y)
    if len(labels) != rows:
        raise InputError("There must be one label per row.")
    if classes is None:
        binary = labels.dtype.kind != "U" and bool(((labels == 0) | (labels == 1)).all())
        names = np.arange(2) if binary or not rows else np.unique(labels)
        return np.searchsorted(names, labels).astype(np.int64), names, UNDECLARED
    names = np.unique(_labels(list(classes)))
    alike = not rows or (names.dtype.kind == "U") == (labels.dtype.kind == "U")
    if not (len(names) and alike):
        raise InputError("'classes' must be non-empty and have the same type as the labels.")
    places = np.minimum(np.searchsorted(names, labels), len(names) - 1) if rows else np.empty(0)
    if rows and not (names[places] == labels).all():
        raise InputError("Every label must be in 'classes'.")
    return places.astype(np.int64), names, ""


def _labels(y: object) -> Array:
    labels = np.asarray(y)
    if labels.dtype.kind == "b":
        labels = labels.astype(np.int64)
    if labels.dtype.kind == "O" and all(isinstance(value, str) for value in labels.flat):
        labels = labels.astype(np.str_)
    if labels.ndim != 1 or labels.dtype.kind not in "iufU":
        raise InputError("Labels must be a list of numbers or strings.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InputError("Labels must be a list of numbers or strings without nan.")
    if labels.dtype.kind == "f" and (np.abs(labels) < _EXACT).all() and (labels % 1 == 0).all():
        labels = labels.astype(np.int64)  # 1.0 becomes 1: the labels show no single row's form
    return labels


def bins(values: object, low: float, high: float, count: int) -> Ids:
    """Return the bin of each number, of `count` equal bins; values out of bounds are clipped.

    Do not take the bounds from the data: choose them without looking at it.

    >>> bins([17, 38, 90, 130], 15, 95, 8).tolist()
    [0, 2, 7, 7]
    """
    count = whole("count", count)
    if not low < high:
        raise ParameterError("The 'low' argument must be below 'high'.")
    [(least, most)] = ranges((low, high), 1)
    array: Array = np.asarray(values)
    if array.dtype.kind not in "biuf" or not np.isfinite(array).all():
        raise InputError("Values must be finite numbers.")
    share = (np.clip(array, least, most) - least) / (most - least)
    result: Ids = np.minimum((share * count).astype(np.int64), count - 1)
    return result


CELLS = 32


@dataclass(frozen=True)
class Column:
    """A column, and its encoding into `size` codes.

    With bounds, numbers are binned. Without, strings are hashed, so the set of strings need not be
    known, and some share a cell.
    """

    name: str
    size: int = CELLS
    bounds: tuple[float, float] | None = None

    @classmethod
    def parse(cls, text: str) -> "Column":
        """Parse ``name``, or ``name:low:high`` or ``name:low:high:bins`` of numbers.

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
                "A column must be NAME, or NAME:LOW:HIGH[:BINS] for numbers with LOW < HIGH, such"
                " as age:15:95:16."
            )
        return cls(name)

    def codes(self, values: Sequence[str]) -> Ids:
        """Return the code of each value; errors name only the row of an invalid number."""
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
                    f"Column {self.name!r} must contain finite numbers; row {row} does not. Remove"
                    " such rows, or use the column without bounds."
                )
            numbers.append(number)
        return numbers


def _cell(value: str, size: int) -> int:
    digest = blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % size
