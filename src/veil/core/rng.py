"""Where randomness comes from.

By default from a counter-mode AES-128 generator keyed with 128 fresh bits of the operating
system, made anew for every release: no random state is shared between calls, threads or workers.
A seed gives the same generator in a repeatable state, which is for experiments and never private.
"""

import secrets

import numpy as np
from numpy.random import Generator
from randomgen import AESCounter

from veil.core.errors import ParameterError

Randomness = Generator | int | None


def generator(rng: Randomness = None) -> Generator:
    """Return a generator: fresh (None), repeatable (an integer), or the caller's own.

    >>> int(generator(7).integers(100)) == int(generator(7).integers(100))
    True
    """
    if rng is None:
        return Generator(AESCounter(key=secrets.randbits(128)))
    if isinstance(rng, Generator):
        return rng
    return stream(rng, 0)


def stream(seed: int | None, index: int) -> Generator:
    """Return stream `index` of a seed; streams are independent, whatever the number of workers."""
    if seed is None:
        return generator(None)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ParameterError(
            "The 'rng' argument must be None, a NumPy Generator or a whole number >= 0."
            f" Got {type(seed).__name__} instead."
        )
    sequence = np.random.SeedSequence(int(seed), spawn_key=(index,))
    return Generator(AESCounter(sequence))
