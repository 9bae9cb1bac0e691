"""Represent real numbers as integer steps of a grid that depends only on parameters."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids

_LIMIT = 2**53  # integers that a double represents exactly
_NOT_FINITE = "A value to release must be a finite number."
_TOO_LARGE = "A value is too large for the grid of the noise: it would need more than 2^53 steps."


def exact(x: float) -> Fraction:
    """Return the exact value of a float.

    >>> exact(0.1) == Fraction(1, 10)
    False
    """
    return Fraction(x)


@lru_cache(maxsize=1024)
def ratio(a: float, b: float) -> Fraction:
    """Return the exact quotient of two floats."""
    return Fraction(a) / Fraction(b)


def grid(scale: Fraction, bits: int = 20) -> Fraction:
    """Return the largest power of two that is at most scale / 2^bits.

    >>> grid(Fraction(3), bits=0)
    Fraction(2, 1)
    """
    target = Fraction(scale) / 2**bits
    power = target.numerator.bit_length() - target.denominator.bit_length()
    step = Fraction(1 << max(0, power), 1 << max(0, -power))
    while step > target:
        step /= 2
    return step * 2 if 2 * step <= target else step


def steps(x: Floats, g: Fraction) -> Ids:
    """Round numbers to steps of the grid: floor(x/g + 1/2), never half to even.

    Two numbers that differ by d then differ by at most ceil(d/g) steps.

    >>> steps(np.array([0.5, 1.5, -0.5]), Fraction(1)).tolist()
    [1, 2, 0]
    """
    values = np.asarray(x, dtype=np.float64)
    if values.ndim == 0:
        return np.asarray(_step(float(values), _exponent(g)), dtype=np.int64)
    if not np.isfinite(values).all():
        raise InputError(_NOT_FINITE)
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(values, -_exponent(g))
    if (np.abs(scaled) >= _LIMIT).any():
        raise InputError(_TOO_LARGE)
    below = np.floor(scaled)
    rounded: Ids = (below + (scaled - below >= 0.5)).astype(np.int64)
    return rounded


def _step(x: float, exponent: int) -> int:
    """Round one number like `steps`, without the overhead of arrays."""
    if not math.isfinite(x):
        raise InputError(_NOT_FINITE)
    try:
        scaled = math.ldexp(x, -exponent)
    except OverflowError:
        scaled = math.inf
    if abs(scaled) >= _LIMIT:
        raise InputError(_TOO_LARGE)
    below = math.floor(scaled)
    return below + (scaled - below >= 0.5)


def unsteps(k: Ids, g: Fraction) -> Floats:
    """Return k steps of the grid as numbers, exactly, or raise InputError."""
    if k.size == 1 and abs(single := int(k.item())) < _LIMIT:
        return np.array(math.ldexp(single, _exponent(g))).reshape(k.shape)
    if (np.abs(k) >= _LIMIT).any():
        raise InputError("A released value would need more than 2^53 steps of its grid.")
    return np.ldexp(np.asarray(k, dtype=np.float64), _exponent(g))


def _exponent(g: Fraction) -> int:
    """Return e for g = 2^e."""
    return g.numerator.bit_length() - g.denominator.bit_length()
