"""Texts of files, with what may leave beside them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.data.lines import Progress, require_file
from veil.data.rows import DelimitedLayout, Header, Pick, Row, plain_value, read_rows

READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".txt")
_TEXT_COLUMNS = ("text", "query")
_USUAL = DelimitedLayout()


@brief()
@dataclass(frozen=True, slots=True)
class Record:
    """A text to protect, the name its variants go by, and values that leave as they are.

    `where` is how messages call it.
    """

    id: str
    text: str
    kept: tuple[object, ...] = ()
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class Columns:
    """Which columns to read: the texts, and what was named to leave as it is.

    Attributes
    ----------
    text
        Column of the texts; None takes the usual names.
    id
        Column of the names of rows, which are released; without it rows are numbered.
    keep
        Further columns that are released.
    """

    text: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()

    def pick(self, header: Header) -> tuple[int, ...]:
        """Return the positions of text and id (-1: rows are numbered), and of what is kept."""
        released = [*filter(None, [self.id]), *self.keep]
        if header.kind == "plain" and (self.text or released):
            raise InputError(
                f"{header.where} is plain text and has no columns; leave them out, or name the"
                " delimiter of a table."
            )
        text = self._text(header)
        others = [self._released(header, name, text) for name in released]
        if len(set(others)) < len(others):
            raise InputError("A column can be released once: as id, or kept.")
        return (text, *others) if self.id else (text, -1, *others)

    def _text(self, header: Header) -> int:
        common = header.kind == "bare" and len(header) == 2  # id TAB text
        if common and not self.text:
            return 1
        text = header.find((self.text,) if self.text else _TEXT_COLUMNS)
        if text < 0 or (header.kind == "bare" and not common):
            wanted = f"'{self.text}'" if self.text else " or ".join(map(repr, _TEXT_COLUMNS))
            raise InputError(_missing(header, wanted, "--column"))
        return text

    def _released(self, header: Header, name: str, text: int) -> int:
        found = header.find((name,))
        if found < 0:
            raise InputError(_missing(header, f"'{name}'", "--id or --keep"))
        if found == text:
            raise InputError(
                f"The column '{name}' holds the texts, which must not leave as they are; for"
                " experiments there is --with-originals."
            )
        return found


def _missing(header: Header, wanted: str, flags: str) -> str:
    told = f"{header.where} has no column {wanted}"
    if header.kind == "cut" and len(header) == 1:
        return (
            f"{told}, but a single one; name what separates its columns with --delimiter, or the"
            f" right one with {flags}."
        )
    return f"{told} among its {len(header)}; name the right one with {flags}."


def read_records(
    path: Path | None,
    columns: Columns,
    progress: Progress = lambda _: None,
    layout: DelimitedLayout = _USUAL,
) -> Iterator[Record]:
    """Yield the texts of a file (None: standard input, one text per line).

    `progress` is told how many bytes of the file have been read.
    """
    name = "standard input" if path is None else path.name
    for row in text_rows(path, name, columns.pick, progress, layout):
        yield _record(row, name, named=bool(columns.id))


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file alone: lines, or the column ``text`` or ``query`` of a table."""
    return (row.values[0] for row in text_rows(path, path.name, Columns().pick))


def text_rows(
    path: Path | None,
    name: str,
    pick: Pick,
    progress: Progress = lambda _: None,
    layout: DelimitedLayout = _USUAL,
) -> Iterator[Row[Any]]:
    """Yield rows whose first value is a text; there must be any."""
    if path is not None:
        require_file(path, "texts")
    empty = True
    for row in read_rows(path, pick, layout, progress):
        empty = False
        if not isinstance(text := row.values[0], str):
            raise InputError(
                f"{row.where(name)} has no text but {type(text).__name__}; repair it."
            )
        yield row
    if empty:
        raise InputError(f"{name} holds no texts.")


def _record(row: Row[Any], name: str, *, named: bool) -> Record:
    text, key, *kept = row.values
    if named and key is None:
        raise InputError(f"{row.where(name)} has no id; repair it, or let rows be numbered.")
    label = str(row.number if key is None else plain_value(key, row, name))
    values = tuple(plain_value(value, row, name) for value in kept)
    return Record(label, text, values, row.where(name))
