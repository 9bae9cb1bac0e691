"""Ratings into a file, as they can be read again."""

import csv
from pathlib import Path

import numpy as np

from veil.data.files import whole_file
from veil.ratings.ratings import Ratings, Values

_ROWS = 100_000  # written at a time


def write_ratings(data: Ratings, path: Path) -> None:
    """Write user, item, rating, perhaps time as CSV for the owner alone, whole or not at all."""
    names = ["user", "item", "rating", *(["time"] if data.time is not None else [])]
    users, items = np.array(data.users, dtype=object), np.array(data.items, dtype=object)
    with (
        whole_file(path, private=True) as part,
        part.open("w", encoding="utf-8", newline="") as file,
    ):
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(names)
        for start in range(0, len(data), _ROWS):
            some = slice(start, start + _ROWS)
            columns = [users[data.user[some]], items[data.item[some]], _shown(data.value[some])]
            if data.time is not None:
                columns.append(_shown(data.time[some]))
            rows.writerows(zip(*columns, strict=True))


def _shown(numbers: Values) -> list[str]:
    """Return the shortest texts that are read as the same numbers."""
    return [text.removesuffix(".0") for text in map(str, numbers.tolist())]
