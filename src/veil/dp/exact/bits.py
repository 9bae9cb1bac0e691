"""Random words: the only source of randomness here are whole 64-bit words of a generator."""

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Words = NDArray[np.uint64]


def words(n: int, rng: Generator) -> Words:
    """Draw n words of 64 uniform bits."""
    return rng.integers(0, 2**64, n, dtype=np.uint64, endpoint=False)


def halves(n: int, rng: Generator) -> NDArray[np.uint16]:
    """Draw n numbers of 16 uniform bits."""
    return words(-(-n // 4), rng).view(np.uint16)[:n]


def octets(n: int, rng: Generator) -> NDArray[np.uint8]:
    """Draw n numbers of 8 uniform bits."""
    return words(-(-n // 8), rng).view(np.uint8)[:n]


def more(prefix: int, rng: Generator) -> int:
    """Append 64 uniform bits to a whole number."""
    return (prefix << 64) | int(words(1, rng)[0])
