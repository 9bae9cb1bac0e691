"""Coins of an exact probability, from random words or from given bytes.

A coin is heads if a uniform number U is below p. From given bytes (`Digits`), U is compared byte
by byte with the digits of p in base 256: the first byte that differs from its digit decides. The
bounds of p are tightened until every digit is certain.

From a generator (`Coin`), the first 8 bits decide all but one coin in 256, 64 bits decide nearly
all others, and further bits the rest. A float never decides: if the probability varies from coin
to coin, floats are only a filter, and anything within 2^-40 is decided by integers.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.types import Floats, Ids

Words = NDArray[np.uint64]


def random_words(n: int, rng: Generator) -> Words:
    """Draw n words of 64 uniform bits."""
    return rng.integers(0, 2**64, n, dtype=np.uint64, endpoint=False)


def halves(n: int, rng: Generator) -> NDArray[np.uint16]:
    """Draw n numbers of 16 uniform bits."""
    return random_words(-(-n // 4), rng).view(np.uint16)[:n]


def octets(n: int, rng: Generator) -> NDArray[np.uint8]:
    """Draw n numbers of 8 uniform bits."""
    return random_words(-(-n // 8), rng).view(np.uint8)[:n]


def more(prefix: int, rng: Generator) -> int:
    """Append 64 uniform bits to an integer."""
    return (prefix << 64) | int(random_words(1, rng)[0])


Bounds = tuple[int, int]  # lo <= 2^bits value <= hi

_GUARD = 32  # extra bits of precision


def exp_minus(x: Fraction, bits: int) -> Bounds:
    r"""Return integers with lo <= 2^bits e^-x <= hi, a few units apart.

    x is halved until it is at most 1/16, where the alternating series is summed with floored
    terms, each less than 2 too small. The result is squared back, rounded outwards.

    >>> lo, hi = exp_minus(Fraction(1), 64)
    >>> hi - lo <= 1, abs(lo / 2**64 - 0.36787944117144233) < 1e-15
    (True, True)
    """
    if x < 0:
        raise ValueError("The exponent must be at least 0.")
    if x == 0:
        return 1 << bits, 1 << bits
    if x > bits:  # e^-x < 2^-x
        return 0, 1
    halvings = max(0, (16 * x.numerator // x.denominator).bit_length())
    work = bits + _GUARD + 2 * halvings
    scaled = x.numerator << work
    below = scaled // (x.denominator << halvings)
    lo, hi = _series(below + 1, work)[0], _series(below, work)[1]
    for _ in range(halvings):
        lo, hi = (lo * lo) >> work, -((-hi * hi) >> work)
    shift = work - bits
    return lo >> shift, -(-hi >> shift)


def _series(y: int, work: int) -> Bounds:
    """Return bounds of 2^work e^-(y / 2^work) for y <= 2^work / 16."""
    term = total = 1 << work
    k, sign = 0, 1
    while term:
        k, sign = k + 1, -sign
        term = (term * y >> work) // k
        total += sign * term
    return max(0, total - 2 * k - 2), total + 2 * k + 2


def times(a: Bounds, b: Bounds, bits: int) -> Bounds:
    """Multiply bounds of two non-negative values, rounded outwards."""
    return a[0] * b[0] >> bits, -(-a[1] * b[1] >> bits)


def over(a: Bounds, b: Bounds, bits: int) -> Bounds:
    """Divide bounds of two non-negative values, rounded outwards."""
    return (a[0] << bits) // b[1], -(-(a[1] << bits) // b[0])


Octets = NDArray[np.uint8]
Further = Callable[[Ids, int], Octets]  # (positions, level) -> one more byte for each of them
_DIGIT_GUARD = 64  # bits of the bounds beyond the digit


class Digits:
    """The base-256 digits of a probability with bounds lo <= 2^bits p <= hi."""

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        self._known: list[int] = []

    def digit(self, level: int) -> int:
        """Return the digit of p at a level, from 0; the first digit of p = 1 is 256."""
        while len(self._known) <= level:
            place = 8 * (len(self._known) + 1)
            floor = self._floor(place)
            before = self._floor(place - 8) << 8 if self._known else 0
            self._known.append(floor - before)
        return self._known[level]

    def _floor(self, place: int) -> int:
        """Return floor(2^place p)."""
        bits = place + _DIGIT_GUARD
        while True:
            lo, hi = (bound >> (bits - place) for bound in self._bounds(bits))
            if lo == hi:
                return lo
            bits *= 2

    def _done(self, level: int) -> bool:
        """Return whether all digits from a level on are 0, so that no byte is below them."""
        lo, hi = self._bounds(8 * level + _DIGIT_GUARD)
        return lo == hi and not lo & ((1 << _DIGIT_GUARD) - 1)

    def heads(self, first: Octets, further: Further) -> NDArray[np.bool_]:
        """Return which coins are heads; `first` has their first bytes, in any shape.

        `further` returns another byte for each undecided coin, given its position in the flattened
        array.
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
        unit = 1 << (bits + 8)
        return (lo << bits) // (unit + lo), -(-(hi << bits) // (unit + hi))

    return Digits(bounds)


