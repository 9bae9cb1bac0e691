"""Read variants that anybody made: one row per variant, with the original beside it."""

import csv
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, cast

from veil.core.errors import InputError
from veil.data.parquet import pyarrow_parquet
from veil.data.records import _batches, _broken, _lines, suffix_of

READABLE = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_WANTED = {
    "id": ("id", "qid", "query_id"),
    "text": ("text", "query"),
    "variant": ("obfuscatedText", "obfuscated_text", "obfuscated"),
}
_PARAMETERS = ("epsilon", "level")
_MAX_FIELD = 64 * 2**20  # characters in one field
Numbered = tuple[int, Mapping[str, object]]  # number of a row, and its values by column


@dataclass(frozen=True, slots=True)
class VariantTable:
    """Variants of one mechanism with one parameter.

    Attributes
    ----------
    ids, originals, rows
        One entry per text, in order of first appearance; ``rows[i]`` are the variants of text i,
        in the order of the file. A text of which nothing was released has an empty row.
    mechanism
        As the file says: a spec if `veil protect` wrote it, else any name; "" if it says nothing.
    parameter, value
        ``epsilon`` or ``level`` and what the file gives for it; "" if it has no such column.
    """

    ids: tuple[str, ...]
    originals: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    mechanism: str = ""
    parameter: str = ""
    value: str = ""


@dataclass(slots=True)
class _Text:
    original: str
    variants: list[str] = field(default_factory=list)


def read_variants(path: Path) -> tuple[VariantTable, ...]:
    """Read columns id, text and obfuscatedText of CSV, TSV, JSONL (also .gz) or Parquet.

    Columns ``mechanism`` and ``epsilon`` or ``level``, where the file has them, tell apart the
    results of several mechanisms: each gives a table of its own.
    """
    found: dict[tuple[str, str, str], dict[str, _Text]] = {}
    number = 0
    try:
        for number, values in _rows(path):
            texts = found.setdefault(_key(values), {})
            _add(texts, values, f"Row {number:,} of {path.name}")
    except (OSError, EOFError, zlib.error, csv.Error, UnicodeDecodeError) as error:
        raise InputError(_broken(path.name, number, error)) from None
    if not found:
        raise InputError(f"{path.name} holds no variants.")
    return tuple(
        VariantTable(
            tuple(texts),
            tuple(text.original for text in texts.values()),
            tuple(tuple(text.variants) for text in texts.values()),
            *key,
        )
        for key, texts in found.items()
    )


def _key(values: Mapping[str, object]) -> tuple[str, str, str]:
    """Return mechanism, name of its parameter, and value."""
    parameter = next((name for name in _PARAMETERS if name in values), "")
    return _shown(values.get("mechanism")), parameter, _shown(values.get(parameter))


def _shown(value: object) -> str:
    return "" if value is None else str(value).strip()


def _add(texts: dict[str, _Text], values: Mapping[str, object], where: str) -> None:
    columns = {name: _column(values, name, where) for name in _WANTED}
    label, original = _shown(values[columns["id"]]), values[columns["text"]]
    variant = values[columns["variant"]]
    if not label or not isinstance(original, str) or not isinstance(variant, str | None):
        raise InputError(f"{where} must have an id, a text and a variant; repair it.")
    text = texts.setdefault(label, _Text(original))
    if text.original != original:
        raise InputError(
            f"{where} has an id that stands for another text further up; give each text an id of"
            " its own."
        )
    if variant:
        text.variants.append(variant)


def _column(values: Mapping[str, object], name: str, where: str) -> str:
    found = next((column for column in _WANTED[name] if column in values), None)
    if found is None:
        raise InputError(
            f"{where} has no column '{_WANTED[name][0]}'; variants come as id, text (the original)"
            " and obfuscatedText, as veil protect --with-originals writes them."
        )
    return found


def _rows(path: Path) -> Iterator[Numbered]:
    """Yield the rows of a file; the reader is chosen by its name."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file of variants.")
    if not path.is_file():
        raise InputError(f"There is no file {path}; check the path.")
    suffix = suffix_of(path)
    if suffix not in READABLE:
        raise InputError(
            f"{path.name} must end in one of {', '.join(READABLE)}, also with .gz, which tells"
            " the format."
        )
    if suffix == ".parquet":
        yield from _parquet(path)
        return
    with ExitStack() as stack:
        stream: IO[bytes] = stack.enter_context(path.open("rb"))
        if path.suffix == ".gz":
            stream = stack.enter_context(cast(IO[bytes], gzip.GzipFile(fileobj=stream)))
        lines = _lines(stream, path.name)
        if suffix in (".jsonl", ".ndjson"):
            yield from _objects(lines, path.name)
        else:
            yield from _separated(lines, path.name, "\t" if suffix == ".tsv" else ",")


def _separated(lines: Iterable[str], name: str, separator: str) -> Iterator[Numbered]:
    csv.field_size_limit(_MAX_FIELD)
    rows = csv.reader(
        lines,
        delimiter=separator,
        quoting=csv.QUOTE_NONE if separator == "\t" else csv.QUOTE_MINIMAL,
        strict=True,
    )
    header = next(rows, None) or []
    for number, row in enumerate(rows, start=2):
        if row and len(row) != len(header):
            raise InputError(
                f"Row {number:,} of {name} has {len(row)} columns where the first has"
                f" {len(header)}; repair that row."
            )
        if row:
            yield number, dict(zip(header, row, strict=True))


def _objects(lines: Iterable[str], name: str) -> Iterator[Numbered]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError(f"Line {number:,} of {name} is not JSON; repair it.") from None
        if not isinstance(value, dict):
            raise InputError(f"Line {number:,} of {name} must be a JSON object.")
        yield number, value


def _parquet(path: Path) -> Iterator[Numbered]:
    try:
        file = pyarrow_parquet().ParquetFile(path)
    except (OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path.name} is not a Parquet file ({type(error).__name__}).") from None
    with file:
        known = {*sum(_WANTED.values(), ()), *_PARAMETERS, "mechanism"}
        wanted = [name for name in file.schema_arrow.names if name in known]
        number = 0
        for table in _batches(file, wanted, path.name):
            for row in zip(*table.values(), strict=True):
                number += 1
                yield number, dict(zip(table, row, strict=True))
