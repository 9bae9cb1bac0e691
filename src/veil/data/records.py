"""Texts in files, with the columns that are released with them."""

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
    """A text to protect, the id of its variants, and values that are released unchanged.

    `where` is its label in errors.
    """

    id: str
    text: str
    kept: tuple[object, ...] = ()
    where: str = field(default="", compare=False)


@dataclass(frozen=True)
class Columns:
    """The columns to read: the texts, and the columns that are released unchanged.

    Attributes
    ----------
    text
        Column of the texts; None for the usual names.
    id
        Column of the row ids, which are released. Default: row numbers.
    keep
        Other columns to release.
    """

    text: str | None = None
    id: str | None = None
    keep: tuple[str, ...] = ()

    def pick(self, header: Header) -> tuple[int, ...]:
        """Return the positions of text, id (-1 for row numbers) and the other released columns."""
        released = [*filter(None, [self.id]), *self.keep]
        if header.kind == "plain" and (self.text or released):
            raise InputError(
                f"{header.where} is plain text without columns. Remove the column options, or set"
                " the delimiter of a table."
            )
        text = self._text(header)
        others = [self._released(header, name, text) for name in released]
        if len(set(others)) < len(others):
            raise InputError("A column can be released only once. Remove it from --id or --keep.")
        return (text, *others) if self.id else (text, -1, *others)

    def _text(self, header: Header) -> int:
        common = header.kind == "bare" and len(header) == 2  # id TAB text
        if common and not self.text:
            return 1
        text = header.find((self.text,) if self.text else _TEXT_COLUMNS)
        if text < 0 or (header.kind == "bare" and not common):
            expected = f"'{self.text}'" if self.text else " or ".join(map(repr, _TEXT_COLUMNS))
            raise InputError(_missing(header, expected, "--column"))
        return text

    def _released(self, header: Header, name: str, text: int) -> int:
        position = header.find((name,))
        if position < 0:
            raise InputError(_missing(header, f"'{name}'", "--id or --keep"))
        if position == text:
            raise InputError(
                f"Column '{name}' contains the texts, which must not be released unprotected. For"
                " experiments, use --with-originals."
            )
        return position


def _missing(header: Header, expected: str, flags: str) -> str:
    message = f"{header.where} has no column {expected}"
    if header.kind == "cut" and len(header) == 1:
        return (
            f"{message}, but only one column. Set the separator with --delimiter, or the right"
            f" column with {flags}."
        )
    return f"{message} among its {len(header)}. Set the right one with {flags}."


def read_records(
    path: Path | None,
    columns: Columns,
    progress: Progress = lambda _: None,
    layout: DelimitedLayout = _USUAL,
) -> Iterator[Record]:
    """Yield the texts of a file (None: standard input, one text per line).

    `progress` is called with the number of bytes read.
    """
    name = "standard input" if path is None else path.name
    for row in text_rows(path, name, columns.pick, progress, layout):
        yield _record(row, name, has_id=bool(columns.id))


def read_texts(path: Path) -> Iterator[str]:
    """Yield the texts of a file: its lines, or the column ``text`` or ``query`` of a table."""
    return (row.values[0] for row in text_rows(path, path.name, Columns().pick))


def text_rows(
    path: Path | None,
    name: str,
    pick: Pick,
    progress: Progress = lambda _: None,
    layout: DelimitedLayout = _USUAL,
) -> Iterator[Row[Any]]:
    """Yield rows whose first value is a text, or raise if there are none."""
    if path is not None:
        require_file(path, "texts")
    empty = True
    for row in read_rows(path, pick, layout, progress):
        empty = False
        if not isinstance(text := row.values[0], str):
            raise InputError(
                f"{row.where(name)} must have a text. Got {type(text).__name__} instead."
            )
        yield row
    if empty:
        raise InputError(f"{name} contains no texts. Choose another file.")


def _record(row: Row[Any], name: str, *, has_id: bool) -> Record:
    text, key, *extras = row.values
    if has_id and key is None:
        raise InputError(f"{row.where(name)} has no id. Add one, or remove --id to number rows.")
    label = str(row.number if key is None else plain_value(key, row, name))
    values = tuple(plain_value(value, row, name) for value in extras)
    return Record(label, text, values, row.where(name))
