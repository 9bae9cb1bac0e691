r"""The discrete Laplace law :math:`P(z) = \frac{1-q}{1+q} q^{|z|}`, :math:`q = e^{-1/s}`.

Up to s = 48 it is one table over both signs, in the order 0, 1, -1, 2, -2 ...: what is left after
z is q^z, and after -z 2 q^(z+1)/(1+q). For a larger s, z = k 2^b + r if z >= 0, and -1-z =
k 2^b + r if not; the signed block k comes from one table (the negative side weighs q), and the
digits of r to the base 256 from one table each: the digits of a geometric variable are
independent.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.dp.exact.bits import words
from veil.dp.exact.powers import Bounds, exp_minus, over, times
from veil.dp.exact.table import FEW, Steps, Table

_GUARD = 96
_MOST = 48  # the largest scale of one table
_DIGIT = 256
LARGEST = Fraction(2**52)
_TOO_LARGE = "The noise is too large for whole numbers of 64 bits."


@dataclass(frozen=True)
class TwoSided:
    """The whole law, for a small scale."""

    scale: Fraction

    def steps(self, bits: int) -> Steps:
        """List 0, 1, -1, ... by what is left after each."""
        work = bits + _GUARD
        one, q = 1 << work, exp_minus(1 / self.scale, work)
        half = over((2 * q[0], 2 * q[1]), (one + q[0], one + q[1]), work)  # 2q / (1 + q)
        values, left = [0], [half]
        power, z = q, 1
        while left[-1][1] > 1 << (work - bits + 106):
            values += [z, -z]
            left += [power, times(power, half, work)]
            power, z = times(power, q, work), z + 1
        return _steps(values, left, work, bits)


@dataclass(frozen=True)
class Blocks:
    """The signed blocks of a large scale: 2k for z >= 0, 2k + 1 for z < 0."""

    scale: Fraction
    width: int  # 2^b

    def steps(self, bits: int) -> Steps:
        """List blocks by what is left after each."""
        work = bits + _GUARD
        one, q = 1 << work, exp_minus(1 / self.scale, work)
        block = exp_minus(self.width / self.scale, work)  # Q
        rest = (one - block[1], one - block[0])
        other = times(over(q, (one + q[0], one + q[1]), work), rest, work)  # q (1-Q) / (1+q)
        values: list[int] = []
        left: list[Bounds] = []
        power, k = (one, one), 0
        while not left or left[-1][1] > 1 << (work - bits + 106):
            after = times(power, block, work)
            negative = times(power, other, work)
            values += [2 * k, 2 * k + 1]
            left += [(after[0] + negative[0], after[1] + negative[1]), after]
            power, k = after, k + 1
        return _steps(values, left, work, bits)


@dataclass(frozen=True)
class Digit:
    """One digit of r: 0 to 255, with weights t^d."""

    exponent: Fraction  # t = e^-exponent

    def steps(self, bits: int) -> Steps:
        """Divide 1 - t^(d+1) by 1 - t^256."""
        work = bits + _GUARD
        one, t = 1 << work, exp_minus(self.exponent, work)
        whole = exp_minus(_DIGIT * self.exponent, work)
        total = (one - whole[1], one - whole[0])
        lo, hi, power = [], [], t
        for _ in range(_DIGIT - 1):
            below = over((one - power[1], one - power[0]), total, work)
            lo.append(max(0, below[0] >> _GUARD))
            hi.append(min(1 << bits, -(-below[1] >> _GUARD)))
            power = times(power, t, work)
        full = 1 << bits
        return Steps(range(_DIGIT), [*lo, full], [*hi, full], bits)


def _steps(values: list[int], left: list[Bounds], work: int, bits: int) -> Steps:
    """Turn bounds of what is left into bounds of F."""
    one, shift = 1 << work, work - bits
    lo = [(one - high) >> shift for _, high in left]
    hi = [-(-(one - low) >> shift) for low, _ in left]
    return Steps(values, lo, hi, bits)


class Laplace:
    """Draws of one scale."""

    def __init__(self, scale: Fraction, depth: int = 64) -> None:
        if not 0 < scale <= LARGEST:
            raise ParameterError(
                "The scale of the noise must be above 0 and at most 2^52 steps; choose a larger"
                " epsilon or a smaller sensitivity."
            )
        self._digits = []
        width = 1
        while scale / width > _MOST:
            self._digits.append(Table(Digit(width / scale), depth=depth))
            width *= _DIGIT
        self._width = width
        self._top = Table(TwoSided(scale) if width == 1 else Blocks(scale, width), depth=depth)

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n whole numbers."""
        if self._width == 1:
            return self._top.draw(n, rng)
        tables = (self._top, *self._digits)
        if n == 1:
            return np.array([self._one(words(len(tables), rng).tolist(), rng)], dtype=np.int64)
        if n <= FEW:  # one call for the words of all tables
            fresh = words(n * len(tables), rng).reshape(len(tables), n)
            top, *digits = [
                table.few(part, rng) for table, part in zip(tables, fresh, strict=True)
            ]
        else:
            top, *digits = [table.draw(n, rng) for table in tables]
        sign, blocks = -(top & 1), top >> 1
        if n and max(blocks.tolist() if n <= FEW else [blocks.max()]) * self._width >= 2**62:
            raise ParameterError(_TOO_LARGE)
        drawn = blocks * self._width
        for j, digit in enumerate(digits):
            drawn += digit << np.int64(8 * j)
        return drawn ^ sign  # -1 - r for the negative side

    def _one(self, fresh: list[int], rng: Generator) -> int:
        """Draw one number from a word for each table, where arrays cost more than they save."""
        top = self._top.one(fresh[0], rng)
        negative, drawn = top & 1, (top >> 1) * self._width
        if drawn >= 2**62:
            raise ParameterError(_TOO_LARGE)
        for j, (table, word) in enumerate(zip(self._digits, fresh[1:], strict=True)):
            drawn += table.one(word, rng) << (8 * j)
        return drawn ^ -negative


@lru_cache(maxsize=64)
def laplace_of(scale: Fraction) -> Laplace:
    """Return the tables of a scale; those of the last scales are kept."""
    return Laplace(scale)


def discrete_laplace(scale: Fraction, n: int, rng: Generator) -> Ids:
    """Draw n whole numbers z with P(z) proportional to e^(-|z| / scale).

    >>> from veil.core.rng import generator
    >>> discrete_laplace(Fraction(1, 100), 3, generator(1)).tolist()
    [0, 0, 0]
    """
    return laplace_of(scale if type(scale) is Fraction else Fraction(scale)).draw(n, rng)
