r"""Keys, seals, signatures, secret shares, masks, and numbers on a grid.

X25519 agrees on a secret, HKDF-SHA256 derives keys from it, ChaCha20-Poly1305 seals messages that
a third party carries, and Ed25519 signs.

*Secret sharing.* A secret has n shares; any t recover it, and t - 1 reveal nothing.

.. math:: f(x) = s + a_1 x + \dots + a_{t-1} x^{t-1} \bmod 2^{521} - 1,
   \quad \text{share of } x = f(x)

The coefficients are uniform. Proved: t - 1 shares have the same distribution for every secret.

References
----------
Shamir. How to Share a Secret. Communications of the ACM 22(11), 1979.

*Masks* that cancel in a sum: one for each pair of clients, and one of each client alone.

.. math:: y_u = x_u + \mathrm{PRG}(b_u)
   + \sum_{v} \pm \mathrm{PRG}(k_{uv}) \bmod 2^{64}

plus for the client whose public key is the smaller of the two. k is HKDF-SHA256 of the secret that
both agree on; PRG is the key stream of ChaCha20 in little-endian words.

References
----------
Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS 2017,
section 4 (double masking).

*Grid.* Updates become integers with an exactly bounded norm. An update is scaled down to an L2
norm of `clip`, put in units of clip / 2^20, and truncated towards 0, which increases no norm. The
bound that a guarantee needs is then checked with integers.
"""

import hashlib
import secrets
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, MissingExtraError, ParameterError, VeilError
from veil.core.types import Floats, Ids

try:
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError as error:
    raise MissingExtraError(
        "The secure sum needs cryptography: pip install 'veil[ratings]'."
    ) from error


class ProtocolError(VeilError):
    """A party breaks the protocol, or too few are left; no message quotes a secret."""


class VoidError(ProtocolError):
    """Too few clients are left in a round; the next round may succeed."""


KEY = 32  # bytes of every key and seed
SIGNATURE = 64
_NONCE = bytes(12)  # a key seals one message


def random_key() -> bytes:
    """Return 32 bytes from the operating system: a private key, or a seed."""
    return secrets.token_bytes(KEY)


def public_of(private: bytes) -> bytes:
    """Return the public X25519 key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


class Agreement:
    """One party's private key, loaded once for many peers."""

    def __init__(self, private: bytes) -> None:
        self._private = X25519PrivateKey.from_private_bytes(private)

    def secret(self, public: bytes) -> bytes:
        """Return the secret of two parties; raise for a key that would make it public."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise ProtocolError("A public key is invalid. This client leaves the round.") from None


def is_public(key: bytes) -> bool:
    """Return whether a public key is valid and gives secrets that are not public."""
    try:
        Agreement(random_key()).secret(key)
    except ProtocolError:
        return False
    return True


def derive_key(secret: bytes, info: bytes) -> bytes:
    """Return a key of 32 bytes for one use, by HKDF-SHA256 without salt."""
    return HKDF(algorithm=SHA256(), length=KEY, salt=None, info=info).derive(secret)


def key_stream(key: bytes) -> CipherContext:
    """Return the ChaCha20 key stream from its first block on, with counter and nonce 0."""
    return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()


def seal(key: bytes, message: bytes, about: bytes) -> bytes:
    """Encrypt the only message of a key, bound to its context `about`."""
    return ChaCha20Poly1305(key).encrypt(_NONCE, message, about)


def unseal(key: bytes, sealed: bytes, about: bytes) -> bytes:
    """Decrypt a message, or raise if it was changed."""
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, sealed, about)
    except (InvalidTag, ValueError):
        raise ProtocolError(
            "A sealed share was changed in transit, or its sender has other terms. This client"
            " leaves the round."
        ) from None


def signing_public(private: bytes) -> bytes:
    """Return the public Ed25519 key."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def signature(private: bytes, statement: bytes) -> bytes:
    """Return the Ed25519 signature of a statement."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(statement)


def is_signed(public: bytes, statement: bytes, signed: bytes) -> bool:
    """Return whether the owner of a key signed a statement."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signed, statement)
    except (InvalidSignature, ValueError):
        return False
    return True


_NAME = b"veil/secure-sum/1/"


def _statement(meaning: bytes, label: bytes, *parts: bytes) -> bytes:
    """Join parts with their lengths, so that different lists of parts give different bytes."""
    pieces = [struct.pack("<I", len(part)) + part for part in (label, *parts)]
    return _NAME + meaning + b"".join(pieces)


def of_keys(label: bytes, number: int, sealing: bytes, masking: bytes) -> bytes:
    """Return the statement about a client's keys that it signs."""
    return _statement(b"keys", label, struct.pack("<I", number), sealing, masking)


def of_survivors(label: bytes, roster: bytes, survivors: Sequence[int]) -> bytes:
    """Return the statement about the survivors of a roster (by digest) that a client signs.

    The roster has fresh keys of this round, so signatures of another round never fit, even if the
    server reused its label.
    """
    packed = struct.pack(f"<{len(survivors)}I", *sorted(survivors))
    return _statement(b"survivors", label, roster, packed)


def roster_digest(
    label: bytes, sealing: Mapping[int, bytes], masking: Mapping[int, bytes]
) -> bytes:
    """Return the digest of all keys of a round."""
    parts = [
        struct.pack("<I", number) + sealing[number] + masking[number] for number in sorted(masking)
    ]
    return hashlib.sha256(_statement(b"roster", label, *parts)).digest()


