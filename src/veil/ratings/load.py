"""Ratings from a file: who, what, how good, and when if it is told."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.rows import Header, Row, read_table
from veil.ratings.bulk import Columns, read_columns
from veil.ratings.order import in_order
from veil.ratings.ratings import Positions, Ratings, Scale, of_arrays

Catalogue = bool | str | Path | Sequence[str] | None
_USUAL = (
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
    """Read ratings of a table with a user, an item, a rating and perhaps a time in each row.

    Parameters
    ----------
    path
        CSV (the delimiter is found out), TSV, JSON lines or Parquet, also compressed.
    scale
        Lowest and highest rating there can be. Without it, it is the observed one, which is data:
        methods of which differential privacy is proved then refuse.
    columns
        Names of the three or four columns, where they are not called user, item, rating, time.
    catalogue
        The items that there are, rated or not: their ids, or a table whose column of items has
        them. True says that the items of `path` are a list that anybody may know, False that they
        are there because somebody rated them: methods of which differential privacy is proved
        then refuse.
    """
    place = Path(path)
    header, rows = read_table(place)
    at = _columns(header, columns)
    columns_read = read_columns(place, header, at) or _row_by_row(rows, place.name, at)
    if "" in columns_read.users or "" in columns_read.items:
        raise InputError(f"{place.name} has a row without a user or an item; repair it.")
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
    """Read any table, and say where something is wrong."""
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
    """Return ids in order, and the position of each row among them."""
    names = _catalogue(ids, catalogue)
    place = {one: position for position, one in enumerate(names)}
    return names, np.array([place[one] for one in ids], dtype=np.int32)[codes]


def _catalogue(rated: Sequence[str], catalogue: Catalogue) -> list[str]:
    """Return the items in order: those that are rated, or all that there are."""
    if catalogue is None or isinstance(catalogue, bool):
        return in_order(rated)
    if isinstance(catalogue, str | Path):
        header, rows = read_table(Path(catalogue))
        lower = [one.lower() for one in header.names]
        at = next((lower.index(name) for name in _USUAL[1] if name in lower), 0)
        things = in_order(row.values[at] for row in rows)
    else:
        things = in_order(map(str, catalogue))
    missing = len(set(rated) - set(things))
    if missing:
        raise InputError(
            f"The catalogue lacks {missing:,} of the rated items; complete it, or leave their"
            " ratings out."
        )
    return things


def _columns(header: Header, columns: Sequence[str] | None) -> list[int]:
    if columns is not None and len(columns) not in (3, 4):
        raise InputError("The columns are three or four: user, item, rating and perhaps time.")
    wanted = _USUAL if columns is None else tuple((one,) for one in columns)
    lower = [one.lower() for one in header.names]
    at = [
        next((lower.index(n.lower()) for n in names if n.lower() in lower), -1) for names in wanted
    ]
    if columns is None and at[3] < 0:
        at = at[:3]
    if min(at) < 0:
        raise InputError(
            f"{header.where} needs columns user, item and rating; say how they are called"
            " (columns, --columns)."
        )
    return at


def _number(text: str, what: str, where: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"{where} has a {what} that is no number; repair it.") from None
