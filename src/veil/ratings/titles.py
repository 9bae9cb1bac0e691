"""What items are called, where a table says so."""

from collections.abc import Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.data.rows import read_table
from veil.ratings.ratings import Ratings

_USUAL = ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id")
_LONGEST = 60


def titles_of(path: str, column: str, train: Ratings) -> Sequence[str]:
    """Return a title (m,) of each item, its id where there is none."""
    if not path:
        return train.items
    place = Path(path)
    header, rows = read_table(place)
    lower = [name.lower() for name in header.names]
    at = next((lower.index(name) for name in _USUAL if name in lower), -1)
    if at < 0 or column.lower() not in lower:
        raise InputError(f"{place.name} needs columns item and {column}; name another by 'title'.")
    told = lower.index(column.lower())
    titles = {row.values[at]: row.values[told] for row in rows}
    return [_short(titles.get(one) or one) for one in train.items]


def _short(title: str) -> str:
    return title if len(title) <= _LONGEST else f"{title[: _LONGEST - 1]}…"
