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

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from veil.core.errors import InputError, MissingExtraError, ParameterError
from veil.core.formatting import brief
from veil.data.lines import (
    MAX_LINE,
    AnyFile,
    Progress,
    check_encoding,
    read_lines,
    read_position,
    require_file,
    split_returns,
    suffix_of,
)

T = TypeVar("T")
# named: by the format itself; cut: by a delimiter; bare: no header line; plain: no table at all
Kind = Literal["named", "cut", "bare", "plain"]


def fold_name(name: str) -> str:
    """Return the name of a column as it is compared: without regard to case and blanks."""
    return name.strip().casefold()


def row_label(name: str, row: int, line: int) -> str:
    """Return how messages call a row."""
    return f"Row {row:,}{f' (line {line:,})' if line else ''} of {name}"


@dataclass(frozen=True, slots=True)
class Header:
    """Names of columns, as they are written; `where` they stand, for messages.

    Without a header line the columns are called by their positions: "1", "2" and so on.
    """

    names: tuple[str, ...]
    where: str
    kind: Kind = "named"

    @classmethod
    def of(
        cls, names: Iterable[object], where: str, kind: Kind = "named", *, cased: bool = False
    ) -> "Header":
        """Check that no name stands there twice; `cased` tells x and X apart."""
        written = tuple(str(name).strip() for name in names)
        told = [name if cased else fold_name(name) for name in written if name]
        if len(set(told)) < len(told):
            why = "" if cased else " (case does not count)"
            raise InputError(f"{where} has two columns of one name{why}; rename one.")
        return cls(written, where, kind)

    @classmethod
    def bare(cls, width: int, where: str) -> "Header":
        """Call columns by their positions."""
        return cls(tuple(map(str, range(1, width + 1))), where, "bare")

    def find(self, names: Sequence[str]) -> int:
        """Return the position of the first of these names that there is, or -1."""
        known = list(map(fold_name, self.names))
        return next((known.index(name) for name in map(fold_name, names) if name in known), -1)

    def __len__(self) -> int:
        return len(self.names)


@brief()
class Row(NamedTuple, Generic[T]):
    """Values of a row, at the positions that were picked (None at -1)."""

    number: int
    line: int  # 0: the file has no lines
    values: list[T]

    def where(self, name: str) -> str:
        """Return how messages call this row."""
        return row_label(name, self.number, self.line)


Pick = Callable[[Header], Sequence[int]]  # positions of the columns of interest, or an InputError


def pick_values(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Return the values at some positions, None at -1."""
    return [values[at] if at >= 0 else None for at in positions]


_DELIMITERS = (",", ";", "\t", "|")


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
    found = {mark: names for mark in _DELIMITERS if (names := split(first, mark, spaced=True))}
    fitting = [mark for mark, names in found.items() if len(names) > 1 and fits(names)]
    if not fitting and sum(len(names) > 1 for names in found.values()) > 1:
        raise InputError(
            f"The delimiter of {name} is not clear, and by none has it the columns that are asked"
            " for; name it with --delimiter, and columns with --column, --id and --keep."
        )
    if not fitting:
        return max(_DELIMITERS, key=lambda mark: len(found.get(mark, ()))), []
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


_LOOK = 20  # lines by which a delimiter is told where the header leaves it open


@dataclass(frozen=True)
class DelimitedLayout:
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
        Whether a field may stand in quotes; by default in all files but TSV, and in TSV where a
        line break is in quotes.
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
    lines: Iterator[str], name: str, pick: Pick, layout: DelimitedLayout, *, tabs: bool
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
            f"{name} cannot be read {read_position(number, 'row')} ({fault}); repair the file."
        ) from None


def _rows(
    lines: Iterator[str], name: str, pick: Pick, layout: DelimitedLayout, *, tabs: bool
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
    names: list[str], name: str, pick: Pick, layout: DelimitedLayout, *, bare: bool
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
                f"{row_label(name, number, line)} has {len(values)} columns where the first line"
                f" has {width}{why}; repair that row."
            )
        yield Row(number, line, pick_values(values, positions))
        line += _breaks(values)


def _breaks(values: Iterable[str]) -> int:
    """Count the line breaks inside quotes."""
    return sum(value.count("\n") for value in values)


class _TwiceError(ValueError):
    """A key stands in an object twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _TwiceError
    return found


def _value(line: str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line, object_pairs_hook=_once)
    except _TwiceError:
        raise InputError(f"{where} has two keys of one name; rename one.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not JSON; repair it.") from None


def read_jsonl(lines: Iterable[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    """Yield the rows; `pick` is asked again whenever the keys are not those of the row before."""
    number = 0
    known: tuple[str, ...] | None = None
    positions: Sequence[int] = ()
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        number += 1
        where = row_label(name, number, line)
        value = _value(content, where)
        if isinstance(value, str):
            known, positions = None, pick(Header(("text",), where, "plain"))
            yield Row(number, line, pick_values([value], positions))
        elif isinstance(value, dict):
            if (keys := tuple(value)) != known:
                known, positions = keys, pick(Header.of(keys, where))
            yield Row(number, line, pick_values(list(value.values()), positions))
        else:
            raise InputError(f"{where} must be a JSON object or string.")


_REMEDY = "Parquet files need pyarrow: pip install 'veil[parquet]', or use CSV or JSONL."


def pyarrow() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow, or say how to get it."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pa


def pyarrow_parquet() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow.parquet, or say how to get it."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pq


def parquet_texts(path: Path) -> frozenset[str]:
    """Return the columns that the schema of a Parquet file calls text."""
    kinds = pyarrow().types

    def text(kind: Any) -> bool:  # noqa: ANN401 - of pyarrow
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind))

    with _parquet_file(path) as file:
        return frozenset(one.name for one in file.schema_arrow if text(one.type))


def _parquet_file(path: Path) -> Any:  # noqa: ANN401 - of pyarrow
    try:
        return pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path.name} is not a Parquet file ({type(error).__name__}).") from None


