"""Numbers as they are typed, or as a column of a file has them; whole ones stay whole."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.rows import read_table
from veil.dp.mechanism import Array


def given_numbers(words: Sequence[str], column: str | None = None) -> Array:
    """Return numbers in a row: those that are typed, or a column of the one file that is named.

    >>> given_numbers(["120", "-37", "4"]).tolist()
    [120, -37, 4]
    """
    if column is None:
        return numbers_of(words, "The numbers")
    if len(words) != 1:
        raise InputError("A column is of one file; name that file, or leave the column out.")
    path = Path(words[0].strip())
    _, rows = read_table(path, [column])
    return numbers_of((row.values[0] for row in rows), f"The column '{column}' of {path.name}")


def numbers_of(texts: Iterable[str], what: str) -> Array:
    """Read texts as whole numbers if all are, else as numbers; none of them is quoted."""
    found: list[int | float] = []
    advice = "" if what.startswith("The column") else "; of a file, name the column, too"
    for number, text in enumerate(texts, start=1):
        try:
            found.append(_number(text))
        except ValueError:
            raise InputError(
                f"{what} must be numbers, which number {number:,} is not{advice}."
            ) from None
    return np.array(found) if found else np.empty(0, dtype=np.int64)


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
