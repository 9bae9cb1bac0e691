"""Rows of files, one by one: CSV, TSV, JSON lines, Parquet and plain text, also compressed.

Rows are numbered from 1 as they are read; a header, and the empty lines of a table, are not
counted. Messages name a file, a row and its line, never a value: values are what is protected.
"""

import csv
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from veil.core.errors import InputError, ParameterError
from veil.data.lines import (
    MAX_LINE,
    Progress,
    check_encoding,
    read_lines,
    split_returns,
    suffix_of,
)
from veil.data.parquet import pyarrow_parquet

_DELIMITERS = (",", ";", "\t", "|")
_LOOK = 20  # lines by which a delimiter is told where the header leaves it open


@dataclass(frozen=True)
class Layout:
    """How a file is written, where neither its name nor its first line tells."""

    delimiter: str | None = None
    encoding: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            check_encoding(self.encoding)
        if self.delimiter is not None:
            mark = {"tab": "\t", "\\t": "\t"}.get(self.delimiter, self.delimiter)
            if len(mark) != 1 or mark in '"\r\n\0':
                raise ParameterError("A delimiter must be one character, or tab.")
            object.__setattr__(self, "delimiter", mark)


@dataclass(frozen=True, slots=True)
class Header:
    """Names of columns, without regard to case and blanks around them; `where` they stand."""

    names: tuple[str, ...]
    where: str
    kind: str = "named"  # or: cut (by a delimiter), bare (without a header), plain (no table)

    @classmethod
    def of(cls, names: Iterable[object], where: str, kind: str = "named") -> "Header":
        """Check that no name stands there twice."""
        plain = tuple(normal(str(name)) for name in names)
        told = [name for name in plain if name]
        if len(set(told)) < len(told):
            raise InputError(
                f"{where} has two columns of one name (case does not count); rename one."
            )
        return cls(plain, where, kind)

    def find(self, names: Sequence[str]) -> int:
        """Return the position of the first of these names that there is, or -1."""
        wanted = map(normal, names)
        return next((self.names.index(name) for name in wanted if name in self.names), -1)

    def __len__(self) -> int:
        return len(self.names)


class Row(NamedTuple):
    """Values of a row, at the positions that were picked (None at -1)."""

    number: int
    line: int  # 0: the file has no lines
    values: list[Any]

    def where(self, name: str) -> str:
        """Return how messages call this row."""
        return place(name, self.number, self.line)


Pick = Callable[[Header], Sequence[int]]  # positions of the columns of interest, or an InputError


def normal(name: str) -> str:
    """Return the name of a column as it is compared."""
    return name.strip().casefold()


def place(name: str, row: int, line: int) -> str:
    """Return how messages call a row."""
    return f"Row {row:,}{f' (line {line:,})' if line else ''} of {name}"


def read_rows(
    path: Path | None, pick: Pick, layout: Layout, progress: Progress = lambda _: None
) -> Iterator[Row]:
    """Yield the rows of a file (None: standard input)."""
    name = "standard input" if path is None else path.name
    count = 0
    try:
        for row in _open(path, name, pick, layout, progress):
            count = row.number
            yield row
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeError) as error:
        raise InputError(_broken(name, count, error, layout)) from None


def _open(
    path: Path | None, name: str, pick: Pick, layout: Layout, progress: Progress
) -> Iterator[Row]:
    """Choose the reader by the name of the file."""
    suffix = "" if path is None else suffix_of(path)
    table = suffix in (".csv", ".tsv")
    if path is not None and suffix == ".parquet":
        _need_no_delimiter(name, layout)
        return _parquet(path, pick, progress)
    lines = split_returns(read_lines(path, layout.encoding, progress))
    if suffix in (".jsonl", ".ndjson"):
        _need_no_delimiter(name, layout)
        return _objects(lines, name, pick)
    if table or layout.delimiter is not None:
        return _separated(lines, name, pick, layout.delimiter, tabs=suffix == ".tsv")
    return _plain(lines, name, pick)


def _need_no_delimiter(name: str, layout: Layout) -> None:
    if layout.delimiter is not None:
        raise InputError(f"{name} is of a kind that has no delimiter; leave it out.")


def _broken(name: str, rows: int, error: Exception, layout: Layout) -> str:
    where = f"after row {rows:,}" if rows else "near its beginning"
    if isinstance(error, UnicodeError):
        what = layout.encoding or "UTF-8"
        return (
            f"{name} is not {what} text {where}; name its encoding with --encoding, or convert it."
        )
    kind = _fault(error) if isinstance(error, csv.Error) else type(error).__name__
    return f"{name} cannot be read {where} ({kind}); repair the file."


def _fault(error: csv.Error) -> str:
    if "new-line" in str(error):
        return "a carriage return inside a line"
    return "quoting or a field too long"


