"""Small made-up ratings, and the real ones where they are at hand."""

import json
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from tests.conftest import SHARED

from veil.ratings import Ratings, load, of_arrays, split

PERSON = "person-of-the-input"
_FILE = SHARED / "golden" / "ratings.json"

needs_golden = pytest.mark.skipif(
    not _FILE.is_file(), reason="the golden values of ratings are not at hand"
)


def golden(key: str) -> Any:  # noqa: ANN401 - as the file has it
    """Return what stands under a key; nothing where the file is not at hand."""
    return json.loads(_FILE.read_text(encoding="utf-8"))[key] if _FILE.is_file() else {}


def town(
    n: int = 40,
    m: int = 12,
    share: float = 0.6,
    seed: int = 5,
    *,
    declared: bool = True,
    public: bool | None = True,
) -> Ratings:
    """Return whole ratings from 1 to 5 of people whose ids must never be seen again."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n, m)) < share)
    value = rng.integers(1, 6, len(user)).astype(np.float64)
    people = sorted(f"{PERSON}-{number:04}" for number in range(n))
    things = sorted(f"item-{number:03}" for number in range(m))
    scale = (1.0, 5.0) if declared else None
    return of_arrays(people, things, user, item, value, scale=scale, public=public)


@lru_cache(maxsize=2)
def real(name: str, low: float, high: float) -> tuple[Ratings, Ratings]:
    """Return train and test of real ratings."""
    path = SHARED / "ratings" / name / "ratings.csv.gz"
    return split(load(path, scale=(low, high), catalogue=True))
