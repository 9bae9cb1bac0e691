"""Read rows from CSV, TSV, JSON lines, Parquet and plain text, also compressed.

All domains use this reader. `read_rows` yields the values of the columns that a caller picks,
unconverted. `read_table` yields all columns, or those named, as text::

    header, rows = read_table(path)            # header.names: ("age", "zip code")
    for row in rows:                           # row.number from 1, row.values: ["34", "35121"]
        ...

Both read in constant memory. Rows are numbered from 1, without the header and empty lines of a
table. Errors name a file, a row and its line, but never a value, because values are confidential.
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
# named: columns named by the format; cut: by a header line; bare: no header line; plain: no table
Kind = Literal["named", "cut", "bare", "plain"]


def fold_name(name: str) -> str:
    """Return a column name for comparison, without case and surrounding blanks."""
    return name.strip().casefold()


def row_label(name: str, row: int, line: int) -> str:
    """Return the label of a row in errors."""
    return f"Row {row:,}{f' (line {line:,})' if line else ''} of {name}"


@dataclass(frozen=True, slots=True)
class Header:
    """Column names, and `where` they are, for errors.

    Without a header line, columns are named by their positions: "1", "2" and so on.
    """

    names: tuple[str, ...]
    where: str
    kind: Kind = "named"

    @classmethod
    def of(
        cls, names: Iterable[object], where: str, kind: Kind = "named", *, cased: bool = False
    ) -> "Header":
        """Return the header, or raise if a name occurs twice; `cased` distinguishes x and X."""
        written = tuple(str(name).strip() for name in names)
        keys = [name if cased else fold_name(name) for name in written if name]
        if len(set(keys)) < len(keys):
            why = "" if cased else " (ignoring case)"
            raise InputError(f"{where} has two columns with the same name{why}. Rename one.")
        return cls(written, where, kind)

    @classmethod
    def bare(cls, width: int, where: str) -> "Header":
        """Return a header that names columns by their positions."""
        return cls(tuple(map(str, range(1, width + 1))), where, "bare")

    def find(self, names: Sequence[str]) -> int:
        """Return the position of the first of `names` that exists, or -1."""
        keys = list(map(fold_name, self.names))
        return next((keys.index(name) for name in map(fold_name, names) if name in keys), -1)

    def __len__(self) -> int:
        return len(self.names)


@brief()
class Row(NamedTuple, Generic[T]):
    """The picked values of a row (None for position -1)."""

    number: int
    line: int  # 0: the file has no lines
    values: list[T]

    def where(self, name: str) -> str:
        """Return the label of this row in errors."""
        return row_label(name, self.number, self.line)


Pick = Callable[[Header], Sequence[int]]  # header to positions of the columns, or an InputError


def pick_values(values: Sequence[Any], positions: Sequence[int]) -> list[Any]:
    """Return the values at `positions`, None for -1."""
    return [values[at] if at >= 0 else None for at in positions]


_DELIMITERS = (",", ";", "\t", "|")


def fields(
    lines: Iterable[str], delimiter: str, *, quoted: bool = True, spaced: bool = False
) -> Iterator[list[str]]:
    """Yield the fields of each row. With `spaced`, blanks after a delimiter are ignored.

    Quotes have no meaning with a delimiter of several characters.
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
    """Return the fields of one line, or none if a quoted field continues on the next line."""
    try:
        return next(fields([line], delimiter, spaced=spaced), [])
    except csv.Error:
        return []


def find_delimiter(
    first: str, ahead: Iterable[str], name: str, fits: Callable[[list[str]], bool], *, tabs: bool
) -> tuple[str, list[str]]:
    """Return the delimiter, inferred from the first line or the lines ahead, and the lines read.

    `fits` returns whether the requested columns are among the names.
    """
    if tabs and "\t" in first:
        return "\t", []
    splits = {mark: names for mark in _DELIMITERS if (names := split(first, mark, spaced=True))}
    fitting = [mark for mark, names in splits.items() if len(names) > 1 and fits(names)]
    if not fitting and sum(len(names) > 1 for names in splits.values()) > 1:
        raise InputError(
            f"The delimiter of {name} is ambiguous, and no delimiter gives the requested columns."
            " Set it with --delimiter, and columns with --column, --id and --keep."
        )
    if not fitting:
        return max(_DELIMITERS, key=lambda mark: len(splits.get(mark, ()))), []
    if len(fitting) == 1:
        return fitting[0], []
    sample = list(ahead)
    even = [mark for mark in fitting if _even([first, *sample], mark)]
    if len(even) != 1:
        raise InputError(f"The delimiter of {name} is ambiguous. Set it with --delimiter.")
    return even[0], sample


