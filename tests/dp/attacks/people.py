"""Columns of the shared data of counts, where it is at hand."""

import csv
import functools

import numpy as np
import pytest
from tests.dp.golden import SHARED

from veil.core.types import Ids
from veil.dp.attack import Ask, Mask

FILE = SHARED / "counts" / "pums.csv"
NGRAMS = SHARED / "counts" / "ngrams.csv.gz"
needs_counts = pytest.mark.skipif(
    not FILE.is_file(), reason="the shared data of counts is not at hand"
)


@functools.cache
def column(name: str) -> Ids:
    """Read a column of the thousand persons."""
    with FILE.open(encoding="utf-8", newline="") as file:
        return np.array([int(float(row[name])) for row in csv.DictReader(file)])


def exactly(secret: Ids) -> Ask:
    """Answer sums of a secret."""

    def ask(mask: Mask) -> int:
        return int(secret[mask].sum())

    return ask
