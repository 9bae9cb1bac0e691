"""Random orders of candidates, a block of releases at a time."""

from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from veil.core.types import Ids

_BLOCK = 2**19  # candidates at a time


def orders(candidates: int, size: int, rng: Generator) -> Iterator[Ids]:
    """Yield uniform orders (m, candidates) of positions, `size` in all."""
    rows = max(1, _BLOCK // candidates)
    for start in range(0, size, rows):
        count = min(rows, size - start)
        yield rng.permuted(np.tile(np.arange(candidates), (count, 1)), axis=1)
