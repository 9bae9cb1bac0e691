"""Read texts from files, in constant memory.

Messages name a file, a row or a column number, never a value: the values are what is protected.
"""

import csv
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from veil.core.errors import InputError
from veil.data.parquet import pyarrow_parquet

READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt")
_MAX_FIELD = 64 * 2**20  # characters in one field or line
_TEXT_COLUMNS = ("text", "query")
_ID_COLUMNS = ("id", "qid", "query_id")


class Record(NamedTuple):
    """A text to protect, and the name its variants go by."""

    id: str
    text: str


@dataclass(frozen=True)
class Columns:
    """Which columns to read; None takes the usual names, an empty id numbers the rows."""

    text: str | None = None
    id: str | None = None

    def find(self, header: Sequence[str], name: str) -> tuple[int, int]:
        """Return the positions of text and id; -1 for no id (rows are then numbered)."""
        text = _position(header, (self.text,) if self.text else _TEXT_COLUMNS)
        if text < 0:
            wanted = f"'{self.text}'" if self.text else " or ".join(map(repr, _TEXT_COLUMNS))
            raise InputError(
                f"{name} has no column {wanted} among its {len(header)}; name the right one with"
                " --column."
            )
        if self.id == "":
            return text, -1
        key = _position(header, (self.id,) if self.id else _ID_COLUMNS)
        if key < 0 and self.id:
            raise InputError(
                f"{name} has no column '{self.id}' among its {len(header)}; name the right one"
                " with --id-column, or none."
            )
        return text, key


def suffix_of(path: Path) -> str:
    """Return the suffix that tells the format, also of a file ending in .gz."""
    return Path(path.stem).suffix.lower() if path.suffix == ".gz" else path.suffix.lower()


def read_records(
    path: Path | None, columns: Columns, progress: Callable[[int], None] = lambda _: None
) -> Iterator[Record]:
    """Yield the texts of a file (None: standard input, one text per line).

    `progress` is told how many bytes of the file have been read.
    """
    name = "standard input" if path is None else path.name
    count = 0
    try:
        for record in _open(path, columns, progress):
            count += 1
            if columns.id is None and (len(record.id) > 64 or len(record.id.split()) != 1):
                raise InputError(
                    f"Row {count:,} of {name} has an id that is not one short word, and ids are"
                    " released as they are; name the columns with --column and --id-column, or"
                    " number the rows with --id-column ''."
                )
            yield record
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeDecodeError) as error:
        raise InputError(_broken(name, count, error)) from None
    if not count:
        raise InputError(f"{name} holds no texts.")


def _open(
    path: Path | None, columns: Columns, progress: Callable[[int], None]
) -> Iterator[Record]:
    """Choose the reader by the name of the file."""
    if path is None:
        return _read_lines(sys.stdin.buffer, "standard input", columns)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file of texts.")
    if not path.is_file():
        raise InputError(f"There is no file {path}; check the path.")
    if suffix_of(path) == ".parquet":
        return _read_parquet(path, columns, progress)
    return _read_stream(path, columns, progress)


def _read_stream(
    path: Path, columns: Columns, progress: Callable[[int], None]
) -> Iterator[Record]:
    reader = _READERS.get(suffix_of(path), _read_lines)
    with ExitStack() as stack:
        raw = stack.enter_context(path.open("rb"))
        stream = (
            stack.enter_context(cast(IO[bytes], gzip.GzipFile(fileobj=raw)))
            if path.suffix == ".gz"
            else raw
        )
        for number, record in enumerate(reader(stream, path.name, columns), start=1):
            if number % 1024 == 0:
                progress(raw.tell())
            yield record


