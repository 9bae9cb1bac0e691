"""One column: numbers or texts, with what is missing, and its categories.

Every value has one canonical form, which classes, attackers and files share. Two cells are in one
class exactly if a file has the same characters for them:

- A missing value is None or nan; a text of blanks alone is missing, as a file has it.
- A text is in Unicode's form NFC, and otherwise as it was read.
- A number is a double, written as short as it can be: 39.0, +39 and ' 39' are 39, -0.0 is 0.

Texts are numbers if all of a column are, none has a leading zero (02139 is a code), and a double
gives each back with all digits that it has (an account number of 19 digits is a code, too).
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
_DENSE = 4  # times the rows, up to which a range of whole numbers is counted rather than sorted

Kind = Literal["text", "number"]
_NUMBER = re.compile(r"([-+]?)(\d*)(?:\.(\d*))?(?:[eE][-+]?\d{1,4})?", re.ASCII)
_SURE = 15  # decimal digits that a double always gives back
_ALL = 2**53  # up to which doubles have all whole numbers
_TOO_LARGE = 2**1023
_WHOLE = 1e21  # from which a whole number is written with an exponent


def read_number(text: str, *, padded: bool = False) -> float | None:
    """Return the number that a text is, or None if it is none that a double gives back.

    A number with a leading zero is a code, unless zeros may be `padded`.

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
    """Tell whether a double has all digits of a number, rounded to as many as there are."""
    if not math.isfinite(number):
        return False
    exact = Decimal(text)
    if Decimal(repr(number)) == exact:  # 5.960464477539063e-08 is halfway between two roundings
        return True
    digits = max(1, len(exact.as_tuple().digits))
    return Context(prec=digits).create_decimal(number) == exact


def read_text(text: str) -> str | None:
    """Return a text in its canonical form, None if there is nothing but blanks."""
    if text.isascii():
        return None if not text or text.isspace() else text
    return None if text.isspace() else unicodedata.normalize("NFC", text)


def canonical(text: str | None, *, numeric: bool) -> str | None:
    """Return how a value is written in a column of numbers or of texts.

    >>> canonical("39.0", numeric=True), canonical("39.0", numeric=False)
    ('39', '39.0')
    """
    if text is None or (form := read_text(text)) is None:
        return None
    number = read_number(form, padded=True) if numeric else None
    return form if number is None else format_number(number)