def of_parcel(label: bytes, sender: int, receiver: int) -> bytes:
    """Return the context of a sealed share, which also separates the keys of both directions."""
    return _statement(b"parcel", label, struct.pack("<II", sender, receiver))


def digest_of(label: bytes, number: int, seed: bytes) -> bytes:
    """Return the digest by which a server checks that shares recovered a client's seed."""
    return hashlib.sha256(_statement(b"seed", label, struct.pack("<I", number), seed)).digest()


PRIME = 2**521 - 1
SIZE = 66  # bytes of a share
_SECRET = 64  # bytes maximum size of a secret: below that of the prime


def share(secret: bytes, threshold: int, places: Sequence[int]) -> dict[int, bytes]:
    """Return the share of each place x >= 1; `threshold` of them recover the secret."""
    if not 1 <= threshold <= len(places) or len(secret) > _SECRET:
        raise ParameterError(
            "A secret must have at most 64 bytes and a threshold of 1 to all shares."
        )
    if min(places) < 1 or len(set(places)) < len(places):
        raise ParameterError("The places of shares must be distinct integers from 1 on.")
    rest = [secrets.randbelow(PRIME) for _ in range(threshold - 1)]
    return {x: _value(secret, rest, x).to_bytes(SIZE, "big") for x in places}


def _value(secret: bytes, rest: list[int], x: int) -> int:
    value = 0
    for coefficient in rest:  # x is small: one final reduction is faster than one per step
        value = (value + coefficient) * x
    return (value + int.from_bytes(secret, "big")) % PRIME


def weights(places: Sequence[int]) -> dict[int, int]:
    """Return the factor of each share in f(0), for one set of places."""
    if len(set(places)) < len(places):
        raise ProtocolError("The shares of a secret must have distinct places.")
    factors = {}
    for x in places:
        above = below = 1
        for other in places:
            if other != x:
                above, below = above * other % PRIME, below * (other - x) % PRIME
        factors[x] = above * pow(below, -1, PRIME) % PRIME
    return factors


def combine(shares: Mapping[int, bytes], weighed: Mapping[int, int], size: int = 32) -> bytes:
    """Return the secret of `size` bytes from the shares at the places of `weighed`."""
    total = 0
    for x, weight in weighed.items():
        value = int.from_bytes(shares[x], "big")
        if len(shares[x]) != SIZE or value >= PRIME:
            raise ProtocolError("A share of a secret is invalid. The sum cannot be opened.")
        total += weight * value
    secret = total % PRIME
    if secret >> (8 * size):
        raise ProtocolError("The shares of a secret do not fit together. Nothing was opened.")
    return secret.to_bytes(size, "big")


Words = NDArray[np.uint64]
_PAIR = b"veil/secure-sum/1/pair"
_BLOCK = 4096  # words at a time, so that all streams are summed within the cache
_ZEROS = bytes(8 * _BLOCK)


def pair_key(private: Agreement, own: bytes, other: bytes, label: bytes) -> bytes:
    """Return the common key of two clients in one round, from the private key of one."""
    smaller, larger = sorted((own, other))
    return derive_key(private.secret(other), _PAIR + label + smaller + larger)


def is_added(own: bytes, other: bytes) -> bool:
    """Return whether a client adds the stream of a pair, which its peer then subtracts."""
    return own < other


def add_streams(total: Words, added: Sequence[bytes], removed: Sequence[bytes] = ()) -> None:
    """Add the streams of some keys to words (m,) in place and subtract others, modulo 2^64."""
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


STEPS = 2**20  # grid steps in a norm of `clip`
_BELOW = STEPS * (1 - 2.0**-40)  # a margin for rounding errors


def whole(rows: Floats, starts: Ids, clip: float) -> Ids:
    """Return the updates of users as integers; `starts` is where the rows of each user begin.

    Each user has at least one row. The norm of each update is at most `STEPS`.
    """
    norms = np.sqrt(np.add.reduceat(np.square(rows).sum(axis=1), starts))
    if not np.isfinite(norms).all():
        raise InputError("An update is not finite. Use a smaller step or a larger ridge.")
    factors = _BELOW / np.maximum(norms, clip)
    counts = np.diff(np.append(starts, len(rows)))
    steps = np.trunc(rows * np.repeat(factors, counts)[:, None]).astype(np.int64)
    squares = np.add.reduceat(np.square(steps).sum(axis=1), starts)
    if int(squares.max()) > STEPS**2:
        raise InputError("An update is longer than its bound. Nothing is sent.")
    return steps


def words_of(steps: Ids, clients: int) -> Words:
    """Return integers as words, if the sum over all clients stays within 63 bits."""
    room = (2**63 - 1) // clients
    if steps.size and not -room <= int(steps.min()) <= int(steps.max()) <= room:
        raise ParameterError(
            "A number is too large for a 64-bit sum. Use less noise or fewer clients."
        )
    return np.ascontiguousarray(steps, dtype=np.int64).view(np.uint64)


def number_of(total: Words, clip: float) -> Floats:
    """Return the floats that a sum of words encodes."""
    return total.view(np.int64).astype(np.float64) * (clip / STEPS)
