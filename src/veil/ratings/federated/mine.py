"""Read one's own ratings for items that a server names."""

from pathlib import Path

import numpy as np

from veil.core.errors import InputError
from veil.data.rows import read_table
from veil.ratings.federated.local import Profiles, scaled
from veil.ratings.ratings import Scale

_USER = ("user", "userid", "user_id", "uid")
_ITEM = ("item", "itemid", "item_id", "placeid", "movieid", "movie_id", "bookid", "book_id")
_RATING = ("rating", "value", "score", "stars")


def read_mine(path: Path, items: list[str], scale: Scale) -> tuple[Profiles, int]:
    """Return the ratings of the one user of a file, and how many are of items not named.

    The file has columns item and rating, and perhaps user. No message quotes what is in it.
    """
    header, rows = read_table(path)
    lower = [name.lower() for name in header.names]
    user, item, rating = (
        next((lower.index(name) for name in names if name in lower), -1)
        for names in (_USER, _ITEM, _RATING)
    )
    if min(item, rating) < 0:
        raise InputError(f"{path.name} needs columns item and rating.")
    position = {one: place for place, one in enumerate(items)}
    users, found, left = set(), dict[int, float](), 0
    for row in rows:
        users.add(row.values[user] if user >= 0 else "")
        place = position.get(row.values[item], -1)
        if place < 0:
            left += 1
        elif place in found:
            raise InputError(f"{row.where(path.name)} rates an item again; keep one rating each.")
        else:
            found[place] = _rating(row.values[rating], scale, row.where(path.name))
    if len(users) > 1:
        raise InputError(f"{path.name} has ratings of several users; hand in your own alone.")
    order = np.array(sorted(found), dtype=np.int64)
    values = scaled(np.array([found[one] for one in order.tolist()], dtype=np.float64), scale)
    return Profiles(order, values, np.zeros(min(1, len(order)), dtype=np.int64)), left


def _rating(text: str, scale: Scale, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not scale[0] <= value <= scale[1]:
        raise InputError(f"{where} has a rating that is no number within the scale; repair it.")
    return value