Flags = NDArray[np.bool_]

_BLOCK = 2**20  # coins at a time
MARGIN = 2.0**-40  # margin of the filter, far above the error of a float64 exponential


class Coin:
    """A coin with probability p, where lo <= 2^bits p <= hi at any precision."""

    def __init__(self, bounds: Callable[[int], Bounds]) -> None:
        self._bounds = bounds
        lo, hi = bounds(128)
        # u < first: heads; u > last: tails; in between (usually one number) more bits decide
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
        """Toss `width` coins for each row, packed like `numpy.packbits`."""
        octets_wide = -(-width // 8)
        bits = np.empty((rows, octets_wide), dtype=np.uint8)
        block = max(1, _BLOCK // width)
        for start in range(0, rows, block):
            count = min(block, rows - start)
            heads = self.toss(count * width, rng).reshape(count, width)
            bits[start : start + count] = np.packbits(heads, axis=1)
        return bits

    def _settle(self, heads: Flags, u: Octets, rng: Generator) -> None:
        """Decide the coins that their first 8 bits leave open."""
        if self._first == self._last:
            open_ = np.flatnonzero(u == np.uint8(self._first))
        else:
            open_ = np.flatnonzero((u >= self._first) & (u <= self._last))
        if not len(open_):
            return
        fresh = random_words(len(open_), rng) >> np.uint64(8)
        wide = (u[open_].astype(np.uint64) << np.uint64(56)) | fresh
        top = 2**64 - 1
        heads[open_] = wide < np.uint64(min(self._below, top))
        unsure = (wide >= min(self._below, top)) & (wide <= min(self._above, top))
        for i in np.flatnonzero(unsure):
            heads[open_[i]] = decide(int(wide[i]), 64, self._bounds, rng)


def decide(prefix: int, length: int, bounds: Callable[[int], Bounds], rng: Generator) -> bool:
    """Return whether a uniform number with `length` bits drawn so far is below p."""
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
        unit = 1 << (bits + 8)
        return (lo << bits) // (unit + lo), -(-(hi << bits) // (unit + hi))

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
    return filtered_coins(x, lambda i: Fraction(int(numerators[i]), denominator), rng)


def filtered_coins(
    x: Floats, exact: Callable[[int], Fraction], rng: Generator, margin: float = MARGIN
) -> Flags:
    """Toss coins of probability e^-x, from approximate exponents `x` and exact ones `exact(i)`."""
    u = random_words(len(x), rng)
    near, p = u.astype(np.float64) * 2.0**-64, np.exp(-x)
    heads: Flags = near < p
    for i in np.flatnonzero(np.abs(near - p) <= margin):
        exponent = exact(int(i))
        heads[i] = decide(int(u[i]), 64, lambda bits, e=exponent: exp_minus(e, bits), rng)  # type: ignore[misc]
    return heads
