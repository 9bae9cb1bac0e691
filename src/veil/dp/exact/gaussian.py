r"""The discrete Gaussian law :math:`P(z) \propto e^{-z^2 / (2 \sigma^2)}` on the whole numbers.

Up to sigma = 128 it is one table, in the order 0, 1, -1, 2, -2 ... For a larger one, z = k 2^b + r
if z >= 0 and -1-z = k 2^b + r if not: the signed block comes from a table, with the weight of the
member that is nearest to 0 (its base), r is uniform, and both are kept with probability
e^(-r (2 base + r) / (2 sigma^2)), which is nearly 1; else both are drawn again.

References
----------
Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Ids
from veil.dp.exact.bits import words
from veil.dp.exact.coins import MARGIN, decide, filtered
from veil.dp.exact.powers import Bounds, exp_minus, times
from veil.dp.exact.table import SINGLE, Steps, Table

_GUARD = 96
_MOST = 128**2  # the largest sigma^2 of one table
LARGEST = Fraction(2**80)


@dataclass(frozen=True)
class Bells:
    """Both signs of blocks of `width` values; with a width of 1, the law itself.

    Block k >= 0 weighs e^(-(k width)^2 / (2 sigma2)), block k < 0, counted from 0, e^(-(k width +
    1)^2 / (2 sigma2)). With a width of 1 the values are 0, 1, -1, ...; else 2k and 2k + 1.
    """

    sigma2: Fraction
    width: int

    def steps(self, bits: int) -> Steps:
        """Add up bounds of the weights, and divide by bounds of their sum."""
        work = bits + _GUARD
        values, lows, highs = [], [0], [0]
        for value, weight in self._weights(work):
            values.append(value)
            lows.append(lows[-1] + weight[0])
            highs.append(highs[-1] + weight[1])
            if weight[1] <= 1 << (work - bits + 90):
                break
        # A weight of 2^-166 stands at 15 sigma or more, where a weight is at most 0.9 of the one
        # before it: all that is left, of both signs, is less than 2 / (1 - 0.9) times the last.
        tail = 128 * (highs[-1] - highs[-2] + 2)
        below, above = lows[-1], highs[-1] + tail
        lo = [(low << bits) // (low + above - high) for low, high in zip(lows, highs, strict=True)]
        hi = [
            -(-(high << bits) // (high + below - low))
            for low, high in zip(lows, highs, strict=True)
        ]
        return Steps(values, lo[1:], hi[1:], bits)

    def _weights(self, work: int) -> Iterator[tuple[int, Bounds]]:
        """Yield values and bounds of their weights, for ever: each from the one before."""
        unit = Fraction(1, 2) / self.sigma2
        one = (1 << work, 1 << work)
        growth = exp_minus(2 * self.width**2 * unit, work)  # of the ratio, from block to block
        ratio = exp_minus(self.width**2 * unit, work)
        lean = exp_minus(2 * self.width * unit, work)  # of the negative side, from block to block
        side = exp_minus(unit, work)
        weight, k = one, 0
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
    """Draws of one sigma^2.

    `margin` is that of the filter which keeps or drops a draw, `most` the largest sigma^2 of
    a table.
    """

    def __init__(
        self, sigma2: Fraction, depth: int = 64, margin: float = MARGIN, most: int = _MOST
    ) -> None:
        if not 0 < sigma2 <= LARGEST:
            raise ParameterError(
                "The sigma of the noise must be above 0 and at most 2^40 steps; choose a larger"
                " budget or a smaller sensitivity."
            )
        width = 1
        while sigma2 / width**2 > most:
            width *= 2
        self._sigma2, self._width, self._margin = sigma2, width, margin
        self._double = float(2 * sigma2)
        self._top = Table(Bells(sigma2, width), depth=depth)

    def draw(self, n: int, rng: Generator) -> Ids:
        """Draw n whole numbers."""
        if self._width == 1:
            return self._top.draw(n, rng)
        if n <= SINGLE:
            return np.array([self._one(rng) for _ in range(n)], dtype=np.int64)
        drawn = np.empty(n, dtype=np.int64)
        open_ = np.arange(n)
        while len(open_):
            values, kept = self._try(len(open_), rng)
            drawn[open_[kept]] = values[kept]
            open_ = open_[~kept]
        return drawn

    def _one(self, rng: Generator) -> int:
        """Draw one number as `_try` does, without arrays; one call gives all words of a try."""
        while True:
            fresh: list[int] = words(3, rng).tolist()
            top = self._top.one(fresh[0], rng)
            negative, block = top & 1, top >> 1
            r = fresh[1] & (self._width - 1)  # the width is a power of two
            base = block * self._width + negative
            exponent = r * (2 * base + r)
            near, p = fresh[2] * 2.0**-64, math.exp(-exponent / self._double)
            kept = near < p
            if abs(near - p) <= self._margin:
                exact = exponent / (2 * self._sigma2)
                kept = decide(fresh[2], 64, lambda bits, e=exact: exp_minus(e, bits), rng)  # type: ignore[misc]
            if kept:
                return (block * self._width + r) ^ -negative

    def _try(self, n: int, rng: Generator) -> tuple[Ids, NDArray[np.bool_]]:
        top = self._top.draw(n, rng)
        negative, blocks = top & 1, top >> 1
        if n and int(blocks.max()) * self._width >= 2**62:
            raise ParameterError("The noise is too large for whole numbers of 64 bits.")
        r = rng.integers(0, self._width, n)
        base = blocks * self._width + negative
        double = 2 * self._sigma2

        def exact(i: int) -> Fraction:
            return int(r[i]) * (2 * int(base[i]) + int(r[i])) / double

        x = r.astype(np.float64) * (2.0 * base + r) / float(double)
        kept = filtered(x, exact, rng, self._margin)
        return (blocks * self._width + r) ^ -negative, kept


@lru_cache(maxsize=64)
def gaussian_of(sigma2: Fraction) -> Gaussian:
    """Return the tables of a sigma^2; those of the last ones are kept."""
    return Gaussian(sigma2)


def discrete_gaussian(sigma2: Fraction, n: int, rng: Generator) -> Ids:
    """Draw n whole numbers z with P(z) proportional to e^(-z^2 / (2 sigma2)).

    >>> from veil.core.rng import generator
    >>> discrete_gaussian(Fraction(1, 100), 3, generator(1)).tolist()
    [0, 0, 0]
    """
    return gaussian_of(sigma2 if type(sigma2) is Fraction else Fraction(sigma2)).draw(n, rng)
