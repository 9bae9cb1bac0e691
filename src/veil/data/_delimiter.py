"""Lines into fields, and which mark it is that separates them."""

import csv
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from veil.core.errors import InputError
from veil.data.lines import MAX_LINE

_USUAL = (",", ";", "\t", "|")


def fields(
    lines: Iterable[str], delimiter: str, *, quoted: bool = True, spaced: bool = False
) -> Iterator[list[str]]:
    """Yield the fields of each row; `spaced` where blanks after a delimiter are of the table.

    A delimiter of several characters goes without quotes.
    """
    if len(delimiter) > 1:
        ended = (line.rstrip("\r\n") for line in lines)
        return (line.split(delimiter) if line else [] for line in ended)
    csv.field_size_limit(MAX_LINE)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=spaced,
        strict=True,
    )


def split(line: str, delimiter: str, *, spaced: bool = False) -> list[str]:
    """Return the fields of one line; none where a quote ends in a later line."""
    try:
        return next(fields([line], delimiter, spaced=spaced), [])
    except csv.Error:
        return []


def find_delimiter(
    first: str, ahead: Iterable[str], name: str, fits: Callable[[list[str]], bool], *, tabs: bool
) -> tuple[str, list[str]]:
    """Tell the delimiter by the first line, else by those ahead; return also the lines looked at.

    `fits` tells whether the columns that are asked for are among these names.
    """
    if tabs and "\t" in first:
        return "\t", []
    found = {mark: names for mark in _USUAL if (names := split(first, mark, spaced=True))}
    fitting = [mark for mark, names in found.items() if len(names) > 1 and fits(names)]
    if not fitting and sum(len(names) > 1 for names in found.values()) > 1:
        raise InputError(
            f"The delimiter of {name} is not clear, and by none has it the columns that are asked"
            " for; name it with --delimiter, and columns with --column, --id and --keep."
        )
    if not fitting:
        return max(_USUAL, key=lambda mark: len(found.get(mark, ()))), []
    if len(fitting) == 1:
        return fitting[0], []
    seen = list(ahead)
    even = [mark for mark in fitting if _even([first, *seen], mark)]
    if len(even) != 1:
        raise InputError(f"The delimiter of {name} is not clear; name it with --delimiter.")
    return even[0], seen


def _even(lines: list[str], delimiter: str) -> bool:
    """Tell whether all rows have as many columns as the first; the last may be cut off."""
    widths: set[int] = set()
    with suppress(csv.Error):
        widths.update(len(row) for row in fields(lines, delimiter) if row)
    return len(widths) == 1
