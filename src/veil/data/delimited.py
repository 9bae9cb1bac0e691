"""Rows of CSV, TSV and other files whose columns are separated by a mark."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

from veil.core.errors import InputError, ParameterError
from veil.data._delimiter import fields, find_delimiter, split
from veil.data.header import Header, Pick, Row, place, taken
from veil.data.lines import after, check_encoding

_LOOK = 20  # lines by which a delimiter is told where the header leaves it open


@dataclass(frozen=True)
class Layout:
    """How a file is written, where neither its name nor its first line tells.

    Attributes
    ----------
    delimiter
        What separates columns: a character, tab, or several marks such as ``::``, between which
        there are no quotes.
    encoding
        Of a text file; as its mark says by default, else UTF-8.
    header
        Whether the first line names the columns; by default it does, but for a table without
        quotes that lacks the names that are asked for.
    quotes
        Whether a field may stand in quotes; by default in all files but TSV.
    cased
        Whether names of columns that differ by case alone are two.
    choice
        Whether the user can name the encoding, so that messages say how.
    """

    delimiter: str | None = None
    encoding: str | None = None
    header: bool | None = None
    quotes: bool | None = None
    cased: bool = False
    choice: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.delimiter is not None:
            mark = {"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter)
            several = 1 < len(mark) < 9 and not any(map(str.isalnum, mark))
            if not (len(mark) == 1 or several) or set(mark) & set('"\r\n\0'):
                raise ParameterError(
                    "A delimiter must be one character, or tab, or several marks such as '::'."
                )
            object.__setattr__(self, "delimiter", mark)

    @property
    def of_table(self) -> bool:
        """Tell whether anything is said that holds for tables of lines alone."""
        return (self.delimiter, self.header, self.quotes) != (None, None, None)


def read_delimited(
    lines: Iterator[str], name: str, pick: Pick, layout: Layout, *, tabs: bool
) -> Iterator[Row[Any]]:
    """Yield the rows; `tabs` says that the name of the file promises TSV."""
    number = 0
    try:
        for row in _rows(lines, name, pick, layout, tabs=tabs):
            number = row.number
            yield row
    except csv.Error as error:
        returns = "new-line" in str(error)
        fault = "a carriage return inside a line" if returns else "quoting or a field too long"
        raise InputError(
            f"{name} cannot be read {after(number, 'row')} ({fault}); repair the file."
        ) from None


def _rows(
    lines: Iterator[str], name: str, pick: Pick, layout: Layout, *, tabs: bool
) -> Iterator[Row[Any]]:
    first, line, delimiter = next(lines, ""), 0, layout.delimiter
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:  # as Excel writes
        delimiter, first, line = delimiter or first.strip()[4], next(lines, ""), 1
    if not first:
        return
    if delimiter is None:

        def fits(names: list[str]) -> bool:
            with suppress(InputError):
                told = replace(layout, header=layout.header is not False)
                _positions(names, name, pick, told, bare=False)
                return True
            return False

        delimiter, seen = find_delimiter(first, islice(lines, _LOOK), name, fits, tabs=tabs)
        lines = chain(seen, lines)
    # TSV knows no quotes: query logs are full of them.
    quoted = not (tabs and delimiter == "\t") if layout.quotes is None else layout.quotes
    spaced = any(field.startswith(" ") for field in split(first, delimiter))
    rows = fields(chain([first], lines), delimiter, quoted=quoted, spaced=spaced)
    names = next(rows)
    positions, bare = _positions(names, name, pick, layout, bare=not quoted)
    if bare:
        rows = chain([names], rows)
    else:
        line += 1 + _breaks(names)
    yield from _numbered(rows, name, len(names), positions, line)


def _positions(
    names: list[str], name: str, pick: Pick, layout: Layout, *, bare: bool
) -> tuple[Sequence[int], bool]:
    """Return what is picked, and whether the first line is a row: `bare` lets it be one."""
    if layout.header is False:
        return pick(Header.bare(len(names), name)), True
    try:
        return pick(Header.of(names, name, "cut", cased=layout.cased)), False
    except InputError:
        if layout.header or not bare:
            raise
        with suppress(InputError):
            return pick(Header.bare(len(names), name)), True
        raise


def _numbered(
    rows: Iterable[list[str]], name: str, width: int, positions: Sequence[int], line: int
) -> Iterator[Row[Any]]:
    number = 0
    for values in rows:
        line += 1
        if not values:
            continue
        number += 1
        if len(values) != width:
            late = any(value.startswith(" ") and value.lstrip()[:1] == '"' for value in values)
            why = " (a quote after a blank quotes nothing; take out the blank)" if late else ""
            raise InputError(
                f"{place(name, number, line)} has {len(values)} columns where the first line has"
                f" {width}{why}; repair that row."
            )
        yield Row(number, line, taken(values, positions))
        line += _breaks(values)


def _breaks(values: Iterable[str]) -> int:
    """Count the line breaks inside quotes."""
    return sum(value.count("\n") for value in values)
