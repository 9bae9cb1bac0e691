r"""Masks that cancel in a sum: one for each pair of clients, and one of each client's own.

.. math:: y_u = x_u + \mathrm{PRG}(b_u)
   + \sum_{v} \pm \mathrm{PRG}(k_{uv}) \bmod 2^{64}

plus for whose public key is the smaller of the two. k is HKDF-SHA256 of the secret that the two
agree on; PRG is the key stream of ChaCha20 in little-endian words.

References
----------
Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS 2017,
section 4 (double masking).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.ratings.federated.primitives import Agreement, derived, key_stream

Words = NDArray[np.uint64]
_PAIR = b"veil/secure-sum/1/pair"
_BLOCK = 4096  # words at a time: the streams of all peers are added up within the cache
_ZEROS = bytes(8 * _BLOCK)


def pair_key(private: Agreement, own: bytes, other: bytes, label: bytes) -> bytes:
    """Return the key that two clients have in common in one round, by one's private key."""
    smaller, larger = sorted((own, other))
    return derived(private.secret(other), _PAIR + label + smaller + larger)


def is_added(own: bytes, other: bytes) -> bool:
    """Tell whether a client adds the stream of a pair; its peer then takes it off."""
    return own < other


def add_streams(total: Words, added: Sequence[bytes], removed: Sequence[bytes] = ()) -> None:
    """Add the streams of keys to words (m,) in place, and take others off, modulo 2^64."""
    plus, minus = ([key_stream(key) for key in keys] for keys in (added, removed))
    room = bytearray(8 * _BLOCK)
    all_words = np.frombuffer(room, dtype="<u8")
    for start in range(0, len(total), _BLOCK):
        part = total[start : start + _BLOCK]
        zeros, words = _ZEROS[: 8 * len(part)], all_words[: len(part)]
        for stream in plus:
            stream.update_into(zeros, room)
            part += words
        for stream in minus:
            stream.update_into(zeros, room)
            part -= words
