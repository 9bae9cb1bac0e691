"""Rows of files, one by one: CSV, TSV, JSON lines, Parquet and plain text, also compressed.

The one reader for all domains. `read_rows` gives the values of the columns that a caller picks, as
the file has them. `read_table` gives all columns, or those named, as text::

    header, rows = read_table(path)            # header.names: ("age", "zip code")
    for row in rows:                           # row.number from 1, row.values: ["34", "35121"]
        ...

Both read in constant memory. Rows are numbered from 1 as they are read; a header, and the empty
lines of a table, are not counted. Messages name a file, a row and its line, never a value: values
are what is protected.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.data.delimited import Layout, read_delimited
from veil.data.header import Header, Pick, Row, taken
from veil.data.jsonl import read_jsonl
from veil.data.lines import Progress, read_lines, require_file, split_returns, suffix_of
from veil.data.parquet import read_parquet

__all__ = ["Header", "Layout", "Pick", "Row", "plain_value", "read_rows", "read_table"]

_USUAL = Layout()


def read_rows(
    path: Path | None,
    pick: Pick,
    layout: Layout = _USUAL,
    progress: Progress = lambda _: None,
) -> Iterator[Row[Any]]:
    """Yield the rows of a file (None: standard input), whose name tells the format.

    `pick` tells, of a header, the positions of the columns of interest, or raises; of JSON lines
    it is asked for each set of keys. `progress` is told how many bytes have been read.
    """
    name = "standard input" if path is None else path.name
    suffix = "" if path is None else suffix_of(path)
    packed = suffix in (".jsonl", ".ndjson", ".parquet")
    if packed and layout.of_table:
        raise InputError(
            f"{name} is of a kind that has no delimiter, header line or quotes; leave them out."
        )
    if path is not None and suffix == ".parquet":
        return read_parquet(path, pick, progress)
    lines = split_returns(read_lines(path, layout.encoding, progress, choice=layout.choice))
    if packed:
        return read_jsonl(lines, name, pick)
    if suffix in (".csv", ".tsv") or layout.delimiter is not None:
        return read_delimited(lines, name, pick, layout, tabs=suffix == ".tsv")
    return _plain(lines, name, pick)


def _plain(lines: Iterator[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    positions = pick(Header(("text",), name, "plain"))
    for number, line in enumerate(lines, start=1):
        yield Row(number, number, taken([line.rstrip("\r\n")], positions))


def read_table(
    path: Path,
    columns: Sequence[str] = (),
    layout: Layout = _USUAL,
    progress: Progress = lambda _: None,
) -> tuple[Header, Iterator[Row[str]]]:
    """Open a table: its columns, or those named in their order, and its rows as text.

    A value that is missing is "", as a field that is empty; of JSON lines the first row tells the
    columns. A column without a name is called by its position.
    """
    require_file(path, "a table")
    chosen = _Chosen(columns)
    rows = read_rows(path, chosen.pick, layout, progress)
    first = next(rows, None)
    if chosen.header is None:
        raise InputError(f"{path.name} holds no table.")
    whole = rows if first is None else chain([first], rows)
    return chosen.header, (_as_text(row, path.name) for row in whole)


class _Chosen:
    """The columns of a table: as the header says, or the first of the JSON lines."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._first: Header | None = None  # with all columns
        self.header: Header | None = None

    def pick(self, header: Header) -> list[int]:
        if header.kind == "plain":
            raise InputError(
                f"{header.where} is plain text and has no columns; name the delimiter of a table."
            )
        if header.kind == "named" and self._first is not None:
            return self._again(header, self._first)
        positions = self._positions(header)
        names = tuple(header.names[at] or str(at + 1) for at in positions)
        self._first, self.header = header, Header(names, header.where, header.kind)
        return positions

    def _positions(self, header: Header) -> list[int]:
        named = [self._position(header, name) for name in self._columns]
        return named or list(range(len(header)))

    def _again(self, header: Header, first: Header) -> list[int]:
        """Find the columns of the first row in another."""
        if any(first.find((name,)) < 0 for name in header.names):
            raise InputError(
                f"{header.where} has a column that the first row lacks; give that one it, too,"
                " empty if need be."
            )
        return [header.find((first.names[at],)) for at in self._positions(first)]

    @staticmethod
    def _position(header: Header, name: str) -> int:
        found = header.find((name,))
        if found < 0:
            raise InputError(
                f"{header.where} has no column '{name}' among its {len(header)}; name the right"
                " one."
            )
        return found


def _as_text(row: Row[Any], name: str) -> Row[str]:
    values = [
        value if isinstance(value, str) and value.isascii() else _text(value, row, name)
        for value in row.values
    ]
    return Row(row.number, row.line, values)


def _text(value: object, row: Row[Any], name: str) -> str:
    if isinstance(value, bytes):
        raise InputError(f"{row.where(name)} has a value that is bytes and not text; repair it.")
    plain = plain_value(value, row, name)
    if isinstance(plain, bool):
        return str(plain).lower()
    return "" if plain is None else str(plain)


def plain_value(value: object, row: Row[Any], name: str) -> object:
    """Return a value that can be written to any file."""
    if value is None or isinstance(value, bool | int | float):
        return value
    shown = value if isinstance(value, str) else _shown(value)
    if not shown.isascii() and any("\ud800" <= character <= "\udfff" for character in shown):
        raise InputError(
            f"{row.where(name)} has a lone surrogate, which is not text, in a column that is"
            " wanted; repair it."
        )
    return shown


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