def _even(lines: list[str], delimiter: str) -> bool:
    """Return whether all rows have the same number of columns. The last row may be incomplete."""
    widths: set[int] = set()
    with suppress(csv.Error):
        widths.update(len(row) for row in fields(lines, delimiter) if row)
    return len(widths) == 1


_LOOK = 20  # lines that decide about the delimiter if the header is ambiguous


@dataclass(frozen=True)
class DelimitedLayout:
    """The format of a table, if neither its name nor its first line shows it.

    Attributes
    ----------
    delimiter
        Column separator: a character, tab, or several punctuation marks such as ``::`` (without
        quoting).
    encoding
        Encoding of a text file. Default: by its byte order mark, or UTF-8.
    header
        Whether the first line has the column names. Default: True, except for a table without
        quoting whose first line lacks the requested names.
    quotes
        Whether fields may be quoted. Default: True, except for TSV without line breaks in quotes.
    cased
        Whether column names that differ only in case are different.
    choice
        Whether the user can set the encoding, so that errors mention the option.
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
                    "A delimiter must be one character, tab, or several punctuation marks such as"
                    " '::'."
                )
            object.__setattr__(self, "delimiter", mark)

    @property
    def of_table(self) -> bool:
        """Whether any option is set that applies only to delimited files."""
        return (self.delimiter, self.header, self.quotes) != (None, None, None)


def read_delimited(
    lines: Iterator[str], name: str, pick: Pick, layout: DelimitedLayout, *, tabs: bool
) -> Iterator[Row[Any]]:
    """Yield the rows of a delimited file. `tabs` is True if its suffix is .tsv."""
    number = 0
    try:
        for row in _rows(lines, name, pick, layout, tabs=tabs):
            number = row.number
            yield row
    except csv.Error as error:
        returns = "new-line" in str(error)
        fault = "a carriage return within a line" if returns else "quoting or a field too long"
        raise InputError(
            f"Cannot read {name} {read_position(number, 'row')} ({fault}). Repair the file."
        ) from None


def _rows(
    lines: Iterator[str], name: str, pick: Pick, layout: DelimitedLayout, *, tabs: bool
) -> Iterator[Row[Any]]:
    first, line, delimiter = next(lines, ""), 0, layout.delimiter
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:  # written by Excel
        delimiter, first, line = delimiter or first.strip()[4], next(lines, ""), 1
    if not first:
        return
    if delimiter is None:

        def fits(names: list[str]) -> bool:
            with suppress(InputError):
                named_layout = replace(layout, header=layout.header is not False)
                _positions(names, name, pick, named_layout, bare=False)
                return True
            return False

        delimiter, sample = find_delimiter(first, islice(lines, _LOOK), name, fits, tabs=tabs)
        lines = chain(sample, lines)
    # By default TSV has no quoting, because query logs are full of quotes.
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
    """Return the picked positions, and whether the first line is a row, which `bare` allows."""
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
            why = " A quote after a blank has no effect. Remove the blank." if late else ""
            raise InputError(
                f"{row_label(name, number, line)} has {len(values)} columns, but the first line"
                f" has {width}. Repair the row.{why}"
            )
        yield Row(number, line, pick_values(values, positions))
        line += _breaks(values)


def _breaks(values: Iterable[str]) -> int:
    """Return the number of line breaks inside quotes."""
    return sum(value.count("\n") for value in values)


class _TwiceError(ValueError):
    """A JSON object has a key twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise _TwiceError
    return members


def _value(line: str, where: str) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line, object_pairs_hook=_once)
    except _TwiceError:
        raise InputError(f"{where} has two keys with the same name. Rename one.") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where} is not valid JSON. Repair the file.") from None


