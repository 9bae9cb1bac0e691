"""Texts as numbers of 64 bits, and their positions under many hash functions.

A text is the little-endian BLAKE2b-64 of its UTF-8 bytes. Its position under hash function j is
``mix(h + G (j + 1)) mod width``, where mix is the finaliser of splitmix64, all modulo 2^64: one
BLAKE2b for each text, and a few operations on arrays for each hash function.

References
----------
Aumasson, Neves, Wilcox-O'Hearn, Winnerlein. BLAKE2. RFC 7693.
Steele, Lea, Flood. Fast Splittable Pseudorandom Number Generators. OOPSLA 2014, Figure 17.
doi:10.1145/2660193.2660195
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def text_hash(text: str) -> int:
    """Return the number of a text.

    >>> text_hash("melanoma")
    15126047331207042889
    """
    try:
        octets = text.encode("utf-8")
    except (AttributeError, UnicodeError):
        raise InputError(
            "A value must be a text, without lone surrogates; convert numbers with str() first."
        ) from None
    return octet_hash(octets)


def octet_hash(octets: bytes) -> int:
    """Return the number of some bytes."""
    return int.from_bytes(blake2b(octets, digest_size=8).digest(), "little")


class _Known(dict[str, int]):
    """Numbers of texts, each computed once."""

    def __missing__(self, text: str) -> int:
        self[text] = number = text_hash(text)
        return number


def text_hashes(texts: Iterable[str]) -> Words:
    """Return the numbers of texts (n,)."""
    given = texts.tolist() if isinstance(texts, np.ndarray) else texts
    try:
        return np.fromiter(map(_Known().__getitem__, given), dtype=np.uint64)
    except TypeError:  # what cannot be a key is no text either
        raise InputError("Values must be texts, in a list or an array.") from None


def positions(numbers: Words, functions: NDArray[Any], width: int) -> Ids:
    """Return where texts stand under hash functions: arrays are matched as NumPy does.

    >>> positions(text_hashes(["melanoma"]), np.arange(4), 1024).tolist()
    [159, 928, 846, 554]
    """
    steps = functions.astype(np.uint64) + np.uint64(1)
    z = numbers + steps * _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    z ^= z >> np.uint64(31)
    if width & (width - 1):
        z %= np.uint64(width)
    else:
        z &= np.uint64(width - 1)
    where: Ids = z.astype(np.int64)
    return where
