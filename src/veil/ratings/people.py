"""What is known of users: columns of a table, in the order of the ratings' users."""

from pathlib import Path

from veil.core.errors import InputError
from veil.data.rows import read_table
from veil.ratings.ratings import Ratings

_USUAL = ("user", "userid", "user_id", "uid")
_MISSING = ("", "?", "NA", "nan")


def read_people(path: Path, truth: Ratings) -> dict[str, tuple[str | None, ...]]:
    """Read a table of users; users of the ratings whom it does not list have no value."""
    header, rows = read_table(path)
    lower = [name.lower() for name in header.names]
    at = next((lower.index(name) for name in _USUAL if name in lower), -1)
    if at < 0:
        raise InputError(f"{path.name} needs a column of users, called user or user_id.")
    found: list[list[str | None]] = [[None] * truth.n for _ in header.names]
    listed = 0
    for row in rows:
        place = truth.user_positions.get(row.values[at])
        if place is not None:
            listed += 1
            for column, value in zip(found, row.values, strict=True):
                column[place] = None if value in _MISSING else value
    if not listed:
        raise InputError(f"{path.name} lists none of the users who rated; name another table.")
    named = zip(header.names, found, strict=True)
    return {name: tuple(column) for place, (name, column) in enumerate(named) if place != at}
