"""People of a few tastes, who rate what they like: small, and made on the spot."""

import csv
from pathlib import Path

import numpy as np

from veil.ratings import Ratings, of_arrays, split

TASTES = 4


def people(n: int = 120, m: int = 60, each: int = 12, seed: int = 0) -> Ratings:
    """Return ratings of `each` items by n users; items of one's own taste are rated higher."""
    rng = np.random.default_rng(seed)
    user, item, value = [], [], []
    for entry in range(n):
        near = (np.arange(m) % TASTES) == entry % TASTES
        weights = np.where(near, 6.0, 1.0) / (1 + np.arange(m) % 17)
        rated = rng.choice(m, size=each, replace=False, p=weights / weights.sum())
        user += [entry] * each
        item += rated.tolist()
        value += np.clip(rng.normal(np.where(near[rated], 4.4, 2.6), 0.8).round(), 1, 5).tolist()
    users, items = [f"user-{entry:04d}" for entry in range(n)], [str(entry) for entry in range(m)]
    return of_arrays(users, items, np.array(user), np.array(item), np.array(value), scale=(1, 5))


def parts(seed: int = 0) -> tuple[Ratings, Ratings]:
    """Return people in two parts, for training and for testing."""
    return split(people(seed=seed))


def written(folder: Path, data: Ratings, name: str = "ratings.csv") -> Path:
    """Write ratings as a table, and return its path."""
    path = folder / name
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["user", "item", "rating"])
        for user, item, value in zip(data.user, data.item, data.value, strict=True):
            rows.writerow([data.users[user], data.items[item], f"{value:g}"])
    return path
