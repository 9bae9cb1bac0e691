r"""Exact samplers on the integers: finite, discrete Laplace and discrete Gaussian.

Sampling is by inversion. A uniform number U with unlimited bits is compared with the distribution
function F, of which only the bounds lo_i <= 2^P F(i) <= hi_i are known; bits of U are drawn only
as the comparison needs them. The first 16 bits are looked up in a table of 65,536 cells, and
settle the draw if the whole cell is inside one step of F. Otherwise 48 more bits and a binary
search nearly always do. Draws still open after 64 bits, or beyond the listed values, are settled
with integers of twice the precision, repeatedly. The work of a draw does not depend on data.

The discrete Laplace distribution is :math:`P(z) = \frac{1-q}{1+q} q^{|z|}`, :math:`q = e^{-1/s}`.
Up to s = 48 it is one table over both signs, in the order 0, 1, -1, 2, -2 ...: the remaining
probability after z is q^z, and after -z 2 q^(z+1)/(1+q). For a larger s, z = k 2^b + r if
z >= 0, and -1-z = k 2^b + r if not; the signed block k comes from one table (the negative side has
weight q), and the base-256 digits of r from one table each, because the digits of a geometric
variable are independent.

The discrete Gaussian distribution is :math:`P(z) \propto e^{-z^2 / (2 \sigma^2)}` on the integers.
Up to sigma = 128 it is one table, in the order 0, 1, -1, 2, -2 ... For a larger sigma,
z = k 2^b + r if z >= 0 and -1-z = k 2^b + r if not. The signed block k comes from a table, with
the weight of its member nearest to 0 (its base), and r is uniform. Both are accepted with
probability e^(-r (2 base + r) / (2 sigma^2)), which is nearly 1, and otherwise redrawn.

References
----------
Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
"""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.dp.exact.coins import (
    MARGIN,
    Bounds,
    Words,
    decide,
    exp_minus,
    filtered_coins,
    halves,
    more,
    over,
    random_words,
    times,
)

PRECISION = 256
_BLOCK = 2**17  # draws at a time, to fit in the cache
FEW = 1_024  # up to so many draws, a table of cells does not pay
SINGLE = 4  # up to so many draws, arrays do not pay
_FIRST = 16


@dataclass(frozen=True)
class Steps:
    """Values in the order of the steps of F, and bounds of 2^bits F after each.

    Infinite supports are listed until less than 2^-(bits - 106) of probability remains.
    """

    values: Sequence[int]
    lo: Sequence[int]
    hi: Sequence[int]
    bits: int


class Law(Protocol):
    """A distribution on the integers, at any precision."""

    def steps(self, bits: int) -> Steps:
        """Return values and bounds."""
        ...


