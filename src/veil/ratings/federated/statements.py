"""What is signed, sealed and digested, with the round and the meaning bound into it."""

import hashlib
import struct
from collections.abc import Mapping, Sequence

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