def read_jsonl(lines: Iterable[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    """Yield the rows of JSON lines. `pick` is called whenever the keys change."""
    number = 0
    last_keys: tuple[str, ...] | None = None
    positions: Sequence[int] = ()
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        number += 1
        where = row_label(name, number, line)
        value = _value(content, where)
        if isinstance(value, str):
            last_keys, positions = None, pick(Header(("text",), where, "plain"))
            yield Row(number, line, pick_values([value], positions))
        elif isinstance(value, dict):
            if (keys := tuple(value)) != last_keys:
                last_keys, positions = keys, pick(Header.of(keys, where))
            yield Row(number, line, pick_values(list(value.values()), positions))
        else:
            raise InputError(f"{where} must be a JSON object or string. Repair the file.")


_REMEDY = "Parquet files need pyarrow: pip install 'veil[parquet]', or use CSV or JSONL."


def pyarrow() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow, or raise `MissingExtraError`."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pa


def pyarrow_parquet() -> Any:  # noqa: ANN401 - pyarrow carries no types
    """Return the module pyarrow.parquet, or raise `MissingExtraError`."""
    try:
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError(_REMEDY) from None
    return pq


def parquet_texts(path: Path) -> frozenset[str]:
    """Return the text columns in the schema of a Parquet file."""
    kinds = pyarrow().types

    def text(kind: Any) -> bool:  # noqa: ANN401 - of pyarrow
        kind = kind.value_type if kinds.is_dictionary(kind) else kind
        return bool(kinds.is_string(kind) or kinds.is_large_string(kind))

    with _parquet_file(path) as file:
        return frozenset(column.name for column in file.schema_arrow if text(column.type))


def _parquet_file(path: Path) -> Any:  # noqa: ANN401 - of pyarrow
    try:
        return pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{path.name} is not a valid Parquet file ({type(error).__name__}). Repair it."
        ) from None


def read_parquet(path: Path, pick: Pick, progress: Progress) -> Iterator[Row[Any]]:
    """Yield the rows of a Parquet file, reading only the picked columns."""
    with _parquet_file(path) as file:
        names = list(file.schema_arrow.names)
        positions = pick(Header.of(names, path.name))
        selected = list(dict.fromkeys(names[at] for at in positions if at >= 0))
        size, total = path.stat().st_size, max(1, file.metadata.num_rows)
        number = 0
        for table in _batches(file, selected, path.name):
            columns = [table[names[at]] if at >= 0 else None for at in positions]
            for row in range(len(table[selected[0]])):
                number += 1
                yield Row(number, 0, [column and column[row] for column in columns])
            progress(size * number // total)


def _batches(file: Any, columns: list[str], name: str) -> Iterator[dict[str, list[object]]]:  # noqa: ANN401
    """Yield the columns in batches. Arrow raises many types of errors for damaged pages."""
    try:
        for batch in file.iter_batches(batch_size=4096, columns=columns):
            yield batch.to_pydict()
    except (OSError, ValueError, NotImplementedError):
        raise InputError(
            f"{name} is a damaged Parquet file. Download or write it again."
        ) from None
    except OverflowError:
        raise InputError(
            f"{name} has a date or time out of range. Write the column as text."
        ) from None


_DEFAULT_LAYOUT = DelimitedLayout()


def read_rows(
    path: AnyFile | None,
    pick: Pick,
    layout: DelimitedLayout = _DEFAULT_LAYOUT,
    progress: Progress = lambda _: None,
) -> Iterator[Row[Any]]:
    """Yield the rows of a file (None: standard input). Its suffix determines the format.

    `pick` maps a header to the positions of the columns to read, or raises. For JSON lines it is
    called for each set of keys. `progress` is called with the number of bytes read.
    """
    name = "standard input" if path is None else path.name
    suffix = "" if path is None else suffix_of(path)
    packed = suffix in (".jsonl", ".ndjson", ".parquet")
    if packed and layout.of_table:
        raise InputError(
            f"{name} has a format without delimiter, header line or quotes. Remove these options."
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
    return _text_rows(lines, name, pick)


def _tabbed(
    path: AnyFile, lines: Iterator[str], pick: Pick, layout: DelimitedLayout
) -> Iterator[Row[Any]]:
    """Yield the rows of a TSV file, where quotes are text unless they enclose line breaks."""
    if layout.delimiter in (None, "\t") and _has_quoted_breaks(path, layout.encoding):
        layout = replace(layout, quotes=True, delimiter="\t")
    yield from read_delimited(lines, path.name, pick, layout, tabs=True)


def _has_quoted_breaks(path: AnyFile, encoding: str | None) -> bool:
    """Return whether rows have the same width only if quotes may enclose line breaks."""
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


def _text_rows(lines: Iterator[str], name: str, pick: Pick) -> Iterator[Row[Any]]:
    positions = pick(Header(("text",), name, "plain"))
    for number, line in enumerate(lines, start=1):
        yield Row(number, number, pick_values([line.rstrip("\r\n")], positions))


def read_table(
    path: AnyFile,
    columns: Sequence[str] = (),
    layout: DelimitedLayout = _DEFAULT_LAYOUT,
    progress: Progress = lambda _: None,
) -> tuple[Header, Iterator[Row[str]]]:
    """Return the header and the rows of a table as text, for all columns or those in `columns`.

    A missing value is "", like an empty field. For JSON lines, the first row determines the
    columns. A column without a name is named by its position.
    """
    require_file(path, "a table")
    selection = _TableColumns(columns)
    rows = read_rows(path, selection.pick, layout, progress)
    first = next(rows, None)
    if selection.header is None:
        raise InputError(f"{path.name} contains no table. Choose another file.")
    whole = rows if first is None else chain([first], rows)
    return selection.header, (_as_text(row, path.name) for row in whole)


class _TableColumns:
    """The columns of a table, from its header or the first of its JSON lines."""

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._first: Header | None = None  # with all columns
        self.header: Header | None = None

    def pick(self, header: Header) -> list[int]:
        if header.kind == "plain":
            raise InputError(
                f"{header.where} is plain text without columns. Set the delimiter of a table."
            )
        if header.kind == "named" and self._first is not None:
            return self._again(header, self._first)
        positions = self._positions(header)
        names = tuple(header.names[at] or str(at + 1) for at in positions)
        self._first, self.header = header, Header(names, header.where, header.kind)
        return positions

    def _positions(self, header: Header) -> list[int]:
        positions = [self._position(header, name) for name in self._columns]
        return positions or list(range(len(header)))

    def _again(self, header: Header, first: Header) -> list[int]:
        """Return the positions of the first row's columns in another row."""
        if any(first.find((name,)) < 0 for name in header.names):
            raise InputError(
                f"{header.where} has a column that the first row lacks. Add it to the first row,"
                " empty if necessary."
            )
        return [header.find((first.names[at],)) for at in self._positions(first)]

    @staticmethod
    def _position(header: Header, name: str) -> int:
        position = header.find((name,))
        if position < 0:
            raise InputError(
                f"{header.where} has no column '{name}' among its {len(header)}. Check the name."
            )
        return position


def _as_text(row: Row[Any], name: str) -> Row[str]:
    values = [
        value if isinstance(value, str) and value.isascii() else _text(value, row, name)
        for value in row.values
    ]
    return Row(row.number, row.line, values)


def _text(value: object, row: Row[Any], name: str) -> str:
    if isinstance(value, bytes):
        raise InputError(f"{row.where(name)} has a binary value. Convert it to text.")
    simple = plain_value(value, row, name)
    if isinstance(simple, bool):
        return str(simple).lower()
    return "" if simple is None else str(simple)


def plain_value(value: object, row: Row[Any], name: str) -> object:
    """Return a value that can be written to any file."""
    if value is None or isinstance(value, bool | int | float):
        return value
    shown = value if isinstance(value, str) else _shown(value)
    if not shown.isascii() and any("\ud800" <= character <= "\udfff" for character in shown):
        raise InputError(
            f"{row.where(name)} has a lone surrogate, which is not text, in a requested column."
            " Repair the file."
        )
    return shown


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


__all__ = ["DelimitedLayout", "Header", "Pick", "Row", "plain_value", "read_rows", "read_table"]
