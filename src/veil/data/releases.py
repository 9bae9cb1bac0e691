"""Write releases to files in constant memory, completely or not at all."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Protocol

from veil.core.errors import InputError
from veil.data.files import require_folder, whole_file
from veil.data.rows import pyarrow, pyarrow_parquet

_CRLF = "\r\n"
NO_TEXT = "A value has a lone surrogate, which is not text. Nothing was written. Repair the value."
_BREAKS = re.compile(r"[\t\r\n]+")
WRITABLE = (".csv", ".tsv", ".jsonl", ".parquet", ".txt")


class Writer(Protocol):
    """Writes rows of values in the order of the columns."""

    def write(self, rows: Sequence[Sequence[object]]) -> None:
        """Add rows."""
        ...


class CsvWriter:
    """Writes rows like the csv module, and quotes every field with a line break.

    Python 3.11 quotes a lone carriage return only if it is the line terminator. Without quotes, a
    reader would start a new row after it.
    """

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._csv = csv.writer(self, lineterminator=_CRLF)

    def writerow(self, row: Iterable[object]) -> None:
        """Write a row."""
        self._csv.writerow(row)

    def writerows(self, rows: Iterable[Iterable[object]]) -> None:
        """Write rows."""
        self._csv.writerows(rows)

    def write(self, line: str) -> None:
        """Write a row from the csv module, ended by a line feed."""
        try:
            self._file.write(line[: -len(_CRLF)] + "\n")
        except UnicodeEncodeError:  # the error contains the row
            raise InputError(NO_TEXT) from None


class _Commas:
    def __init__(self, file: IO[str], columns: Sequence[str]) -> None:
        self._csv = CsvWriter(file)
        self._csv.writerow(columns)

    def write(self, rows: Sequence[Sequence[object]]) -> None:
        self._csv.writerows(rows)


class _Tabs:
    """Fields without quotes; a tab or a line break inside one becomes a space."""

    def __init__(self, file: IO[str], columns: Sequence[str]) -> None:
        self._file = file
        self.write([columns])

    def write(self, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            fields = ("" if value is None else _BREAKS.sub(" ", str(value)) for value in row)
            self._file.write("\t".join(fields) + "\n")


class _Lines:
    """JSON objects, or only the released texts, one per line."""

    def __init__(self, file: IO[str], columns: Sequence[str], released: str | None) -> None:
        self._file, self._columns = file, columns
        self._only = None if released is None else columns.index(released)

    def write(self, rows: Sequence[Sequence[object]]) -> None:
        for row in rows:
            if self._only is not None:
                line = " ".join(str(row[self._only]).splitlines())
            else:
                line = json.dumps(dict(zip(self._columns, row, strict=True)), ensure_ascii=False)
            self._file.write(line + "\n")


class _Parquet:
    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self._arrow = pyarrow()
        self._kinds = {"variant": self._arrow.int32(), "seeded": self._arrow.bool_()}
        self._schema = self._arrow.schema(
            [(name, self._kinds.get(name, self._arrow.string())) for name in columns]
        )
        self._file = pyarrow_parquet().ParquetWriter(path, self._schema, compression="zstd")

    def write(self, rows: Sequence[Sequence[object]]) -> None:
        if rows:
            columns = [
                column if name in self._kinds else [_text(value) for value in column]
                for name, column in zip(self._schema.names, zip(*rows, strict=True), strict=True)
            ]
            self._file.write_table(self._arrow.table(columns, schema=self._schema))

    def close(self) -> None:
        self._file.close()


def check_output(path: Path) -> None:
    """Raise if a release cannot be written to `path`."""
    require_folder(path)
    if path.suffix.lower() not in WRITABLE:
        raise InputError(
            f"{path.name} must end in one of {', '.join(WRITABLE)}, which sets the format."
        )


def _text(value: object) -> str | None:
    return None if value is None else str(value)


@contextmanager
def open_writer(
    path: Path, columns: Sequence[str], released: str, *, private: bool
) -> Iterator[Writer]:
    """Open a file for rows, which is written completely or not at all."""
    check_output(path)
    suffix = path.suffix.lower()
    with whole_file(path, private=private) as part:
        if suffix == ".parquet":
            parquet = _Parquet(part, columns)
            try:
                yield parquet
            finally:
                parquet.close()
            return
        with part.open("w", encoding="utf-8", newline="") as file:
            yield stream_writer(file, suffix, columns, released)


def stream_writer(file: IO[str], suffix: str, columns: Sequence[str], released: str) -> Writer:
    """Return a writer of CSV, TSV, JSONL or plain text for an open stream."""
    if suffix in (".csv", ".tsv"):
        return (_Commas if suffix == ".csv" else _Tabs)(file, columns)
    return _Lines(file, columns, released if suffix == ".txt" else None)
