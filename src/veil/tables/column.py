"""One column: numbers or texts, with what is missing, and its categories."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

Texts = NDArray[np.object_]  # of str, None where a value is missing
Values = NDArray[Any]  # Floats, nan where missing, or Texts
MISSING = -1  # code of a missing value
_DENSE = 4  # times the rows, up to which a range of whole numbers is counted rather than sorted


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Values (n,): float64 with nan for what is missing, or texts with None.

    `format_number` are numbers as the file wrote them ("39", not "39.0"), which is what
    hierarchies and releases have; without it whole numbers are written without a point.
    """

    values: Values
    written: Texts | None = None

    @property
    def numeric(self) -> bool:
        """Whether every value that is there is a number."""
        return self.values.dtype == np.float64

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Column({len(self):,} {'numbers' if self.numeric else 'texts'})"

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Where a value is missing (n,)."""
        return np.isnan(self.values) if self.numeric else self.codes == MISSING

    @cached_property
    def texts(self) -> Texts:
        """All values as they are written (n,), None where missing."""
        if not self.numeric:
            return self.values
        if self.written is not None:
            return self.written
        made = np.empty(len(self.values), dtype=object)
        made[:] = [
            None if math.isnan(value) else format_number(value) for value in self.values.tolist()
        ]
        return made

    @cached_property
    def _texts_coded(self) -> tuple[Ids, tuple[str, ...]]:
        """Codes and categories of texts, found in one pass."""
        seen = _Numbers()
        found = map(seen.__getitem__, self.values.tolist())
        first = np.fromiter(found, dtype=np.int64, count=len(self.values))
        del seen[None]
        order = tuple(sorted(seen))
        rank = np.full(len(order) + 1, MISSING, dtype=np.int64)
        rank[[seen[label] for label in order]] = np.arange(len(order))
        return rank[first], order

    @cached_property
    def codes(self) -> Ids:
        """Which category each value is of (n,); `MISSING` where there is none."""
        if not self.numeric:
            return self._texts_coded[0]
        codes = np.full(len(self.values), MISSING, dtype=np.int64)
        there = ~self.missing
        codes[there] = _ranks(self.values[there])
        return codes

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The different values as they are written, numbers by size, texts by letter."""
        if not self.numeric:
            return self._texts_coded[1]
        if self.written is None:
            return tuple(map(format_number, self.numbers.tolist()))
        first = np.empty(len(self.numbers), dtype=np.int64)  # where each is written first
        there = np.flatnonzero(~self.missing)[::-1]
        first[self.codes[there]] = there
        return tuple(map(str, self.written[first]))

    @property
    def different(self) -> int:
        """How many categories there are, without writing them."""
        return len(self.numbers if self.numeric else self.categories)

    @cached_property
    def numbers(self) -> Floats:
        """The different numbers (m,), in the order of `categories`."""
        if not self.numeric:
            raise InputError("A column of texts has no numbers.")
        return np.unique(self.values[~self.missing])

    def take(self, rows: Ids) -> "Column":
        """Return some rows."""
        made = Column(self.values[rows], None if self.written is None else self.written[rows])
        if vars(self).keys() & {"codes", "_texts_coded"}:  # they were found before
            made._keep(self.codes[rows], self.numbers if self.numeric else self.categories)
        return made

    def _keep(self, codes: Ids, order: "Floats | tuple[str, ...]") -> None:
        """Remember the code of each value (n,) in an order of which not all need occur."""
        used = np.bincount(codes + 1, minlength=len(order) + 1)[1:] > 0
        vars(self)["codes"] = np.append(np.cumsum(used) - 1, MISSING)[codes]
        if isinstance(order, np.ndarray):
            vars(self)["numbers"] = order[used]
        else:
            vars(self)["categories"] = tuple(compress(order, used))

    @classmethod
    def of_texts(cls, texts: Iterable[str | None], missing: Sequence[str] = ("",)) -> "Column":
        """Read values of a file: numbers if all that are there are numbers."""
        blank = set(missing)
        made = [None if text is None or text in blank else text for text in texts]
        held = np.empty(len(made), dtype=object)
        held[:] = made
        try:
            values = np.array([math.nan if text is None else float(text) for text in made])
        except ValueError:
            return cls(held)
        plain = all(text is None or _plain(text) for text in made)
        if not plain or all(text is None for text in made):
            return cls(held)
        return cls(values.astype(np.float64), held)

    @classmethod
    def of_codes(cls, codes: Ids, labels: Sequence[str]) -> "Column":
        """Take a label for each code (n,), none for `MISSING`; its categories are known at once.

        >>> Column.of_codes(np.array([1, 0, -1]), ["low", "high"]).categories
        ('high', 'low')
        """
        texts = _objects([*labels, None])  # the code of a missing value, -1, takes the last
        read = cls.of_texts(labels, missing=())
        made = cls(texts[codes])
        if read.numeric:
            made = cls(np.append(read.values, math.nan)[codes], made.values)
        order = read.numbers if read.numeric else read.categories
        made._keep(np.append(read.codes, MISSING)[codes], order)
        return made

    @classmethod
    def of(cls, values: Iterable[object]) -> "Column":
        """Take values of Python or NumPy: numbers, texts, None."""
        if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iuf":
            return cls(values.astype(np.float64))
        flat = getattr(values, "ndim", 1) > 0
        if isinstance(values, str | bytes) or not isinstance(values, Iterable) or not flat:
            raise InputError("A column is a list or an array of values.")
        listed = [value.item() if isinstance(value, np.generic) else value for value in values]
        if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in listed):
            raise InputError("A value of a column is a number or a text, and nothing with parts.")
        numbers = all(
            value is None or (isinstance(value, int | float) and not isinstance(value, bool))
            for value in listed
        )
        if numbers and any(value is not None for value in listed):
            try:
                return cls(np.array([math.nan if value is None else value for value in listed],
                                    dtype=np.float64))  # fmt: skip
            except OverflowError:
                raise InputError("A number is too large; give such values as texts.") from None
        texts = [None if _absent(value) else str(value) for value in listed]
        return cls.of_texts(texts, missing=()) if not numbers else cls(_objects(texts))


class _Numbers(dict[Any, int]):
    """Numbers texts as they come; what is missing has the last number, -1."""

    def __init__(self) -> None:
        super().__init__({None: MISSING})

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self) - 1
        return number


def _ranks(values: Floats) -> Ids:
    """Return of each number (n,) its rank among the different ones."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low <= _DENSE * len(values) and (values == np.floor(values)).all():
        key = (values - low).astype(np.int64)  # whole numbers of a small range need no sorting
        there = np.zeros(int(high - low) + 1, dtype=np.bool_)
        there[key] = True
        return (np.cumsum(there) - 1)[key]
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _objects(values: Sequence[object]) -> Texts:
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def _absent(value: object) -> bool:
    return value is None or value != value  # nan


def _plain(text: str) -> bool:
    """Tell a number as tables write it from what float() also takes: nan, inf, 1_000."""
    return not (set(text) & set("_nNiI"))


def format_number(value: float) -> str:
    """Write a number as a file would.

    >>> format_number(39.0), format_number(0.5)
    ('39', '0.5')
    """
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)
