"""Hashes of users and items that do not depend on the order of rows or on who computes them."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_GOLDEN, _FIRST, _SECOND = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBF58476D1CE4E5B9),
    np.uint64(0x94D049BB133111EB),
)


def mix(words: Words) -> Words:
    """Return SplitMix64 of each word, modulo 2^64."""
    x = words + _GOLDEN
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return np.asarray(x ^ (x >> np.uint64(31)), dtype=np.uint64)


def id_hashes(ids: Sequence[str]) -> Words:
    """Return H(id) (n,): the little-endian BLAKE2b-64 of each id."""
    digests = b"".join(blake2b(one.encode(), digest_size=8).digest() for one in ids)
    return np.frombuffer(digests, dtype="<u8").astype(np.uint64)


def pair_hashes(users: Words, items: Words, salt: int) -> Words:
    """Return h(u, i) = mix(H(u) ^ mix(H(i) ^ salt)) of pairs of hashes of ids."""
    return mix(users ^ mix(items ^ np.uint64(salt)))
