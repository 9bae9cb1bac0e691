"""Where the random bits of a report come from: a generator, anew, or a key, the same forever."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.dp.exact.coins import odds

Flags = NDArray[np.bool_]


class Source(Protocol):
    """Random bits for n rows, exact in any case. `what` tells one use from another."""

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Return (n, width) coins of probability 1/(1 + e^x)."""
        ...

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Return (n, len(limits)) uniform whole numbers from 0 to below each limit."""
        ...


class Fresh:
    """Bits of a generator: every call draws anew."""

    def __init__(self, n: int, rng: Generator) -> None:
        self._n, self._rng = n, rng

    def flips(self, what: str, x: Fraction, width: int) -> Flags:
        """Toss coins."""
        del what
        return odds(x, self._n * width, self._rng).reshape(self._n, width)

    def below(self, what: str, limits: Sequence[int]) -> Ids:
        """Draw whole numbers; NumPy rejects, so that they are exactly uniform."""
        del what
        return self._rng.integers(0, np.array(limits), size=(self._n, len(limits)))


def subsets(source: Source, size: int, count: int) -> Ids:
    """Return `count` of the numbers 0..size-1 for each row, every subset as likely, in order.

    Floyd's algorithm: number i of the last `count` is taken if the draw from 0..i is taken
    already, and else the draw.
    """
    limits = range(size - count + 1, size + 1)
    draws = source.below("buckets", limits)
    taken = np.empty_like(draws)
    for at, limit in enumerate(limits):
        there = (taken[:, :at] == draws[:, at : at + 1]).any(axis=1)
        taken[:, at] = np.where(there, limit - 1, draws[:, at])
    taken.sort(axis=1)
    return taken
