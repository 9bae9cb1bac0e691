"""A column of numbers or strings, its missing values and its categories.

Every value has one canonical form, shared by classes, attacks and files. Two cells are in the same
class if and only if a file has the same characters for them:

- A missing value is None or nan. A string of blanks is missing, as in a file.
- A string is in Unicode form NFC, and otherwise unchanged.
- A number is a double in its shortest spelling: 39.0, +39 and ' 39' are 39, and -0.0 is 0.

A column of strings becomes numbers if all of them are numbers, none has a leading zero (02139 is a
code), and doubles keep all their digits (an account number of 19 digits is a code, too).
"""

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from itertools import compress, islice
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

Texts = NDArray[np.object_]  # of str, None where a value is missing
Values = NDArray[Any]  # Floats, nan where missing, or Texts
MISSING = -1  # code of a missing value
_DENSE = 4  # integers in a range up to this multiple of the rows are counted, not sorted

Kind = Literal["text", "number"]
_NUMBER = re.compile(r"([-+]?)(\d*)(?:\.(\d*))?(?:[eE][-+]?\d{1,4})?", re.ASCII)
_SURE = 15  # decimal digits that a double always keeps
_ALL = 2**53  # doubles represent all integers up to this
_TOO_LARGE = 2**1023
_WHOLE = 1e21  # integers from this on are written with an exponent


def read_number(text: str, *, padded: bool = False) -> float | None:
    """Return the number in a string; None if it is not one, or has digits that a double loses.

    A number with a leading zero is a code, unless `padded`.

    >>> [read_number(text) for text in ("39.0", " +5", "-0.0", "02139", "1234567890123456789")]
    [39.0, 5.0, 0.0, None, None]
    """
    text = text.strip()
    match = _NUMBER.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    whole, fraction = match[2], match[3] or ""
    if len(whole) > 1 and whole[0] == "0" and not padded:
        return None
    number = float(text)
    if len(whole) + len(fraction) > _SURE and not _given_back(text, number):
        return None
    return number + 0.0


def _given_back(text: str, number: float) -> bool:
    if not math.isfinite(number):
        return False
    exact = Decimal(text)
    if Decimal(repr(number)) == exact:  # 5.960464477539063e-08 is halfway between two roundings
        return True
    digits = max(1, len(exact.as_tuple().digits))
    return Context(prec=digits).create_decimal(number) == exact


def read_text(text: str) -> str | None:
    """Return a string in its canonical form, or None if it is blank."""
    if text.isascii():
        return None if not text or text.isspace() else text
    return None if text.isspace() else unicodedata.normalize("NFC", text)


def canonical(text: str | None, *, numeric: bool) -> str | None:
    """Return the canonical form of a value in a column of numbers or of strings.

    >>> canonical("39.0", numeric=True), canonical("39.0", numeric=False)
    ('39', '39.0')
    """
    if text is None or (form := read_text(text)) is None:
        return None
    number = read_number(form, padded=True) if numeric else None
    return form if number is None else format_number(number)


