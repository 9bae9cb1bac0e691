"""Tables, bounds and labels to learn from, checked, and columns as codes.

What a caller gives to learn from, checked: tables, bounds and labels.
A message names an argument, never a value of the data.
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
    "Which labels there are was taken from the data, and is treated as public; name all of them"
    " beforehand where it is not."
)
CHOSEN = "Parameters that were chosen by looking at the same data cost budget, too."
_EXACT = 2.0**53


def numbers(x: object, what: str, columns: int | None = None) -> Floats:
    """Return finite numbers as rows of columns; there may be no row."""
    given = _table(x, what, columns)
    if given.dtype.kind not in "biuf":
        raise InputError(f"{what} must be numbers.")
    values: Floats = given.astype(np.float64)
    if not np.isfinite(values).all():
        raise InputError(f"{what} must be finite numbers; leave out rows that have others.")
    return values


def codes(x: object, sizes: Sequence[int]) -> Ids:
    """Return rows of codes: column j holds whole numbers from 0 to sizes[j] - 1."""
    given = _table(x, "X", len(sizes))
    if given.dtype.kind not in "biu":
        raise InputError("X must hold codes, whole numbers from 0; put numbers into bins first.")
    if given.size and ((given < 0) | (given >= np.asarray(sizes, dtype=np.int64))).any():
        raise InputError("A code in X must be at least 0 and below the size of its feature.")
    found: Ids = given.astype(np.int64)
    return found


def _table(x: object, what: str, columns: int | None) -> Array:
    try:
        given = np.asarray(x)
    except ValueError:
        raise InputError(f"{what} must have as many columns in each row.") from None
    if given.ndim != 2 or not given.shape[1]:
        raise InputError(f"{what} must be rows of at least one column each.")
    if columns is not None and given.shape[1] != columns:
        raise InputError(f"{what} must have {columns} columns, and has {given.shape[1]}.")
    return given


def ranges(bounds: object, columns: int) -> Floats:
    """Return (columns, 2): the public bounds of each column; one pair is of all columns."""
    try:
        given = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape == (2,):
        given = np.tile(given, (columns, 1))
    if given.shape != (columns, 2):
        raise ParameterError(
            f"The 'bounds' argument must be a pair (low, high), or one for each of {columns}"
            " columns."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        widths = given[:, 1] - given[:, 0]
    if not (np.isfinite(given).all() and np.isfinite(widths).all() and (widths > 0).all()):
        raise ParameterError("Bounds must be finite numbers, each low below its high.")
    return given


def label_codes(y: object, rows: int, classes: Sequence[object] | None) -> tuple[Ids, Array, str]:
    """Return the code of each label, the labels in order, and what to say where they are guessed.

    Without `classes`, labels that are all 0 or 1 (or truth values) are those of two classes; of
    others each that occurs is a class.
    """
    given = _labels(y)
    if len(given) != rows:
        raise InputError("There must be one label for each row.")
    if classes is None:
        two = given.dtype.kind != "U" and bool(((given == 0) | (given == 1)).all())
        names = np.arange(2) if two or not rows else np.unique(given)
        return np.searchsorted(names, given).astype(np.int64), names, UNDECLARED
    names = np.unique(_labels(list(classes)))
    alike = not rows or (names.dtype.kind == "U") == (given.dtype.kind == "U")
    if not (len(names) and alike):
        raise InputError("The labels that are named must be of the kind that the rows have.")
    places = np.minimum(np.searchsorted(names, given), len(names) - 1) if rows else np.empty(0)
    if rows and not (names[places] == given).all():
        raise InputError("Every label must be one of those that are named.")
    return places.astype(np.int64), names, ""


def _labels(y: object) -> Array:
    given = np.asarray(y)
    if given.dtype.kind == "b":
        given = given.astype(np.int64)
    if given.dtype.kind == "O" and all(isinstance(label, str) for label in given.flat):
        given = given.astype(np.str_)
    if given.ndim != 1 or given.dtype.kind not in "iufU":
        raise InputError("Labels must be a list of whole numbers or texts.")
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        raise InputError("Labels must be a list of whole numbers or texts; nan is none.")
    if given.dtype.kind == "f" and (np.abs(given) < _EXACT).all() and (given % 1 == 0).all():
        given = given.astype(np.int64)  # 1.0 is 1: that one row has a point is not to be seen
    return given


def bins(values: object, low: float, high: float, count: int) -> Ids:
    """Put numbers into `count` bins of equal width; what is out of bounds is in the outer ones.

    The bounds must not be taken from the data: choose what anybody could.

    >>> bins([17, 38, 90, 130], 15, 95, 8).tolist()
    [0, 2, 7, 7]
    """
    count = whole("count", count)
    if not low < high:
        raise ParameterError("The 'low' argument must be below 'high'.")
    [(least, most)] = ranges((low, high), 1)
    given: Array = np.asarray(values)
    if given.dtype.kind not in "biuf" or not np.isfinite(given).all():
        raise InputError("Only finite numbers can be put into bins.")
    share = (np.clip(given, least, most) - least) / (most - least)
    found: Ids = np.minimum((share * count).astype(np.int64), count - 1)
    return found


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
