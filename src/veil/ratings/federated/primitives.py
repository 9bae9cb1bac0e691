r"""Keys, seals, signatures, secret shares, masks, and numbers on a grid.

X25519 agrees on a secret, HKDF-SHA256 makes keys of it, ChaCha20-Poly1305 seals what a third
party carries, and Ed25519 signs.

A secret in n shares, of which any t give it back and t - 1 say nothing.

.. math:: f(x) = s + a_1 x + \dots + a_{t-1} x^{t-1} \bmod 2^{521} - 1,
   \quad \text{share of } x = f(x)

The coefficients are uniform. Proved: t - 1 shares have the same law for every secret.

References
----------
Shamir. How to Share a Secret. Communications of the ACM 22(11), 1979.

Masks that cancel in a sum: one for each pair of clients, and one of each client's own.

.. math:: y_u = x_u + \mathrm{PRG}(b_u)
   + \sum_{v} \pm \mathrm{PRG}(k_{uv}) \bmod 2^{64}

plus for whose public key is the smaller of the two. k is HKDF-SHA256 of the secret that the two
agree on; PRG is the key stream of ChaCha20 in little-endian words.

References
----------
Bonawitz et al. Practical Secure Aggregation for Privacy-Preserving Machine Learning. CCS 2017,
section 4 (double masking).

Updates as whole numbers on a grid, whose norm is bounded exactly.
An update is scaled down to an L2 norm of `clip`, put in units of clip / 2^20, and cut off towards
0, which makes no norm larger. The bound that a guarantee needs is then checked with integers.
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
    """A party does not follow the protocol, or too few are left; no secret is ever quoted."""


class VoidError(ProtocolError):
    """Too few clients are left in a round; the next one may be well."""


KEY = 32  # bytes of every key and seed
SIGNATURE = 64
_NONCE = bytes(12)  # a key seals one message


def random_key() -> bytes:
    """Return 32 bytes of the operating system: a private key, or a seed."""
    return secrets.token_bytes(KEY)


def public_of(private: bytes) -> bytes:
    """Return the public X25519 key."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


class Agreement:
    """One party's private key, made ready once for many others."""

    def __init__(self, private: bytes) -> None:
        self._private = X25519PrivateKey.from_private_bytes(private)

    def secret(self, public: bytes) -> bytes:
        """Return the secret of two parties; a key that would make it known to all is refused."""
        try:
            return self._private.exchange(X25519PublicKey.from_public_bytes(public))
        except ValueError:
            raise ProtocolError("A public key of the round is not one; it is left.") from None


def is_public(key: bytes) -> bool:
    """Tell whether a key is one, and makes no secret that is known to all."""
    try:
        Agreement(random_key()).secret(key)
    except ProtocolError:
        return False
    return True


def derive_key(secret: bytes, info: bytes) -> bytes:
    """Return a key of 32 bytes for one use, by HKDF-SHA256 without salt."""
    return HKDF(algorithm=SHA256(), length=KEY, salt=None, info=info).derive(secret)


def key_stream(key: bytes) -> CipherContext:
    """Return ChaCha20 from its first block on, with 16 zero bytes as counter and nonce."""
    return Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()


def seal(key: bytes, message: bytes, about: bytes) -> bytes:
    """Encrypt the one message of a key, bound to what it is about."""
    return ChaCha20Poly1305(key).encrypt(_NONCE, message, about)


def unseal(key: bytes, sealed: bytes, about: bytes) -> bytes:
    """Decrypt a message that nobody changed."""
    try:
        return ChaCha20Poly1305(key).decrypt(_NONCE, sealed, about)
    except (InvalidTag, ValueError):
        raise ProtocolError(
            "A sealed share was changed on its way, or its sender was told other terms; the round"
            " is left."
        ) from None


def signing_public(private: bytes) -> bytes:
    """Return the public Ed25519 key."""
    return Ed25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def signature(private: bytes, statement: bytes) -> bytes:
    """Sign a statement."""
    return Ed25519PrivateKey.from_private_bytes(private).sign(statement)


def is_signed(public: bytes, statement: bytes, signed: bytes) -> bool:
    """Tell whether who holds a key signed a statement."""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signed, statement)
    except (InvalidSignature, ValueError):
        return False
    return True


_NAME = b"veil/secure-sum/1/"


def _told(meaning: bytes, label: bytes, *parts: bytes) -> bytes:
    """Join parts with their lengths, so that no two lists of parts give the same bytes."""
    pieces = [struct.pack("<I", len(part)) + part for part in (label, *parts)]
    return _NAME + meaning + b"".join(pieces)


def of_keys(label: bytes, number: int, sealing: bytes, masking: bytes) -> bytes:
    """Return what a client signs about its keys."""
    return _told(b"keys", label, struct.pack("<I", number), sealing, masking)


def of_survivors(label: bytes, roster: bytes, survivors: Sequence[int]) -> bytes:
    """Return what a client signs about who survived, of a roster by its digest.

    The roster has keys that this round made: signatures of another round never fit, though the
    server gave it the same label.
    """
    told = struct.pack(f"<{len(survivors)}I", *sorted(survivors))
    return _told(b"survivors", label, roster, told)


