r"""Coins of an exact probability from bytes that are given, and not drawn from a generator.

A coin is heads when a uniform number U is below p. U comes byte by byte, and is compared with the
digits of p in base 256: a byte that differs from the digit decides, one that is equal (1 in 256)
leaves it to the next. Digits are floors of bounds that are made as tight as it takes, so that
each is certain.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids
from veil.dp.exact.powers import Bounds, exp_minus

Octets = NDArray[np.uint8]
Further = Callable[[Ids, int], Octets]  # (positions, level) -> one more byte for each of them
_GUARD = 64  # bits of the bounds beyond the digit


class Digits:
    """The digits of one probability, given by its bounds lo <= 2^bits p <= hi."""

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        self._known: list[int] = []

    def digit(self, level: int) -> int:
        """Return a digit of p, from 0; the first of p = 1 is 256."""
        while len(self._known) <= level:
            place = 8 * (len(self._known) + 1)
            floor = self._floor(place)
            before = self._floor(place - 8) << 8 if self._known else 0
            self._known.append(floor - before)
        return self._known[level]

    def _floor(self, place: int) -> int:
        """Return floor(2^place p)."""
        bits = place + _GUARD
        while True:
            lo, hi = (bound >> (bits - place) for bound in self._bounds(bits))
            if lo == hi:
                return lo
            bits *= 2

    def _done(self, level: int) -> bool:
        """Tell whether all digits from a level on are 0, so that nothing is below them."""
        lo, hi = self._bounds(8 * level + _GUARD)
        return lo == hi and not lo & ((1 << _GUARD) - 1)

    def heads(self, first: Octets, further: Further) -> NDArray[np.bool_]:
        """Tell which coins are heads; `first` has their first bytes, in any shape.

        `further` is asked for another byte of those that are still open, by their positions in
        the flattened array.
        """
        heads = first < self.digit(0)
        flat = heads.reshape(-1)
        open_ = np.flatnonzero(first.reshape(-1) == self.digit(0))
        level = 1
        while len(open_) and not self._done(level):
            octets = further(open_, level)
            flat[open_] = octets < self.digit(level)
            open_ = open_[octets == self.digit(level)]
            level += 1
        return heads


def rational(p: Fraction) -> Digits:
    """Return the digits of a rational probability.

    >>> [rational(Fraction(1, 3)).digit(level) for level in range(2)]
    [85, 85]
    """

    def bounds(bits: int) -> Bounds:
        scaled = p.numerator << bits
        return scaled // p.denominator, -(-scaled // p.denominator)

    return Digits(bounds)


def flip(x: Fraction) -> Digits:
    """Return the digits of 1/(1 + e^x), x at least 0."""

    def bounds(bits: int) -> Bounds:
        lo, hi = exp_minus(x, bits + 8)
        one = 1 << (bits + 8)
        return (lo << bits) // (one + lo), -(-(hi << bits) // (one + hi))

    return Digits(bounds)
