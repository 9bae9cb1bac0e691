"""Random generators, and the noise distributions that several packages use.

The default is a new AES-128 counter-mode generator for every release, keyed with 128 fresh bits
from the operating system: calls, threads and workers share no random state. With a seed the
generator is reproducible, which is for experiments and never private.
"""

import secrets
from typing import Any, cast

import numpy as np
from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Floats

Randomness = Generator | int | None


def generator(rng: Randomness = None) -> Generator:
    """Return a generator: fresh (None), reproducible (an integer), or the caller's own.

    >>> int(generator(7).integers(100)) == int(generator(7).integers(100))
    True
    """
    if rng is None:
        return Generator(_aes()(key=secrets.randbits(128)))
    if isinstance(rng, Generator):
        return rng
    return stream(rng, 0)


def stream(seed: int | None, index: int) -> Generator:
    """Return stream `index` of a seed. Streams are independent for any number of workers."""
    if seed is None:
        return generator(None)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(
            "The 'rng' argument must be None, a NumPy Generator or a whole number >= 0."
            f" Got {type(seed).__name__} instead."
        )
    sequence = np.random.SeedSequence(int(seed), spawn_key=(index,))
    return Generator(_aes()(sequence))


def _aes() -> type[Any]:
    from randomgen import AESCounter  # 40 modules, which most commands start without

    return cast(type[Any], AESCounter)


def sphere(count: int, dim: int, rng: Generator) -> Floats:
    """Draw `count` directions uniformly from the unit sphere of R^dim, as rows."""
    direction = rng.standard_normal((count, dim))
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    while not length.all():  # a row of length zero has no direction: redraw it
        bad = np.flatnonzero(length == 0)
        direction[bad] = rng.standard_normal((len(bad), dim))
        length = np.linalg.norm(direction, axis=1, keepdims=True)
    direction /= length
    return direction


def laplace_ball(count: int, dim: int, epsilon: float, rng: Generator) -> Floats:
    r"""Draw rows from the density :math:`p(z) \propto e^{-\varepsilon \lVert z \rVert_2}`.

    The radius is Gamma(dim, 1/epsilon), the direction uniform.
    """
    radius = rng.gamma(dim, 1 / epsilon, count)
    return radius[:, None] * sphere(count, dim, rng)