def read_parquet(path: Path, pick: Pick, progress: Progress) -> Iterator[Row[Any]]:
    """Yield the rows; of the columns only those that are picked are read."""
    with _parquet_file(path) as file:
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
    except (OSError, ValueError, NotImplementedError):
        raise InputError(f"{name} is a damaged Parquet file; fetch or write it again.") from None
    except OverflowError:
        raise InputError(
            f"{name} has a date or a time that is out of range; write the column as text."
        ) from None


_DEFAULT_LAYOUT = DelimitedLayout()


def read_rows(
    path: AnyFile | None,
    pick: Pick,
    layout: DelimitedLayout = _DEFAULT_LAYOUT,
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
    if isinstance(path, Path) and suffix == ".parquet":
        return read_parquet(path, pick, progress)
    lines = split_returns(read_lines(path, layout.encoding, progress, choice=layout.choice))
    if packed:
        return read_jsonl(lines, name, pick)
    if suffix in (".csv", ".tsv") or layout.delimiter is not None:
        if path is not None and suffix == ".tsv" and layout.quotes is None:
            return _tabbed(path, lines, pick, layout)
        return read_delimited(lines, name, pick, layout, tabs=suffix == ".tsv")
    return _plain(lines, name, pick)


def _tabbed(
    path: AnyFile, lines: Iterator[str], pick: Pick, layout: DelimitedLayout
) -> Iterator[Row[Any]]:
    """Yield the rows of a TSV file, whose quotes are text unless they hold rows together."""
    if layout.delimiter in (None, "\t") and _has_quoted_breaks(path, layout.encoding):
        layout = replace(layout, quotes=True, delimiter="\t")
    yield from read_delimited(lines, path.name, pick, layout, tabs=True)


def _has_quoted_breaks(path: AnyFile, encoding: str | None) -> bool:
    """Tell whether lines of a TSV file differ in width, and its rows with quotes do not."""
    if path.suffix.lower() == ".tsv":
        with path.open("rb") as file:
            if not any(b'"' in part for part in iter(lambda: file.read(2**20), b"")):
                return False
    lines = split_returns(read_lines(path, encoding))
    width = next(lines, "").count("\t")
    if not width or all(line.count("\t") == width for line in lines if line.strip("\r\n")):
        return False
    rows = fields(split_returns(read_lines(path, encoding)), "\t")
    try:
        return len({len(row) for row in rows if row}) == 1
    except csv.Error:
        return False


def _plain(lines: Iterator[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    positions = pick(Header(("text",), name, "plain"))
    for number, line in enumerate(lines, start=1):
        yield Row(number, number, pick_values([line.rstrip("\r\n")], positions))


def read_table(
    path: AnyFile,
    columns: Sequence[str] = (),
    layout: DelimitedLayout = _DEFAULT_LAYOUT,
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


__all__ = ["DelimitedLayout", "Header", "Pick", "Row", "plain_value", "read_rows", "read_table"]
