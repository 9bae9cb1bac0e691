"""Ratings from files and folders, and tables of users and items.

A plain table is parsed all at once. If it is not plain (quotes, blanks, another encoding, rows of
different width, a rating that is not a number), the fast reader returns None, and
`veil.ratings.load` reads row by row and reports what is wrong and where.
"""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.data.arrays import open_arrays, save_arrays
from veil.data.lines import suffix_of
from veil.data.rows import Header, Row, read_table
from veil.ratings.ratings import Positions, Ratings, Scale, in_order, of_arrays

_MOST = 8 * 2**30  # bytes maximum size of a table that is parsed at once
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
    """Return the columns at some positions of a plain CSV or TSV file, or None."""
    if suffix_of(path) not in (".csv", ".tsv") or header.kind != "cut":
        return None
    data = _read(path)
    if data is None or not _is_simple(data):
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


def _is_simple(data: bytes) -> bool:
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
    # Arrow must own the memory: its threads may release it while the program ends, and a thread
    # that releases Python's memory then crashes the program.
    buffer = pa.BufferOutputStream()
    buffer.write(data)
    try:
        table = arrow.read_csv(
            pa.BufferReader(buffer.getvalue()),
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
    if not len(table) or any(index.null_count for index in table.columns):
        return None
    (users, user), (items, item) = (_coded(table.column(index)) for index in (0, 1))
    numbers = [table.column(index).to_numpy() for index in range(2, len(at))]
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
        numbers = [np.array(list(map(float, columns[position]))) for position in at[2:]]
    except (UnicodeError, ValueError, csv.Error):
        return None
    (users, user), (items, item) = (_numbered(columns[position]) for position in at[:2])
    return Columns(users, items, user, item, numbers[0], numbers[1] if len(at) > 3 else None)


def _numbered(texts: Sequence[str]) -> tuple[list[str], Positions]:
    place: dict[str, int] = {}
    codes = [place.setdefault(text, len(place)) for text in texts]
    return list(place), np.array(codes, dtype=np.int32)


_KIND, _VERSION = "veil ratings", 1
_MAX = 2**32  # ratings whose order has 4 bytes each


class StoredRatings(Ratings):
    """Ratings whose arrays are in a folder; workers receive only its path."""

    folder: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        if self.folder:
            return open_store, (self.folder,)
        return super().__reduce__()  # type: ignore[return-value]


def save_store(data: Ratings, folder: Path) -> None:
    """Write ratings to a new folder that only its owner can read; values as float32."""
    if len(data) >= _MAX:
        raise InputError("A store must have fewer than 2^32 ratings. Split them.")
    arrays: dict[str, NDArray[np.generic]] = {
        "user": data.user,
        "item": data.item,
        "value": data.value.astype(np.float32),
        "order": data.order.astype(np.uint32),
        "users": _packed(data.users),
        "items": _packed(data.items),
    }
    if data.time is not None:
        arrays["time"] = data.time
    facts = {"scale": list(data.scale), "declared": data.declared, "public": data.public}
    save_arrays(folder, _KIND, _VERSION, arrays, facts)


@lru_cache(maxsize=2)  # a worker opens it once
def open_store(folder: str | Path) -> StoredRatings:
    """Return the ratings in a folder, checked and memory-mapped."""
    content = open_arrays(Path(folder), _KIND, _VERSION)
    if content is None:
        raise InputError("The folder has no complete store of ratings. Write it again.")
    arrays, facts = content
    low, high = facts["scale"]
    data = StoredRatings(
        _unpacked(arrays["users"]),
        _unpacked(arrays["items"]),
        arrays["user"],
        arrays["item"],
        arrays["value"],
        arrays.get("time"),
        (float(low), float(high)),
        bool(facts["declared"]),
        facts["public"],
    )
    object.__setattr__(data, "order", arrays["order"])
    object.__setattr__(data, "folder", str(folder))
    return data


def _packed(ids: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\0".join(ids).encode(), dtype=np.uint8)


def _unpacked(packed: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(packed.tobytes().decode().split("\0"))


_USER_COLUMNS = ("user", "userid", "user_id", "uid")
_MISSING = ("", "?", "NA", "nan")


def read_people(path: Path, truth: Ratings) -> dict[str, tuple[str | None, ...]]:
    """Return the columns of a table of users, with None for users that it does not list."""
    header, rows = read_table(path)
    lower = [name.lower() for name in header.names]
    at = next((lower.index(name) for name in _USER_COLUMNS if name in lower), -1)
    if at < 0:
        raise InputError(f"{path.name} needs a column of users, called user or user_id.")
    columns: list[list[str | None]] = [[None] * truth.n for _ in header.names]
    listed = 0
    for row in rows:
        place = truth.user_positions.get(row.values[at])
        if place is not None:
            listed += 1
            for column, value in zip(columns, row.values, strict=True):
                column[place] = None if value in _MISSING else value
    if not listed:
        raise InputError(f"{path.name} lists none of the users who rated. Pass another table.")
    pairs = zip(header.names, columns, strict=True)
    return {name: tuple(column) for place, (name, column) in enumerate(pairs) if place != at}


_ITEM_COLUMNS = (
    "item",
    "itemid",
    "item_id",
    "placeid",
    "movieid",
    "movie_id",
    "bookid",
    "book_id",
)
_LONGEST = 60


def titles_of(path: str, column: str, train: Ratings) -> Sequence[str]:
    """Return the title of each item (m,), or its id if missing."""
    if not path:
        return train.items
    place = Path(path)
    header, rows = read_table(place)
    lower = [name.lower() for name in header.names]
    at = next((lower.index(name) for name in _ITEM_COLUMNS if name in lower), -1)
    if at < 0 or column.lower() not in lower:
        raise InputError(f"{place.name} needs columns item and {column}. Set another 'title'.")
    title_at = lower.index(column.lower())
    titles = {row.values[at]: row.values[title_at] for row in rows}
    return [_short(titles.get(item) or item) for item in train.items]


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…"


Catalogue = bool | str | Path | Sequence[str] | None
_COLUMNS = (
    ("user", "userid", "user_id", "uid"),
    ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id"),
    ("rating", "value", "score", "stars"),
    ("time", "timestamp"),
)


def load(
    path: str | Path,
    scale: Scale | None = None,
    columns: Sequence[str] | None = None,
    catalogue: Catalogue = None,
) -> Ratings:
    """Return the ratings in a table with a user, an item, a rating and perhaps a time per row.

    Parameters
    ----------
    path
        CSV (the delimiter is detected), TSV, JSON lines or Parquet, also compressed.
    scale
        Lowest and highest possible rating. Without it, the observed scale is used, which is
        private data: differentially private mechanisms then refuse.
    columns
        Names of the three or four columns, if they are not called user, item, rating, time.
    catalogue
        All items that exist, rated or not: their ids, or a table with a column of items. True
        declares the items of `path` public. False declares that they are listed because somebody
        rated them: differentially private mechanisms then refuse.
    """
    place = Path(path)
    header, rows = read_table(place)
    at = _columns(header, columns)
    columns_read = read_columns(place, header, at) or _row_by_row(rows, place.name, at)
    if "" in columns_read.users or "" in columns_read.items:
        raise InputError(f"{place.name} has a row without a user or an item. Correct it.")
    users, user = _sorted(columns_read.users, columns_read.user)
    items, item = _sorted(columns_read.items, columns_read.item, catalogue)
    return of_arrays(
        users,
        items,
        user,
        item,
        columns_read.value,
        columns_read.time,
        scale,
        catalogue is not False if catalogue is not None else None,
    )


def _row_by_row(rows: Iterator[Row[str]], name: str, at: Sequence[int]) -> Columns:
    """Read any table, and report where something is wrong."""
    users: dict[str, int] = {}
    items: dict[str, int] = {}
    user, item, values, times = [], [], [], []
    for row in rows:
        user.append(users.setdefault(row.values[at[0]], len(users)))
        item.append(items.setdefault(row.values[at[1]], len(items)))
        values.append(_number(row.values[at[2]], "rating", row.where(name)))
        if len(at) > 3:
            times.append(_number(row.values[at[3]], "time", row.where(name)))
    return Columns(
        list(users),
        list(items),
        np.array(user, dtype=np.int32),
        np.array(item, dtype=np.int32),
        np.array(values, dtype=np.float64),
        np.array(times) if times else None,
    )


def _sorted(
    ids: Sequence[str], codes: Positions, catalogue: Catalogue = None
) -> tuple[list[str], Positions]:
    """Return sorted ids, and the position of each row among them."""
    names = _catalogue(ids, catalogue)
    place = {name: position for position, name in enumerate(names)}
    return names, np.array([place[name] for name in ids], dtype=np.int32)[codes]


def _catalogue(rated: Sequence[str], catalogue: Catalogue) -> list[str]:
    """Return the sorted items: the rated ones, or all of the catalogue."""
    if catalogue is None or isinstance(catalogue, bool):
        return in_order(rated)
    if isinstance(catalogue, str | Path):
        header, rows = read_table(Path(catalogue))
        lower = [heading.lower() for heading in header.names]
        at = next((lower.index(name) for name in _COLUMNS[1] if name in lower), 0)
        things = in_order(row.values[at] for row in rows)
    else:
        things = in_order(map(str, catalogue))
    missing = len(set(rated) - set(things))
    if missing:
        raise InputError(
            f"The catalogue lacks {missing:,} rated items. Complete it, or remove their ratings."
        )
    return things


def _columns(header: Header, columns: Sequence[str] | None) -> list[int]:
    if columns is not None and len(columns) not in (3, 4):
        raise InputError(
            "There must be three or four columns: user, item, rating and perhaps time."
        )
    expected = _COLUMNS if columns is None else tuple((name,) for name in columns)
    lower = [name.lower() for name in header.names]
    at = [
        next((lower.index(n.lower()) for n in names if n.lower() in lower), -1)
        for names in expected
    ]
    if columns is None and at[3] < 0:
        at = at[:3]
    if min(at) < 0:
        raise InputError(
            f"{header.where} needs columns user, item and rating. Name them (columns, --columns)."
        )
    return at


def _number(text: str, what: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} has a {what} that is not a number. Correct it.") from None
