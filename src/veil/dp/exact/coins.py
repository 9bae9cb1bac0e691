r"""Coins of an exact probability: rational, :math:`1/(1+e^x)` or :math:`e^{-x}`.

Most coins are decided by their first 8 bits (one in 256 is not), the others by 64, and what is
equal in 64 bits by as many as it takes. A float never decides: where the probability varies from
coin to coin it is a filter, and whatever lies within 2^-40 of it is decided by integers.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.types import Floats
from veil.dp.exact.bits import more, octets, words
from veil.dp.exact.powers import Bounds, exp_minus

Flags = NDArray[np.bool_]
Octets = NDArray[np.uint8]
_BLOCK = 2**20  # coins at a time
MARGIN = 2.0**-40  # of the filter: far more than the error of a float64 exponential


class Coin:
    """A coin of one probability, given by its bounds lo <= 2^bits p <= hi at any precision."""

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        lo, hi = bounds(128)
        # u < first: heads; u > last: tails; in between (one number, as a rule) more bits decide
        self._first, self._last = lo >> 120, min(255, hi >> 120)
        self._below, self._above = lo >> 64, hi >> 64

    def toss(self, n: int, rng: Generator) -> Flags:
        """Toss n times."""
        heads = np.empty(n, dtype=np.bool_)
        for start in range(0, n, _BLOCK):
            part = heads[start : start + _BLOCK]
            u = octets(len(part), rng)
            if self._first > 255:  # p = 1
                part[:] = True
                continue
            np.less(u, np.uint8(self._first), out=part)
            self._settle(part, u, rng)
        return heads

    def packed(self, rows: int, width: int, rng: Generator) -> Octets:
        """Toss `width` coins for each row, packed as `numpy.packbits` has them."""
        octets_wide = -(-width // 8)
        made = np.empty((rows, octets_wide), dtype=np.uint8)
        block = max(1, _BLOCK // width)
        for start in range(0, rows, block):
            count = min(block, rows - start)
            heads = self.toss(count * width, rng).reshape(count, width)
            made[start : start + count] = np.packbits(heads, axis=1)
        return made

    def _settle(self, heads: Flags, u: Octets, rng: Generator) -> None:
        """Decide the coins whose first 8 bits do not."""
        if self._first == self._last:
            open_ = np.flatnonzero(u == np.uint8(self._first))
        else:
            open_ = np.flatnonzero((u >= self._first) & (u <= self._last))
        if not len(open_):
            return
        fresh = words(len(open_), rng) >> np.uint64(8)
        wide = (u[open_].astype(np.uint64) << np.uint64(56)) | fresh
        top = 2**64 - 1
        heads[open_] = wide < np.uint64(min(self._below, top))
        unsure = (wide >= min(self._below, top)) & (wide <= min(self._above, top))
        for i in np.flatnonzero(unsure):
            heads[open_[i]] = decide(int(wide[i]), 64, self._bounds, rng)


def decide(prefix: int, length: int, bounds: Callable[[int], Bounds], rng: Generator) -> bool:
    """Tell whether a uniform number, of which `length` bits are drawn, is below p."""
    bits = 128
    while True:
        while length + 32 > bits:
            bits *= 2
        lo, hi = bounds(bits)
        shift = bits - length
        if (prefix + 1) << shift <= lo:
            return True
        if prefix << shift >= hi:
            return False
        prefix, length = more(prefix, rng), length + 64


@lru_cache(maxsize=256)
def coin(p: Fraction) -> Coin:
    """Return a coin of a rational probability."""
    if not 0 <= p <= 1:
        raise ValueError("A probability must be from 0 to 1.")

    def bounds(bits: int) -> Bounds:
        lo = (p.numerator << bits) // p.denominator
        return lo, -(-(p.numerator << bits) // p.denominator)

    return Coin(bounds)


@lru_cache(maxsize=256)
def odd(x: Fraction) -> Coin:
    """Return a coin of probability 1/(1 + e^x), x at least 0: the flip of a randomised bit."""

    def bounds(bits: int) -> Bounds:
        lo, hi = exp_minus(x, bits + 8)
        one = 1 << (bits + 8)
        return (lo << bits) // (one + lo), -(-(hi << bits) // (one + hi))

    return Coin(bounds)


def coins(p: Fraction, n: int, rng: Generator) -> Flags:
    """Toss n coins of a rational probability p."""
    return coin(p).toss(n, rng)


def odds(x: Fraction, n: int, rng: Generator) -> Flags:
    """Toss n coins of probability 1/(1 + e^x)."""
    return odd(x).toss(n, rng)


def odds_packed(x: Fraction, rows: int, width: int, rng: Generator) -> Octets:
    """Toss (rows, width) coins of probability 1/(1 + e^x), packed along the rows."""
    return odd(x).packed(rows, width, rng)


def exp_coins(
    numerators: Sequence[int] | NDArray[np.int64], denominator: int, rng: Generator
) -> Flags:
    """Toss one coin of probability e^-(numerator / denominator) for each numerator."""
    if isinstance(numerators, np.ndarray):
        x = numerators.astype(np.float64) / float(denominator)
    else:
        x = np.array([numerator / denominator for numerator in numerators], dtype=np.float64)
    return filtered(x, lambda i: Fraction(int(numerators[i]), denominator), rng)


def filtered(
    x: Floats, exact: Callable[[int], Fraction], rng: Generator, margin: float = MARGIN
) -> Flags:
    """Toss coins of probability e^-x; `x` is nearly, and `exact(i)` exactly, the exponent."""
    u = words(len(x), rng)
    near, p = u.astype(np.float64) * 2.0**-64, np.exp(-x)
    heads: Flags = near < p
    for i in np.flatnonzero(np.abs(near - p) <= margin):
        exponent = exact(int(i))
        heads[i] = decide(int(u[i]), 64, lambda bits, e=exponent: exp_minus(e, bits), rng)  # type: ignore[misc]
    return heads
