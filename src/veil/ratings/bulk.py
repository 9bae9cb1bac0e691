"""Plain tables of ratings, all rows at once: what is odd is left to the careful reader.

None is returned for whatever is not plain (quotes, blanks, another encoding, a row of another
width, a rating that is no number); `veil.ratings.load` then reads row by row, and says what is
wrong and where.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.types import Floats
from veil.data.lines import suffix_of
from veil.data.rows import Header
from veil.ratings.ratings import Positions

_MOST = 8 * 2**30  # bytes of a table that is read at once
_MARKS = ",;\t|"


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """Distinct users and items, the position of each row in them, ratings and times."""

    users: Sequence[str]
    items: Sequence[str]
    user: Positions
    item: Positions
    value: Floats
    time: Floats | None


def read_columns(path: Path, header: Header, at: Sequence[int]) -> Columns | None:
    """Read the columns at some positions of a plain CSV or TSV file, or return None."""
    if suffix_of(path) not in (".csv", ".tsv") or header.kind != "cut":
        return None
    data = _read(path)
    if data is None or not _plain(data):
        return None
    first = data[: data.find(b"\n")].decode("utf-8", "replace").rstrip("\r").removeprefix("\ufeff")
    fitting = [mark for mark in _MARKS if tuple(first.split(mark)) == header.names]
    if len(fitting) != 1:
        return None
    try:
        import pyarrow as pa  # noqa: F401 - the extra 'parquet'
    except ImportError:
        return _by_rows(data, fitting[0], len(header), at)
    return _by_arrow(data, fitting[0], header, at)


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as raw:
            if path.suffix.lower() != ".gz":
                return raw.read() if path.stat().st_size <= _MOST else None
            with gzip.GzipFile(fileobj=raw) as packed:
                data = packed.read(_MOST + 1)
    except (OSError, EOFError, zlib.error, MemoryError):
        return None
    return data if len(data) <= _MOST else None


def _plain(data: bytes) -> bool:
    ends = data.count(b"\r")
    return not (
        b'"' in data
        or b"\0" in data
        or (ends and ends != data.count(b"\r\n"))
        or b"\n" not in data
    )


def _by_arrow(data: bytes, mark: str, header: Header, at: Sequence[int]) -> Columns | None:
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [str(position) for position in range(len(header))]
    kinds: dict[str, Any] = dict.fromkeys(names, pa.string())
    for position in at[:2]:
        kinds[names[position]] = pa.dictionary(pa.int32(), pa.string())
    for position in at[2:]:
        kinds[names[position]] = pa.float64()
    # Memory of Arrow's own: its threads may let go of it while the program ends, and a thread that
    # lets go of Python's memory then ends the program with a crash.
    held = pa.BufferOutputStream()
    held.write(data)
    try:
        table = arrow.read_csv(
            pa.BufferReader(held.getvalue()),
            arrow.ReadOptions(column_names=names, skip_rows=1),
            arrow.ParseOptions(delimiter=mark, quote_char=False),
            arrow.ConvertOptions(
                column_types=kinds,
                include_columns=[names[position] for position in at],
                null_values=[],
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, UnicodeError):
        return None
    if not len(table) or any(one.null_count for one in table.columns):
        return None
    (users, user), (items, item) = (_coded(table.column(one)) for one in (0, 1))
    numbers = [table.column(one).to_numpy() for one in range(2, len(at))]
    return Columns(users, items, user, item, numbers[0], numbers[1] if len(at) > 3 else None)


def _coded(column: Any) -> tuple[list[str], Positions]:  # noqa: ANN401 - pyarrow has no types
    whole = column.unify_dictionaries().combine_chunks()
    array = whole.chunk(0) if hasattr(whole, "chunk") else whole
    return array.dictionary.to_pylist(), array.indices.to_numpy()


def _by_rows(data: bytes, mark: str, width: int, at: Sequence[int]) -> Columns | None:
    try:
        lines = io.StringIO(data.decode("utf-8-sig"), newline="")
        rows = list(csv.reader(lines, delimiter=mark, quoting=csv.QUOTE_NONE, strict=True))[1:]
        rows = [row for row in rows if row]
        if not rows or any(len(row) != width for row in rows):
            return None
        columns = list(zip(*rows, strict=True))
        numbers = [np.array(list(map(float, columns[one]))) for one in at[2:]]
    except (UnicodeError, ValueError, csv.Error):
        return None
    (users, user), (items, item) = (_numbered(columns[one]) for one in at[:2])
    return Columns(users, items, user, item, numbers[0], numbers[1] if len(at) > 3 else None)


def _numbered(texts: Sequence[str]) -> tuple[list[str], Positions]:
    place: dict[str, int] = {}
    codes = [place.setdefault(one, len(place)) for one in texts]
    return list(place), np.array(codes, dtype=np.int32)