def alike(text: str) -> str:
    """Return the key by which l-diversity compares a string.

    Case, blanks and the spelling of numbers make no difference, because 'flu', 'FLU' and 'flu '
    tell a reader the same.

    >>> alike("FLU "), alike("02139.0"), alike("2139")
    ('flu', '2139', '2139')
    """
    number = read_number(text, padded=True)
    if number is not None:
        return format_number(number)
    if (match := _NUMBER.fullmatch(text.strip())) and (match[2] or match[3]):
        return str(Decimal(text.strip()).normalize(Context(prec=len(text))))
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Values (n,): float64 with nan for missing values, or strings with None.

    They must be in canonical form, except that the sign of zero is dropped. `of`, `of_texts` and
    `of_codes` convert values into it.
    """

    values: Values

    def __post_init__(self) -> None:
        if self.numeric and bool((np.signbit(self.values) & (self.values == 0)).any()):
            object.__setattr__(self, "values", self.values + 0.0)

    @property
    def numeric(self) -> bool:
        """Whether all present values are numbers."""
        return self.values.dtype == np.float64

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Column({len(self):,} {'numbers' if self.numeric else 'texts'})"

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are missing (n,)."""
        return np.isnan(self.values) if self.numeric else self.codes == MISSING

    @cached_property
    def texts(self) -> Texts:
        """All values as strings (n,), None where missing."""
        if not self.numeric:
            return self.values
        return _objects([*self.categories, None])[self.codes]

    @cached_property
    def _texts_coded(self) -> tuple[Ids, tuple[str, ...]]:
        numbers = _Numbers()
        codes = map(numbers.__getitem__, self.values.tolist())
        first = np.fromiter(codes, dtype=np.int64, count=len(self.values))
        del numbers[None]
        order = tuple(sorted(numbers))
        rank = np.full(len(order) + 1, MISSING, dtype=np.int64)
        rank[[numbers[label] for label in order]] = np.arange(len(order))
        return rank[first], order

    @cached_property
    def codes(self) -> Ids:
        """Category of each value (n,); `MISSING` for missing values."""
        if not self.numeric:
            return self._texts_coded[0]
        codes = np.full(len(self.values), MISSING, dtype=np.int64)
        present = ~self.missing
        codes[present] = _ranks(self.values[present])
        return codes

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The distinct values as strings: numbers by size, strings alphabetically."""
        if not self.numeric:
            return self._texts_coded[1]
        return tuple(map(format_number, self.numbers.tolist()))

    @property
    def different(self) -> int:
        """Number of categories, without formatting them."""
        return len(self.numbers if self.numeric else self.categories)

    @cached_property
    def numbers(self) -> Floats:
        """The distinct numbers (m,), in the order of `categories`."""
        if not self.numeric:
            raise InputError("A column of text has no numbers.")
        return np.unique(self.values[~self.missing])

    def take(self, rows: Ids) -> "Column":
        """Return these rows."""
        column = Column(self.values[rows])
        if vars(self).keys() & {"codes", "_texts_coded"}:  # already computed
            column._keep(self.codes[rows], self.numbers if self.numeric else self.categories)
        return column

    def _keep(self, codes: Ids, order: "Floats | tuple[str, ...]") -> None:
        """Cache the codes of the values (n,) in a list of categories, which need not all occur."""
        used = np.bincount(codes + 1, minlength=len(order) + 1)[1:] > 0
        vars(self)["codes"] = np.append(np.cumsum(used) - 1, MISSING)[codes]
        if isinstance(order, np.ndarray):
            vars(self)["numbers"] = order[used]
        else:
            vars(self)["categories"] = tuple(compress(order, used))

    @classmethod
    def of_texts(
        cls,
        texts: Iterable[str | None],
        missing: Sequence[str] = ("",),
        kind: Kind | None = None,
    ) -> "Column":
        """Return the values of a file: numbers if all present ones are, or of this `kind`."""
        numbers = _Numbers(missing)
        codes = np.fromiter(map(numbers.__getitem__, texts), dtype=np.int64)
        return cls.of_codes(codes, numbers.labels, kind)

    @classmethod
    def of_codes(
        cls, codes: Ids, labels: Sequence[str | None], kind: Kind | None = None
    ) -> "Column":
        """Return the column of these labels by code (n,), with its categories already computed.

        >>> Column.of_codes(np.array([1, 0, -1]), ["low", "high"]).categories
        ('high', 'low')
        """
        forms = [None if label is None else read_text(label) for label in labels]
        numbers = None if kind == "text" else _numbers(forms, padded=kind == "number")
        if numbers is None and kind == "number":
            if any(form is not None for form in forms):
                raise InputError("A column of type number must contain only numbers.")
            return cls(np.full(len(codes), math.nan))
        if numbers is not None:
            present = ~np.isnan(numbers)
            order, at = np.unique(numbers[present], return_inverse=True)
            column = cls(np.append(numbers, math.nan)[codes])
            column._keep(_places(present, at)[codes], order)
            return column
        names = sorted({form for form in forms if form is not None})
        index = {form: i for i, form in enumerate(names)}
        column = cls(_objects([*forms, None])[codes])
        ranks = [MISSING if form is None else index[form] for form in forms]
        column._keep(np.array([*ranks, MISSING], dtype=np.int64)[codes], tuple(names))
        return column

    @classmethod
    def verbatim(cls, codes: Ids, labels: Sequence[str], kind: Kind | None = None) -> "Column":
        """Return labels of a released file by code; two spellings are two values.

        >>> Column.verbatim(np.array([0, 1]), ["180", "180.0"]).categories
        ('180', '180.0')
        """
        forms = [read_text(label) for label in labels]
        numbers = None if kind == "text" else _numbers(forms, padded=kind == "number")
        different = forms if numbers is None else numbers.tolist()
        if len(set(different)) == len(labels) and None not in forms:
            return cls.of_codes(codes, labels, "text" if numbers is None else kind)
        return cls(_objects([*labels, None])[codes])

    @classmethod
    def verbatim_of(cls, texts: Iterable[str | None], kind: Kind | None = None) -> "Column":
        """Return the values of a released file, each in its own spelling."""
        numbers = _Numbers(("",))
        codes = np.fromiter(map(numbers.__getitem__, texts), dtype=np.int64)
        return cls.verbatim(codes, numbers.labels, kind)

    @classmethod
    def of(cls, values: Iterable[object], kind: Kind | None = None) -> "Column":
        """Return a column of Python or NumPy values: numbers, strings, None."""
        if kind is None and isinstance(values, np.ndarray) and values.ndim == 1:
            if values.dtype.kind == "f":
                return cls(values.astype(np.float64))
            if values.dtype.kind in "iu" and _held_by_doubles(values):
                return cls(values.astype(np.float64))
        flat = getattr(values, "ndim", 1) > 0
        if isinstance(values, str | bytes) or not isinstance(values, Iterable) or not flat:
            raise InputError("A column must be a list or a one-dimensional array.")
        listed = [value.item() if isinstance(value, np.generic) else value for value in values]
        if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in listed):
            raise InputError("A value must be a number or a string. Got a container instead.")
        if any(isinstance(value, int) and abs(value) >= _TOO_LARGE for value in listed):
            raise InputError("A number is too large. Try strings.")
        if (
            kind is None
            and all(map(_exact, listed))
            and any(value is not None for value in listed)
        ):
            numbers = [math.nan if value is None else float(value) for value in listed]  # type: ignore[arg-type]
            return cls(np.array(numbers, dtype=np.float64))
        texts = [None if _absent(value) else _text(value) for value in listed]
        return cls.of_texts(texts, kind=kind)


class _Numbers(dict[Any, int]):
    """Numbers strings in the order of their first occurrence; missing ones get -1."""

    def __init__(self, missing: Sequence[str] = ()) -> None:
        super().__init__(dict.fromkeys((None, *missing), MISSING))
        self._blank = len(self)

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self) - self._blank
        return number

    @property
    def labels(self) -> list[str]:
        """The distinct strings, in the order of their numbers."""
        return list(islice(self, self._blank, None))


def _numbers(forms: Sequence[str | None], *, padded: bool) -> Floats | None:
    numbers = np.full(len(forms), math.nan)
    for at, form in enumerate(forms):
        if form is None:
            continue
        number = read_number(form, padded=padded)
        if number is None:
            return None
        numbers[at] = number
    return None if np.isnan(numbers).all() else numbers


def _places(present: NDArray[np.bool_], at: Ids) -> Ids:
    """Return the rank of each label, or `MISSING` if it is absent; the last entry is `MISSING`."""
    ranks = np.full(len(present) + 1, MISSING, dtype=np.int64)
    ranks[:-1][present] = at
    return ranks


def _held_by_doubles(values: NDArray[Any]) -> bool:
    return not len(values) or (int(values.min()) >= -_ALL and int(values.max()) <= _ALL)


def _exact(value: object) -> bool:
    """Return whether a value is missing, or a number that doubles represent exactly."""
    if value is None or isinstance(value, float):
        return True
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return abs(value) <= _ALL or int(float(value)) == value


def _text(value: object) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def _ranks(values: Floats) -> Ids:
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low <= _DENSE * len(values) and (values == np.floor(values)).all():
        key = (values - low).astype(np.int64)  # integers in a small range need no sorting
        present = np.zeros(int(high - low) + 1, dtype=np.bool_)
        present[key] = True
        return (np.cumsum(present) - 1)[key]
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _objects(values: Sequence[object]) -> Texts:
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects


def _absent(value: object) -> bool:
    return value is None or value != value  # nan


def format_number(value: float) -> str:
    """Format a double so that it can be read back, integers without a decimal point.

    >>> [format_number(value) for value in (39.0, 0.5, -0.0, 2.0**60)]
    ['39', '0.5', '0', '1152921504606846976']
    """
    whole = abs(value) < _WHOLE and value == int(value)
    return str(int(value)) if whole else repr(float(value))