class Table:
    """Draws from one distribution; `depth` is the number of bits of the binary search."""

    def __init__(self, law: Law, bits: int = PRECISION, depth: int = 64) -> None:
        self._law, self._depth = law, depth
        self._steps = law.steps(bits)
        self._values = np.array(self._steps.values, dtype=np.int64)
        shift = bits - depth
        top = (1 << depth) - 1
        self._below = np.array([min(lo >> shift, top) for lo in self._steps.lo], dtype=np.uint64)
        self._above = np.array([min(hi >> shift, top) for hi in self._steps.hi], dtype=np.uint64)
        self._cells: NDArray[np.signedinteger] | None = None

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n values."""
        if n <= FEW:  # depends only on n, so that a seed gives the same draws in any state
            return self.few(random_words(n, rng), rng)
        draws = np.empty(n, dtype=np.int64)
        for start in range(0, n, _BLOCK):
            part = draws[start : start + _BLOCK]
            part[:] = self._look(halves(len(part), rng), rng)
        return draws

    def few(self, fresh: Words, rng: Generator) -> Ids:
        """Return a value for each of a few random words."""
        if len(fresh) <= SINGLE:
            return np.array([self.single(int(u), rng) for u in fresh], dtype=np.int64)
        return self._search(fresh >> np.uint64(64 - self._depth), rng)

    def single(self, fresh: int, rng: Generator) -> int:
        """Return the value for one word, like `_search` without arrays."""
        u = fresh >> (64 - self._depth)
        below, above = self._ends
        at = bisect_left(above, u)
        if at < len(above) and u < below[at]:
            return int(self._steps.values[at])
        return self._resolve(u, self._depth, rng)

    @cached_property
    def _ends(self) -> tuple[list[int], list[int]]:
        return self._below.tolist(), self._above.tolist()

    def _look(self, first: NDArray[np.uint16], rng: Generator) -> NDArray[np.signedinteger]:
        """Look up 16-bit words, and search for those whose cell is not inside one step."""
        if self._cells is None:
            self._cells = self._make_cells()
        values = self._cells.take(first)
        open_ = np.flatnonzero(values == np.iinfo(values.dtype).min)
        if not len(open_):
            return values
        rest = self._depth - _FIRST
        more_bits = random_words(len(open_), rng) >> np.uint64(64 - rest)
        result = values.astype(np.int64)
        result[open_] = self._search(
            (first[open_].astype(np.uint64) << np.uint64(rest)) | more_bits, rng
        )
        return result

    def _make_cells(self) -> NDArray[np.signedinteger]:
        steps, shift = self._steps, self._steps.bits - _FIRST
        largest = max(abs(int(self._values.min())), abs(int(self._values.max())))
        kind = next(
            kind for kind in (np.int16, np.int32, np.int64) if largest <= np.iinfo(kind).max
        )
        cells = np.full(2**_FIRST, np.iinfo(kind).min, dtype=kind)
        start = 0
        for value, lo, hi in zip(steps.values, steps.lo, steps.hi, strict=True):
            cells[start : lo >> shift] = value
            start = -(-hi >> shift)
        return cells

    def _search(self, u: Words, rng: Generator) -> Ids:
        """Return the values for words of `depth` bits, by binary search."""
        at = np.searchsorted(
            self._above, u, side="left"
        )  # all steps before it are certainly below U
        sure = at < len(self._values)
        at = np.minimum(at, len(self._values) - 1)
        sure &= u < self._below[at]
        values = self._values[at]
        for i in () if sure.all() else np.flatnonzero(~sure):
            values[i] = self._resolve(int(u[i]), self._depth, rng)
        return values

    def _resolve(self, prefix: int, length: int, rng: Generator) -> int:
        """Draw more bits, and compute tighter bounds, until one value is certain."""
        steps = self._steps
        while True:
            if length + 32 > steps.bits:
                steps = self._law.steps(2 * steps.bits)
            shift = steps.bits - length
            low, high = prefix << shift, (prefix + 1) << shift  # U is in [low, high)
            at = bisect_right(steps.hi, low)
            if at < len(steps.lo) and high <= steps.lo[at]:
                return int(steps.values[at])
            if at >= len(steps.lo):  # beyond the listed values
                steps = self._law.steps(2 * steps.bits)
            prefix, length = more(prefix, rng), length + 64


Number = Fraction | int
_FINITE_GUARD = 64


@dataclass(frozen=True)
class Weighted:
    """P(i) is proportional to coefficient_i e^-exponent_i; both are at least 0."""

    weights: tuple[tuple[Fraction, Fraction], ...]

    def steps(self, bits: int) -> Steps:
        """Return cumulative bounds of the weights, divided by bounds of their sum."""
        work = bits + _FINITE_GUARD + max(1, len(self.weights)).bit_length()
        least = min(exponent for coefficient, exponent in self.weights if coefficient)
        most = max(coefficient for coefficient, _ in self.weights)
        values, lo, hi = [], [0], [0]
        for value, (coefficient, exponent) in enumerate(self.weights):
            if not coefficient:
                continue
            share = coefficient / most
            low, high = exp_minus(exponent - least, work)
            values.append(value)
            lo.append(lo[-1] + low * share.numerator // share.denominator)
            hi.append(hi[-1] - (-high * share.numerator // share.denominator))
        full = 1 << bits
        ends = range(1, len(values))
        below = [_share(lo[i], hi[-1] - hi[i], bits) for i in ends]
        above = [min(full, _share(hi[i], lo[-1] - lo[i], bits) + 1) for i in ends]
        return Steps(values, [*below, full], [*above, full], bits)


def _share(before: int, after: int, bits: int) -> int:
    """Return 2^bits before / (before + after), rounded down."""
    return (before << bits) // (before + after)


def finite(weights: Sequence[tuple[Number, Number]], bits: int = PRECISION) -> Table:
    """Return a table for 0, 1, ... with P(i) proportional to coefficient_i e^-exponent_i.

    >>> from veil.core.rng import generator
    >>> finite([(0, 0), (1, 0), (1, 1000)]).draw(3, generator(1)).tolist()
    [1, 1, 1]
    """
    exact = tuple((Fraction(coefficient), Fraction(exponent)) for coefficient, exponent in weights)
    if not any(coefficient for coefficient, _ in exact) or any(min(pair) < 0 for pair in exact):
        raise ValueError("Weights and exponents must be at least 0, and one weight positive.")
    return Table(Weighted(exact), bits)


_LAPLACE_GUARD = 96
_TABLE_SCALE = 48  # the largest scale of one table
_DIGIT = 256
LARGEST_SCALE = Fraction(2**52)
_TOO_LARGE = "The noise is too large for 64-bit integers. Increase the budget."


@dataclass(frozen=True)
class TwoSided:
    """The whole distribution, for a small scale."""

    scale: Fraction

    def steps(self, bits: int) -> Steps:
        """List 0, 1, -1, ... with the remaining probability after each."""
        work = bits + _LAPLACE_GUARD
        unit, q = 1 << work, exp_minus(1 / self.scale, work)
        half = over((2 * q[0], 2 * q[1]), (unit + q[0], unit + q[1]), work)  # 2q / (1 + q)
        values, tails = [0], [half]
        power, z = q, 1
        while tails[-1][1] > 1 << (work - bits + 106):
            values += [z, -z]
            tails += [power, times(power, half, work)]
            power, z = times(power, q, work), z + 1
        return _steps(values, tails, work, bits)


@dataclass(frozen=True)
class Blocks:
    """The signed blocks of a large scale: 2k for z >= 0, 2k + 1 for z < 0."""

    scale: Fraction
    width: int  # 2^b

    def steps(self, bits: int) -> Steps:
        """List blocks with the remaining probability after each."""
        work = bits + _LAPLACE_GUARD
        unit, q = 1 << work, exp_minus(1 / self.scale, work)
        block = exp_minus(self.width / self.scale, work)  # Q
        rest = (unit - block[1], unit - block[0])
        other = times(over(q, (unit + q[0], unit + q[1]), work), rest, work)  # q (1-Q) / (1+q)
        values: list[int] = []
        tails: list[Bounds] = []
        power, k = (unit, unit), 0
        while not tails or tails[-1][1] > 1 << (work - bits + 106):
            after = times(power, block, work)
            negative = times(power, other, work)
            values += [2 * k, 2 * k + 1]
            tails += [(after[0] + negative[0], after[1] + negative[1]), after]
            power, k = after, k + 1
        return _steps(values, tails, work, bits)


@dataclass(frozen=True)
class Digit:
    """One digit of r: 0 to 255, with weights t^d."""

    exponent: Fraction  # t = e^-exponent

    def steps(self, bits: int) -> Steps:
        """Divide 1 - t^(d+1) by 1 - t^256."""
        work = bits + _LAPLACE_GUARD
        unit, t = 1 << work, exp_minus(self.exponent, work)
        whole = exp_minus(_DIGIT * self.exponent, work)
        total = (unit - whole[1], unit - whole[0])
        lo, hi, power = [], [], t
        for _ in range(_DIGIT - 1):
            below = over((unit - power[1], unit - power[0]), total, work)
            lo.append(max(0, below[0] >> _LAPLACE_GUARD))
            hi.append(min(1 << bits, -(-below[1] >> _LAPLACE_GUARD)))
            power = times(power, t, work)
        full = 1 << bits
        return Steps(range(_DIGIT), [*lo, full], [*hi, full], bits)


def _steps(values: list[int], tails: list[Bounds], work: int, bits: int) -> Steps:
    """Convert bounds of the remaining probability into bounds of F."""
    unit, shift = 1 << work, work - bits
    lo = [(unit - high) >> shift for _, high in tails]
    hi = [-(-(unit - low) >> shift) for low, _ in tails]
    return Steps(values, lo, hi, bits)


class Laplace:
    """Draws discrete Laplace noise of one scale."""

    def __init__(self, scale: Fraction, depth: int = 64) -> None:
        if not 0 < scale <= LARGEST_SCALE:
            raise ParameterError(
                "The scale of the noise must be above 0 and at most 2^52 steps. Increase epsilon"
                " or reduce the sensitivity."
            )
        self._digits = []
        width = 1
        while scale / width > _TABLE_SCALE:
            self._digits.append(Table(Digit(width / scale), depth=depth))
            width *= _DIGIT
        self._width = width
        self._top = Table(TwoSided(scale) if width == 1 else Blocks(scale, width), depth=depth)

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n integers."""
        if self._width == 1:
            return self._top.draw(n, rng)
        tables = (self._top, *self._digits)
        if n == 1:
            return np.array(
                [self._single(random_words(len(tables), rng).tolist(), rng)], dtype=np.int64
            )
        if n <= FEW:  # one call for the words of all tables
            fresh = random_words(n * len(tables), rng).reshape(len(tables), n)
            top, *digits = [
                table.few(part, rng) for table, part in zip(tables, fresh, strict=True)
            ]
        else:
            top, *digits = [table.draw(n, rng) for table in tables]
        sign, blocks = -(top & 1), top >> 1
        if n and max(blocks.tolist() if n <= FEW else [blocks.max()]) * self._width >= 2**62:
            raise ParameterError(_TOO_LARGE)
        values = blocks * self._width
        for j, digit in enumerate(digits):
            values += digit << np.int64(8 * j)
        return values ^ sign  # -1 - r for the negative side

    def _single(self, fresh: list[int], rng: Generator) -> int:
        """Draw one number from one word per table, without arrays."""
        top = self._top.single(fresh[0], rng)
        negative, magnitude = top & 1, (top >> 1) * self._width
        if magnitude >= 2**62:
            raise ParameterError(_TOO_LARGE)
        for j, (table, word) in enumerate(zip(self._digits, fresh[1:], strict=True)):
            magnitude += table.single(word, rng) << (8 * j)
        return magnitude ^ -negative


