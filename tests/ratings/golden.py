"""Golden values of ratings, and small sets that tests make themselves."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil import ratings
from veil.ratings.ratings import Ratings, of_arrays

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
_FILE = SHARED / "golden" / "ratings.json"
DATA = SHARED / "ratings"
FILES = {
    "goodbooks": DATA / "goodbooks" / "ratings.csv.gz",
    "jester": DATA / "jester" / "ratings.csv.gz",
    "restaurants": DATA / "restaurants" / "rating_final.csv",
}
ITEMS = DATA / "goodbooks" / "items.csv.gz"

needs_golden = pytest.mark.skipif(
    not _FILE.is_file(), reason="the golden values of ratings are not at hand"
)


def golden(*keys: str) -> Any:  # noqa: ANN401 - as the file has it
    """Return what stands under some keys; nothing where the file is not at hand."""
    actual = json.loads(_FILE.read_text(encoding="utf-8")) if _FILE.is_file() else {}
    for key in keys:
        actual = actual.get(key, {})
    return actual


@cache
def parts(name: str) -> tuple[Ratings, Ratings]:
    """Return train and test of a golden set."""
    low, high = golden("scale", name)
    return ratings.split(ratings.load(FILES[name], scale=(low, high)))


def made(n: int = 40, m: int = 30, share: float = 0.4, seed: int = 1) -> Ratings:
    """Return ratings 1..5 with some taste in them: users and items are of two kinds."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n, m)) < share)
    alike = (user % 2) == (item % 2)
    value = np.clip(np.round(2.5 + 1.5 * alike + rng.normal(0, 0.7, len(user))), 1, 5)
    names = [str(entry) for entry in range(1, max(n, m) + 1)]
    return of_arrays(names[:n], names[:m], user, item, value, scale=(1, 5))
