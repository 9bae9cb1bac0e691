"""Check numeric arguments, and read numbers, bits and strings from a command or a file.

Integers and NumPy numbers are accepted; booleans are rejected.
"""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.data.rows import read_table
from veil.dp.mechanism import Array


def positive(name: str, value: object, *, zero: bool = False) -> float:
    """Return the value as a finite number above 0; with `zero`, also 0.

    >>> positive("epsilon", 2)
    2.0
    """
    number = _float(value)
    if not (0 < number < math.inf or (zero and number == 0)):
        least = ">= 0" if zero else "> 0"
        raise ParameterError(f"The '{name}' argument must be a finite number {least}.")
    return number


def share(name: str, value: object, *, zero: bool = False) -> float:
    """Return the value as a number above 0 and below 1; with `zero`, also 0.

    >>> share("delta", 1e-6)
    1e-06
    """
    number = _float(value)
    if not (0 < number < 1 or (zero and number == 0)):
        least = ">= 0" if zero else "> 0"
        raise ParameterError(f"The '{name}' argument must be a number {least} and < 1.")
    return number


def count(name: str, value: object, least: int = 1) -> int:
    """Return the value as an integer >= `least`.

    >>> count("queries", 3)
    3
    """
    if not is_whole(value) or int(value) < least:  # type: ignore[call-overload]
        raise ParameterError(f"The '{name}' argument must be an integer >= {least:,}.")
    return int(value)  # type: ignore[call-overload, no-any-return]


def is_whole(value: object) -> bool:
    """Return whether a value is a Python or NumPy integer, and not a boolean."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _float(value: object) -> float:
    """Return a number as a float, or nan for anything else, so that every comparison fails."""
    if not (is_whole(value) or isinstance(value, float | np.floating)):
        return math.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # an integer too large for a float
        return math.nan


def read_given_numbers(words: Sequence[str], column: str | None = None) -> Array:
    """Return the numbers of a command: its arguments, or a column of the file they name.

    >>> read_given_numbers(["120", "-37", "4"]).tolist()
    [120, -37, 4]
    """
    if column is None:
        return numbers_of(words, "The numbers")
    if len(words) != 1:
        raise InputError("--column needs exactly one file. Name the file, or remove --column.")
    path = Path(words[0].strip())
    _, rows = read_table(path, [column])
    return numbers_of((row.values[0] for row in rows), f"Column '{column}' of {path.name}")


def numbers_of(texts: Iterable[str], what: str) -> Array:
    """Parse strings as integers if all are, else as floats; errors quote no values."""
    numbers: list[int | float] = []
    advice = "" if what.startswith("Column") else ". To read a file, add --column"
    for number, text in enumerate(texts, start=1):
        try:
            numbers.append(_number(text))
        except ValueError:
            raise InputError(
                f"{what} must all be numeric. Value {number:,} is not{advice}."
            ) from None
    return np.array(numbers) if numbers else np.empty(0, dtype=np.int64)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


_BITS = {"0": 0, "1": 1, "false": 0, "true": 1}


def source_of(text: str) -> tuple[Path, str, str | None]:
    """Split ``FILE:COLUMN`` or ``FILE:COLUMN=VALUE``.

    >>> source_of("pums.csv:educ=13")[1:]
    ('educ', '13')
    """
    file, colon, column = text.rpartition(":")
    if not (colon and file and column):
        raise InputError(
            "A secret must be FILE:COLUMN, such as pums.csv:married, or FILE:COLUMN=VALUE, such as"
            " pums.csv:educ=13."
        )
    name, equals, value = column.partition("=")
    return Path(file), name, value if equals else None


def read_texts(path: Path, column: str) -> list[str]:
    """Return the strings of a column; a file without rows is rejected."""
    _, rows = read_table(path, [column])
    texts = [row.values[0].strip() for row in rows]
    if not texts:
        raise InputError(f"{path.name} has no rows.")
    return texts


def read_bits(path: Path, column: str, equals: str | None = None) -> Ids:
    """Return whether each record has the secret (n,): 1 or true, or the value `equals`."""
    texts = read_texts(path, column)
    if equals is not None:
        return np.array([text == equals for text in texts], dtype=np.int64)
    bits = [_BITS.get(text.casefold(), -1) for text in texts]
    if -1 in bits:
        raise InputError(
            f"Row {bits.index(-1) + 1:,} of {path.name}, column {column}, must be 0 or 1. For"
            f" other values, choose the secret one with {column}=VALUE or --equals."
        )
    return np.array(bits, dtype=np.int64)


def read_numbers(path: Path, column: str) -> Floats | Ids:
    """Return the number of each record (n,); integers stay integers."""
    texts = read_texts(path, column)
    try:
        numbers = np.array([float(text) for text in texts])
    except ValueError:
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InputError(f"Column {column} of {path.name} must contain finite numbers.")
    whole = (numbers == np.floor(numbers)).all() and np.abs(numbers).max() < 2**53
    return numbers.astype(np.int64) if whole else numbers
