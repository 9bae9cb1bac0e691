"""Samplers that claim more than they keep, and the right ones beside them."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from veil.dp.exact.samplers import discrete_laplace

EPSILON = 1.0


class Sampler(NamedTuple):
    """A sampler, and two neighbouring inputs; all claim an epsilon of 1."""

    draw: Callable[[Any, int, Generator], Any]
    one: object
    other: object


def _noise(scale: float, shape: tuple[int, ...], rng: Generator) -> Any:  # noqa: ANN401
    return discrete_laplace(Fraction(scale), int(np.prod(shape)), rng).reshape(shape)


def right(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    return np.floor(np.asarray(x) + 0.5) + _noise(1, (n, *np.shape(x)), rng)


def half_noise(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    return x + _noise(0.5, (n, *np.shape(x)), rng)


def half_even(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    return np.rint(x) + _noise(1, (n, *np.shape(x)), rng)


def non_zero(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    """Releases a histogram; a key that nobody has stays 0."""
    values = np.asarray(x)
    return np.where(values == 0, 0, values + _noise(1, (n, *values.shape), rng))


def no_cutoff(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    """The noise of one answer above, and no end."""
    queries = np.asarray(x)
    return queries + _noise(4, (n, len(queries)), rng) >= _noise(2, (n, 1), rng)


def cutoff(x: Any, n: int, rng: Generator) -> Any:  # noqa: ANN401
    above = no_cutoff(x, n, rng)
    ended = np.cumsum(above, axis=1) - above >= 1
    return np.where(ended, -1, above)


BROKEN = {
    "half noise": Sampler(half_noise, 10, 11),
    "half noise on a histogram": Sampler(half_noise, [5, 0, 3, 9], [5, 0, 4, 9]),
    "half to even": Sampler(half_even, 0.5, 1.5),
    "half to even in a row": Sampler(half_even, [0.25, 3.5, 7.0], [0.25, 2.5, 7.0]),
    "no cutoff": Sampler(no_cutoff, [0] * 16, [1] * 8 + [-1] * 8),
    "noise only on what is not 0": Sampler(non_zero, [4, 0, 7], [4, 1, 7]),
}
RIGHT = {
    "a count": Sampler(right, 10, 11),
    "a histogram": Sampler(right, [5, 0, 3, 9], [5, 0, 4, 9]),
    "floor": Sampler(right, 0.5, 1.5),
    "a wide histogram": Sampler(right, [0] * 30, [0] * 29 + [1]),
    "cutoff": Sampler(cutoff, [0] * 16, [1] * 8 + [-1] * 8),
}