def _taken(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    return [values[at] if at >= 0 else None for at in positions]


def _plain(lines: Iterable[str], name: str, pick: Pick) -> Iterator[Row]:
    positions = pick(Header(("text",), name, "plain"))
    for number, line in enumerate(lines, start=1):
        yield Row(number, number, _taken([line.rstrip("\r\n")], positions))


def _separated(
    lines: Iterator[str], name: str, pick: Pick, delimiter: str | None, *, tabs: bool
) -> Iterator[Row]:
    first, skipped = next(lines, ""), 0
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:  # as Excel writes
        delimiter, first, skipped = delimiter or first.strip()[4], next(lines, ""), 1
    if not first:
        return
    if delimiter is None:
        ahead = islice(lines, _LOOK)
        delimiter, seen = _delimiter(first, ahead, name, pick, tabs=tabs)
        lines = chain(seen, lines)
    plain = tabs and delimiter == "\t"  # TSV knows no quotes: query logs are full of them
    spaced = any(each.startswith(" ") for each in _split(first, delimiter))
    reader = _reader(chain([first], lines), delimiter, plain=plain, spaced=spaced)
    names = next(reader)
    positions, bare = _positions(names, name, pick, bare=plain)
    if bare:
        yield from _table(chain([names], reader), name, 2, positions, 0)
    else:
        line = 1 + skipped + _breaks(names)
        yield from _table(reader, name, len(names), positions, line)


def _table(
    rows: Iterable[list[str]], name: str, width: int, positions: Sequence[int], line: int
) -> Iterator[Row]:
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
        yield Row(number, line, _taken(values, positions))
        line += _breaks(values)


def _breaks(values: Iterable[str]) -> int:
    """Count the line breaks inside quotes."""
    return sum(value.count("\n") for value in values)


def _reader(
    lines: Iterable[str], delimiter: str, *, plain: bool = False, spaced: bool = False
) -> Iterator[list[str]]:
    """Read fields; `spaced` where blanks after a delimiter are of the table, not of the value."""
    csv.field_size_limit(MAX_LINE)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
        skipinitialspace=spaced,
        strict=True,
    )


def _positions(
    names: list[str], name: str, pick: Pick, *, bare: bool
) -> tuple[Sequence[int], bool]:
    """Return what is picked, and whether the table is the common 'id TAB text' without header."""
    try:
        return pick(Header.of(names, name, "cut")), False
    except InputError:
        if not bare or len(names) != 2:
            raise
        try:
            return pick(Header(("1", "2"), name, "bare")), True
        except InputError:
            pass
        raise


def _delimiter(
    first: str, ahead: Iterable[str], name: str, pick: Pick, *, tabs: bool
) -> tuple[str, list[str]]:
    """Tell the delimiter by the header, else by the rows; return also the lines looked at."""
    if tabs and "\t" in first:
        return "\t", []
    found = {mark: names for mark in _DELIMITERS if (names := _split(first, mark, spaced=True))}
    fits = [mark for mark, names in found.items() if len(names) > 1 and _picks(names, name, pick)]
    if not fits and sum(len(names) > 1 for names in found.values()) > 1:
        raise InputError(
            f"The delimiter of {name} is not clear, and by none has it the columns that are asked"
            " for; name it with --delimiter, and columns with --column, --id and --keep."
        )
    if not fits:
        return max(_DELIMITERS, key=lambda mark: len(found.get(mark, ()))), []
    if len(fits) == 1:
        return fits[0], []
    seen = list(ahead)
    even = [mark for mark in fits if _even([first, *seen], mark)]
    if len(even) != 1:
        raise InputError(f"The delimiter of {name} is not clear; name it with --delimiter.")
    return even[0], seen


def _split(line: str, delimiter: str, *, spaced: bool = False) -> list[str]:
    try:
        return next(_reader([line], delimiter, spaced=spaced), [])
    except csv.Error:  # a quote that ends in a later line
        return []


def _picks(names: list[str], name: str, pick: Pick) -> bool:
    try:
        pick(Header.of(names, name, "cut"))
    except InputError:
        return False
    return True


def _even(lines: list[str], delimiter: str) -> bool:
    """Tell whether all rows have as many columns as the first; the last may be cut off."""
    widths: set[int] = set()
    with suppress(csv.Error):
        widths.update(len(row) for row in _reader(lines, delimiter) if row)
    return len(widths) == 1


class _TwiceError(ValueError):
    """A key stands in an object twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError
    return found


def json_row(line: str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    """Read a line of JSON."""
    try:
        return json.loads(line, object_pairs_hook=_once)
    except _TwiceError:
        raise InputError(f"{where} has two keys of one name; rename one.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; repair it.") from None


def _objects(lines: Iterable[str], name: str, pick: Pick) -> Iterator[Row]:
    number = 0
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        number += 1
        where = place(name, number, line)
        value = json_row(content, where)
        if isinstance(value, str):
            yield Row(number, line, _taken([value], pick(Header(("text",), where, "plain"))))
        elif isinstance(value, dict):
            yield Row(number, line, _taken(list(value.values()), pick(Header.of(value, where))))
        else:
            raise InputError(f"{where} must be a JSON object or string.")


def _parquet(path: Path, pick: Pick, progress: Progress) -> Iterator[Row]:
    try:
        file = pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path.name} is not a Parquet file ({type(error).__name__}).") from None
    with file:
        names = list(file.schema_arrow.names)
        positions = pick(Header.of(names, path.name))
        wanted = list(dict.fromkeys(names[at] for at in positions if at >= 0))
        size, total = path.stat().st_size, max(1, file.metadata.num_rows)
        number = 0
        for table in _batches(file, wanted, path.name):
            columns = [table[names[at]] if at >= 0 else None for at in positions]
            for row in range(len(table[wanted[0]])):
                number += 1
                yield Row(number, 0, [column and column[row] for column in columns])
            progress(size * number // total)


def _batches(file: Any, wanted: list[str], name: str) -> Iterator[dict[str, list[object]]]:  # noqa: ANN401
    """Yield the columns in batches; Arrow's errors on damaged pages are of many types."""
    try:
        for batch in file.iter_batches(batch_size=4096, columns=wanted):
            yield batch.to_pydict()
    except (ValueError, NotImplementedError):
        raise InputError(f"{name} is a damaged Parquet file; fetch or write it again.") from None