@lru_cache(maxsize=64)
def laplace_of(scale: Fraction) -> Laplace:
    """Return the cached sampler of a scale."""
    return Laplace(scale)


def discrete_laplace(scale: Fraction, n: int, rng: Generator) -> Ids:
    """Draw n integers z with P(z) proportional to e^(-|z| / scale).

    >>> from veil.core.rng import generator
    >>> discrete_laplace(Fraction(1, 100), 3, generator(1)).tolist()
    [0, 0, 0]
    """
    return laplace_of(scale if type(scale) is Fraction else Fraction(scale)).draw(n, rng)


_GAUSSIAN_GUARD = 96
_TABLE_VARIANCE = 128**2  # the largest sigma^2 of one table
LARGEST_VARIANCE = Fraction(2**80)


@dataclass(frozen=True)
class Bells:
    """Both signs of blocks of `width` values; with a width of 1, the distribution itself.

    Non-negative block k has weight e^(-(k width)^2 / (2 sigma2)), negative block k, counted from
    0, e^(-(k width + 1)^2 / (2 sigma2)). With a width of 1 the values are 0, 1, -1, ...; else 2k
    and 2k + 1.
    """

    sigma2: Fraction
    width: int

    def steps(self, bits: int) -> Steps:
        """Return cumulative bounds of the weights, divided by bounds of their sum."""
        work = bits + _GAUSSIAN_GUARD
        values, lows, highs = [], [0], [0]
        for value, weight in self._weights(work):
            values.append(value)
            lows.append(lows[-1] + weight[0])
            highs.append(highs[-1] + weight[1])
            if weight[1] <= 1 << (work - bits + 90):
                break
        # A weight of 2^-166 occurs at 15 sigma or more, where each weight is at most 0.9 times the
        # previous one: the remainder of both signs is less than 2 / (1 - 0.9) times the last.
        tail = 128 * (highs[-1] - highs[-2] + 2)
        below, above = lows[-1], highs[-1] + tail
        lo = [(low << bits) // (low + above - high) for low, high in zip(lows, highs, strict=True)]
        hi = [
            -(-(high << bits) // (high + below - low))
            for low, high in zip(lows, highs, strict=True)
        ]
        return Steps(values, lo[1:], hi[1:], bits)

    def _weights(self, work: int) -> Iterator[tuple[int, Bounds]]:
        """Yield values and bounds of their weights without end, each from the previous one."""
        unit = Fraction(1, 2) / self.sigma2
        start = (1 << work, 1 << work)
        growth = exp_minus(2 * self.width**2 * unit, work)  # of the ratio, from block to block
        ratio = exp_minus(self.width**2 * unit, work)
        lean = exp_minus(2 * self.width * unit, work)  # of the negative side, from block to block
        side = exp_minus(unit, work)
        weight, k = start, 0
        while True:
            if self.width > 1:
                yield 2 * k, weight
                yield 2 * k + 1, times(weight, side, work)
                side = times(side, lean, work)
            elif k == 0:
                yield 0, weight
            else:
                yield k, weight
                yield -k, weight
            weight, ratio = times(weight, ratio, work), times(ratio, growth, work)
            k += 1


class Gaussian:
    """Draws discrete Gaussian noise of one sigma^2.

    `margin` is that of the accept/reject filter, `most` the largest sigma^2 of a single table.
    """

    def __init__(
        self,
        sigma2: Fraction,
        depth: int = 64,
        margin: float = MARGIN,
        most: int = _TABLE_VARIANCE,
    ) -> None:
        if not 0 < sigma2 <= LARGEST_VARIANCE:
            raise ParameterError(
                "The sigma of the noise must be above 0 and at most 2^40 steps. Increase the"
                " budget or reduce the sensitivity."
            )
        width = 1
        while sigma2 / width**2 > most:
            width *= 2
        self._sigma2, self._width, self._margin = sigma2, width, margin
        self._double = float(2 * sigma2)
        self._top = Table(Bells(sigma2, width), depth=depth)

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n integers."""
        if self._width == 1:
            return self._top.draw(n, rng)
        if n <= SINGLE:
            return np.array([self._single(rng) for _ in range(n)], dtype=np.int64)
        result = np.empty(n, dtype=np.int64)
        open_ = np.arange(n)
        while len(open_):
            values, accepted = self._try(len(open_), rng)
            result[open_[accepted]] = values[accepted]
            open_ = open_[~accepted]
        return result

    def _single(self, rng: Generator) -> int:
        """Draw one number like `_try`, without arrays; one call gives all words of a try."""
        while True:
            fresh: list[int] = random_words(3, rng).tolist()
            top = self._top.single(fresh[0], rng)
            negative, block = top & 1, top >> 1
            r = fresh[1] & (self._width - 1)  # the width is a power of two
            base = block * self._width + negative
            exponent = r * (2 * base + r)
            near, p = fresh[2] * 2.0**-64, math.exp(-exponent / self._double)
            accepted = near < p
            if abs(near - p) <= self._margin:
                exact = exponent / (2 * self._sigma2)
                accepted = decide(fresh[2], 64, lambda bits, e=exact: exp_minus(e, bits), rng)  # type: ignore[misc]
            if accepted:
                return (block * self._width + r) ^ -negative

    def _try(self, n: int, rng: Generator) -> tuple[Ids, NDArray[np.bool_]]:
        top = self._top.draw(n, rng)
        negative, blocks = top & 1, top >> 1
        if n and int(blocks.max()) * self._width >= 2**62:
            raise ParameterError(
                "The noise is too large for 64-bit integers. Increase the budget."
            )
        r = rng.integers(0, self._width, n)
        base = blocks * self._width + negative
        double = 2 * self._sigma2

        def exact(i: int) -> Fraction:
            return int(r[i]) * (2 * int(base[i]) + int(r[i])) / double

        x = r.astype(np.float64) * (2.0 * base + r) / float(double)
        accepted = filtered_coins(x, exact, rng, self._margin)
        return (blocks * self._width + r) ^ -negative, accepted


@lru_cache(maxsize=64)
def gaussian_of(sigma2: Fraction) -> Gaussian:
    """Return the cached sampler of a sigma^2."""
    return Gaussian(sigma2)


def discrete_gaussian(sigma2: Fraction, n: int, rng: Generator) -> Ids:
    """Draw n integers z with P(z) proportional to e^(-z^2 / (2 sigma2)).

    >>> from veil.core.rng import generator
    >>> discrete_gaussian(Fraction(1, 100), 3, generator(1)).tolist()
    [0, 0, 0]
    """
    return gaussian_of(sigma2 if type(sigma2) is Fraction else Fraction(sigma2)).draw(n, rng)