def alike(text: str) -> str:
    """Return what a text is compared by when values are counted that differ, as l does.

    Case, blanks and the spelling of numbers make no difference: whoever reads 'flu', 'FLU' and
    'flu ' learns one thing.

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
    """Values (n,): float64 with nan for what is missing, or texts with None.

    They are taken to be in canonical form, but for the sign of zero, which is dropped; `of`,
    `of_texts` and `of_codes` bring values into it.
    """

    values: Values

    def __post_init__(self) -> None:
        if self.numeric and bool((np.signbit(self.values) & (self.values == 0)).any()):
            object.__setattr__(self, "values", self.values + 0.0)

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
        return _objects([*self.categories, None])[self.codes]

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
        return tuple(map(format_number, self.numbers.tolist()))

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
        made = Column(self.values[rows])
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
    def of_texts(
        cls,
        texts: Iterable[str | None],
        missing: Sequence[str] = ("",),
        kind: Kind | None = None,
    ) -> "Column":
        """Read values of a file: numbers if all that are there are numbers, or as `kind` says."""
        seen = _Numbers(missing)
        codes = np.fromiter(map(seen.__getitem__, texts), dtype=np.int64)
        return cls.of_codes(codes, seen.labels, kind)

    @classmethod
    def of_codes(
        cls, codes: Ids, labels: Sequence[str | None], kind: Kind | None = None
    ) -> "Column":
        """Take a label for each code (n,), none for `MISSING`; its categories are known at once.

        >>> Column.of_codes(np.array([1, 0, -1]), ["low", "high"]).categories
        ('high', 'low')
        """
        forms = [None if label is None else read_text(label) for label in labels]
        numbers = None if kind == "text" else _numbers(forms, padded=kind == "number")
        if numbers is None and kind == "number":
            if any(form is not None for form in forms):
                raise InputError("A column that is said to have numbers must have no other texts.")
            return cls(np.full(len(codes), math.nan))
        if numbers is not None:
            there = ~np.isnan(numbers)
            order, at = np.unique(numbers[there], return_inverse=True)
            made = cls(np.append(numbers, math.nan)[codes])
            made._keep(_places(there, at)[codes], order)
            return made
        names = sorted({form for form in forms if form is not None})
        place = {form: i for i, form in enumerate(names)}
        held = cls(_objects([*forms, None])[codes])
        ranks = [MISSING if form is None else place[form] for form in forms]
        held._keep(np.array([*ranks, MISSING], dtype=np.int64)[codes], tuple(names))
        return held

    @classmethod
    def verbatim(cls, codes: Ids, labels: Sequence[str], kind: Kind | None = None) -> "Column":
        """Take labels of a released file: what is spelled in two ways there is two values.

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
        """Take the values of a released file, each as it is spelled."""
        seen = _Numbers(("",))
        codes = np.fromiter(map(seen.__getitem__, texts), dtype=np.int64)
        return cls.verbatim(codes, seen.labels, kind)

    @classmethod
    def of(cls, values: Iterable[object], kind: Kind | None = None) -> "Column":
        """Take values of Python or NumPy: numbers, texts, None."""
        if kind is None and isinstance(values, np.ndarray) and values.ndim == 1:
            if values.dtype.kind == "f":
                return cls(values.astype(np.float64))
            if values.dtype.kind in "iu" and _held_by_doubles(values):
                return cls(values.astype(np.float64))
        flat = getattr(values, "ndim", 1) > 0
        if isinstance(values, str | bytes) or not isinstance(values, Iterable) or not flat:
            raise InputError("A column is a list or an array of values.")
        listed = [value.item() if isinstance(value, np.generic) else value for value in values]
        if any(isinstance(value, list | tuple | dict | set | np.ndarray) for value in listed):
            raise InputError("A value of a column is a number or a text, and nothing with parts.")
        if any(isinstance(value, int) and abs(value) >= _TOO_LARGE for value in listed):
            raise InputError("A number is too large; give such values as texts.")
        if kind is None and all(map(_exact, listed)) and any(one is not None for one in listed):
            numbers = [math.nan if value is None else float(value) for value in listed]  # type: ignore[arg-type]
            return cls(np.array(numbers, dtype=np.float64))
        texts = [None if _absent(value) else _text(value) for value in listed]
        return cls.of_texts(texts, kind=kind)


class _Numbers(dict[Any, int]):
    """Numbers texts as they come; what is missing has the last number, -1."""

    def __init__(self, missing: Sequence[str] = ()) -> None:
        super().__init__(dict.fromkeys((None, *missing), MISSING))
        self._blank = len(self)

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self) - self._blank
        return number

    @property
    def labels(self) -> list[str]:
        """The different texts, in the order of their numbers."""
        return list(islice(self, self._blank, None))


def _numbers(forms: Sequence[str | None], *, padded: bool) -> Floats | None:
    """Return the number of each label, nan for one that is missing; None if some is a text."""
    made = np.full(len(forms), math.nan)
    for at, form in enumerate(forms):
        if form is None:
            continue
        number = read_number(form, padded=padded)
        if number is None:
            return None
        made[at] = number
    return None if np.isnan(made).all() else made


def _places(there: NDArray[np.bool_], at: Ids) -> Ids:
    """Return the rank of each label, `MISSING` where it is missing and at the end."""
    made = np.full(len(there) + 1, MISSING, dtype=np.int64)
    made[:-1][there] = at
    return made


def _held_by_doubles(values: NDArray[Any]) -> bool:
    """Tell whether doubles have all of some whole numbers."""
    return not len(values) or (int(values.min()) >= -_ALL and int(values.max()) <= _ALL)


def _exact(value: object) -> bool:
    """Tell whether a value is missing, or a number that a double has."""
    if value is None or isinstance(value, float):
        return True
    if not isinstance(value, int) or isinstance(value, bool):
        return False
    return abs(value) <= _ALL or int(float(value)) == value


def _text(value: object) -> str:
    """Write a value so that equal numbers are written alike."""
    return format_number(value) if isinstance(value, float) else str(value)


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


def format_number(value: float) -> str:
    """Write a double so that it is read back, whole numbers without a point.

    >>> [format_number(value) for value in (39.0, 0.5, -0.0, 2.0**60)]
    ['39', '0.5', '0', '1152921504606846976']
    """
    whole = abs(value) < _WHOLE and value == int(value)
    return str(int(value)) if whole else repr(float(value))
