"""Keys, seals and signatures; the only place that knows the library they come from.

X25519 agrees on a secret, HKDF-SHA256 makes keys of it, ChaCha20-Poly1305 seals what a third
party carries, and Ed25519 signs.
"""

import secrets

from veil.core.errors import MissingExtraError
from veil.ratings.federated.refusal import ProtocolError

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

KEY = 32  # bytes of every key and seed
SIGNATURE = 64
_NONCE = bytes(12)  # a key seals one message


def fresh() -> bytes:
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
        Agreement(fresh()).secret(key)
    except ProtocolError:
        return False
    return True


def derived(secret: bytes, info: bytes) -> bytes:
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
        raise ProtocolError("A sealed share was changed on its way; the round is left.") from None


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