def roster_digest(
    label: bytes, sealing: Mapping[int, bytes], masking: Mapping[int, bytes]
) -> bytes:
    """Return the digest of all keys of a round."""
    parts = [
        struct.pack("<I", number) + sealing[number] + masking[number] for number in sorted(masking)
    ]
    return hashlib.sha256(_told(b"roster", label, *parts)).digest()


def of_parcel(label: bytes, sender: int, receiver: int) -> bytes:
    """Return what a sealed share is about, which also makes the key of the one direction."""
    return _told(b"parcel", label, struct.pack("<II", sender, receiver))


def digest_of(label: bytes, number: int, seed: bytes) -> bytes:
    """Return by what a server tells whether shares gave back the seed of a client."""
    return hashlib.sha256(_told(b"seed", label, struct.pack("<I", number), seed)).digest()


PRIME = 2**521 - 1
SIZE = 66  # bytes of a share
_SECRET = 64  # bytes of a secret, at most: fewer than those of the prime


def share(secret: bytes, threshold: int, places: Sequence[int]) -> dict[int, bytes]:
    """Return the share of each place x >= 1; `threshold` of them give the secret back."""
    if not 1 <= threshold <= len(places) or len(secret) > _SECRET:
        raise ParameterError("A secret of at most 64 bytes has from 1 to all shares as threshold.")
    if min(places) < 1 or len(set(places)) < len(places):
        raise ParameterError("The places of shares are different whole numbers from 1 on.")
    rest = [secrets.randbelow(PRIME) for _ in range(threshold - 1)]
    return {x: _value(secret, rest, x).to_bytes(SIZE, "big") for x in places}


def _value(secret: bytes, rest: list[int], x: int) -> int:
    value = 0
    for coefficient in rest:  # x is small: one reduction at the end is quicker than one a step
        value = (value + coefficient) * x
    return (value + int.from_bytes(secret, "big")) % PRIME


def weights(places: Sequence[int]) -> dict[int, int]:
    """Return what each share is multiplied by to give f(0), for one set of places."""
    if len(set(places)) < len(places):
        raise ProtocolError("The shares of a secret must stand at different places.")
    found = {}
    for x in places:
        above = below = 1
        for other in places:
            if other != x:
                above, below = above * other % PRIME, below * (other - x) % PRIME
        found[x] = above * pow(below, -1, PRIME) % PRIME
    return found


def combine(shares: Mapping[int, bytes], weighed: Mapping[int, int], size: int = 32) -> bytes:
    """Return the secret of `size` bytes behind shares at the places of `weighed`."""
    total = 0
    for x, weight in weighed.items():
        value = int.from_bytes(shares[x], "big")
        if len(shares[x]) != SIZE or value >= PRIME:
            raise ProtocolError("A share of a secret is not one; the sum cannot be opened.")
        total += weight * value
    secret = total % PRIME
    if secret >> (8 * size):
        raise ProtocolError("The shares of a secret do not fit together; nothing was opened.")
    return secret.to_bytes(size, "big")


Words = NDArray[np.uint64]
_PAIR = b"veil/secure-sum/1/pair"
_BLOCK = 4096  # words at a time: the streams of all peers are added up within the cache
_ZEROS = bytes(8 * _BLOCK)


def pair_key(private: Agreement, own: bytes, other: bytes, label: bytes) -> bytes:
    """Return the key that two clients have in common in one round, by one's private key."""
    smaller, larger = sorted((own, other))
    return derive_key(private.secret(other), _PAIR + label + smaller + larger)


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


STEPS = 2**20  # of the grid, in a norm of `clip`
_BELOW = STEPS * (1 - 2.0**-40)  # whatever floats round up stays below


def whole(rows: Floats, starts: Ids, clip: float) -> Ids:
    """Return the updates of users as whole numbers; `starts` is where the rows of each begin.

    Each user has at least one row. The norm of each update is at most `STEPS`.
    """
    norms = np.sqrt(np.add.reduceat(np.square(rows).sum(axis=1), starts))
    if not np.isfinite(norms).all():
        raise InputError("An update is not finite; choose a smaller step or a larger ridge.")
    factors = _BELOW / np.maximum(norms, clip)
    counts = np.diff(np.append(starts, len(rows)))
    steps = np.trunc(rows * np.repeat(factors, counts)[:, None]).astype(np.int64)
    squares = np.add.reduceat(np.square(steps).sum(axis=1), starts)
    if int(squares.max()) > STEPS**2:
        raise InputError("An update is longer than its bound; nothing is sent.")
    return steps


def words_of(steps: Ids, clients: int) -> Words:
    """Return whole numbers as words, if the sum over all clients stays within 63 bits."""
    room = (2**63 - 1) // clients
    if steps.size and not -room <= int(steps.min()) <= int(steps.max()) <= room:
        raise ParameterError(
            "A number is too large for a sum of 64 bits; choose less noise or fewer clients."
        )
    return np.ascontiguousarray(steps, dtype=np.int64).view(np.uint64)


def number_of(total: Words, clip: float) -> Floats:
    """Return a sum of words as the numbers that it stands for."""
    return total.view(np.int64).astype(np.float64) * (clip / STEPS)
