"""The deaths of 1854 and the values that were computed from them by brute force, where at hand.

The coordinates are those of the file taken as planar metres, as the values were computed.
"""

import csv
import functools
import json
from typing import Any

import numpy as np
import pytest
from tests.conftest import SHARED

from veil.core.types import Floats

FILES = SHARED / "places"
GOLDEN = SHARED / "golden" / "places.json"
needs_snow = pytest.mark.skipif(
    not GOLDEN.is_file(), reason="the shared data of places is not at hand"
)


@functools.cache
def golden() -> dict[str, Any]:
    """Return the values on the map of Snow."""
    result: dict[str, Any] = json.loads(GOLDEN.read_text(encoding="utf-8"))["snow"]
    return result


def columns(name: str, *wanted: str) -> Floats:
    """Read columns of a file as numbers (n, columns)."""
    with (FILES / name).open(encoding="utf-8", newline="") as file:
        return np.array([[float(row[one]) for one in wanted] for row in csv.DictReader(file)])


def deaths() -> tuple[Floats, Floats]:
    """Return the addresses (324, 2), and how many died at each (324,)."""
    result = columns("snow-deaths.csv", "x", "y", "Count")
    return result[:, :2], result[:, 2]


def register() -> tuple[Floats, Floats]:
    """Return the distinct addresses (322, 2) by x and y, and 1 + the deaths at each."""
    xy, count = deaths()
    distinct, place = np.unique(xy, axis=0, return_inverse=True)
    weights = 1.0 + np.bincount(place.ravel(), count).astype(np.float64)
    return distinct, np.asarray(weights, dtype=np.float64)


def masked() -> Floats:
    """Return the donut's release (324, 2)."""
    return np.array(golden()["donut"]["masked"])


def releases() -> Floats:
    """Return the five releases of the planar Laplace (5, 324, 2)."""
    return np.array(golden()["laplace"]["releases"])