def _broken(name: str, rows: int, error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{name} is not UTF-8 text after row {rows:,}; convert it, or check its format."
    kind = "quoting or a field too long" if isinstance(error, csv.Error) else type(error).__name__
    return f"{name} cannot be read after row {rows:,} ({kind}); repair the file."


def _lines(stream: IO[bytes], name: str) -> Iterator[str]:
    """Yield decoded lines, and refuse what is not text."""
    first = True
    number = 0
    while line := stream.readline(_MAX_FIELD):
        number += 1
        if len(line) == _MAX_FIELD or b"\0" in line:
            raise InputError(f"Line {number:,} of {name} is not a line of text (binary data?).")
        text = line.decode("utf-8")
        yield text.removeprefix("\ufeff") if first else text
        first = False


def _read_lines(stream: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    del columns  # a plain text has none
    for number, line in enumerate(_lines(stream, name), start=1):
        yield Record(str(number), line.rstrip("\r\n"))


def _read_separated(separator: str) -> "Reader":
    def read(stream: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
        csv.field_size_limit(_MAX_FIELD)
        plain = separator == "\t"  # TSV knows no quotes: query logs are full of them
        rows = csv.reader(
            _lines(stream, name),
            delimiter=separator,
            quoting=csv.QUOTE_NONE if plain else csv.QUOTE_MINIMAL,
            strict=True,
        )
        header = next(rows, None)
        if header is None:
            return
        start = 1
        chain: Iterable[list[str]] = rows
        if separator == "\t" and _headless(header, columns):
            text, key, chain = 1, 0, _put_back(header, rows)
        else:
            text, key = columns.find(header, name)
            start = 2
        width = len(header)
        for number, row in enumerate(chain, start=start):
            if not row:
                continue
            if len(row) != width:
                raise InputError(
                    f"Row {number:,} of {name} has {len(row)} columns where the first has {width};"
                    " repair that row."
                )
            yield Record(row[key] if key >= 0 else str(number - start + 1), row[text])

    return read


def _headless(first: list[str], columns: Columns) -> bool:
    """Tell whether a TSV is of the common form 'id TAB text' without a header."""
    named = columns.text is not None or columns.id is not None
    return not named and len(first) == 2 and _position(first, _TEXT_COLUMNS) < 0


def _put_back(first: list[str], rest: Iterable[list[str]]) -> Iterator[list[str]]:
    yield first
    yield from rest


def _read_jsonl(stream: IO[bytes], name: str, columns: Columns) -> Iterator[Record]:
    for number, line in enumerate(_lines(stream, name), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"Line {number:,} of {name} is not JSON; repair it.") from None
        if isinstance(value, str):
            yield Record(str(number), value)
            continue
        if not isinstance(value, dict):
            raise InputError(f"Line {number:,} of {name} must be a JSON object or string.")
        keys = list(value)
        text, key = columns.find(keys, f"Line {number:,} of {name}")
        yield Record(
            _label(value[keys[key]], f"Line {number:,} of {name}") if key >= 0 else str(number),
            _string(value[keys[text]], f"Line {number:,} of {name}"),
        )


def _read_parquet(
    path: Path, columns: Columns, progress: Callable[[int], None]
) -> Iterator[Record]:
    try:
        file = pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path.name} is not a Parquet file ({type(error).__name__}).") from None
    with file:
        header = list(file.schema_arrow.names)
        text, key = columns.find(header, path.name)
        wanted = [header[i] for i in {text, key} if i >= 0]
        size, total = path.stat().st_size, max(1, file.metadata.num_rows)
        number = 0
        for table in _batches(file, wanted, path.name):
            texts = table[header[text]]
            ids = table[header[key]] if key >= 0 else range(number + 1, number + 1 + len(texts))
            for own, value in zip(ids, texts, strict=True):
                number += 1
                yield Record(str(own), _string(value, f"Row {number:,} of {path.name}"))
            progress(size * number // total)


def _batches(file: Any, wanted: list[str], name: str) -> Iterator[dict[str, list[object]]]:  # noqa: ANN401
    """Yield the columns in batches; Arrow's errors on damaged pages are of many types."""
    try:
        for batch in file.iter_batches(batch_size=4096, columns=wanted):
            yield batch.to_pydict()
    except (ValueError, NotImplementedError):
        raise InputError(f"{name} is a damaged Parquet file; fetch or write it again.") from None


def _string(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where} has no text but {type(value).__name__}; repair it.")
    return value


def _label(value: object, where: str) -> str:
    label = str(value)
    if not label.isascii() and any("\ud800" <= character <= "\udfff" for character in label):
        raise InputError(f"{where} has an id with a lone surrogate, which is not text; repair it.")
    return label


def _position(header: Sequence[str], names: Sequence[str | None]) -> int:
    return next((header.index(name) for name in names if name in header), -1)


Reader = Callable[[IO[bytes], str, Columns], Iterator[Record]]
_READERS: dict[str, Reader] = {
    ".csv": _read_separated(","),
    ".tsv": _read_separated("\t"),
    ".jsonl": _read_jsonl,
    ".ndjson": _read_jsonl,
    ".txt": _read_lines,
}
