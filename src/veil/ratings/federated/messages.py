"""What parties say to each other: typed frames in an encoding of their own, and bounded.

A frame is ``VEIL1``, the kind of message (one byte), the label of the round, and the fields in
order. Numbers are little-endian; whatever has a length says it first, and is refused where the
frame is shorter. Nothing is ever executed or looked up by name.
"""

import struct
from dataclasses import dataclass, fields

import numpy as np

from veil.ratings.federated.masks import Words
from veil.ratings.federated.reading import MOST, Reader, framed
from veil.ratings.federated.refusal import ProtocolError

_MAGIC = b"VEIL1"


class Message:
    """What is sent in one frame."""


@dataclass(frozen=True, repr=False)
class Keys(Message):
    """Two public keys of a client for one round, signed where keys are registered."""

    sealing: bytes
    masking: bytes
    signature: bytes


@dataclass(frozen=True, repr=False)
class Roster(Message):
    """Who takes part: the keys (and the signature) of each, and how many shares open a secret."""

    threshold: int
    sealing: dict[int, bytes]
    masking: dict[int, bytes]
    signatures: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Shares(Message):
    """Sealed shares for each peer, and a digest of the seed of the own mask."""

    parcels: dict[int, bytes]
    digest: bytes


@dataclass(frozen=True, repr=False)
class Parcels(Message):
    """Sealed shares from each peer."""

    parcels: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Masked(Message):
    """The masked input of a client."""

    words: Words


@dataclass(frozen=True, repr=False)
class Survivors(Message):
    """Whose masked input arrived."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Signed(Message):
    """A client's signature of the survivors; empty where keys are not registered."""

    signature: bytes


@dataclass(frozen=True, repr=False)
class Request(Message):
    """What shares are asked for: of seeds of survivors, of keys of those who dropped."""

    survivors: tuple[int, ...]
    dropped: tuple[int, ...]
    signatures: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Unmasked(Message):
    """Shares of the seeds of survivors, and of the mask keys of those who dropped."""

    seeds: dict[int, bytes]
    keys: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Hello(Message):
    """A client introduces itself: by a token, and by its registered key or none."""

    number: int
    token: bytes
    key: bytes


@dataclass(frozen=True, repr=False)
class Welcome(Message):
    """The server's terms as JSON, and the number of the client."""

    number: int
    terms: str


@dataclass(frozen=True, repr=False)
class Round(Message):
    """A round begins: its number from 0 on, and the model as 64-bit floats."""

    number: int
    model: bytes


@dataclass(frozen=True, repr=False)
class Absent(Message):
    """A client does not take part in this round."""


@dataclass(frozen=True, repr=False)
class Void(Message):
    """Too few are left of this round: nothing is opened."""


@dataclass(frozen=True, repr=False)
class Finish(Message):
    """There are no more rounds: the model, and how many rounds were void."""

    void: int
    model: bytes


KINDS: tuple[type[Message], ...] = (
    Keys, Roster, Shares, Parcels, Masked, Survivors, Signed, Request, Unmasked, Hello, Welcome,
    Round, Absent, Void, Finish,
)  # fmt: skip


def encode(message: Message, label: bytes) -> bytes:
    """Return the frame of a message of one round; one above the limit raises."""
    parts = [_MAGIC, bytes([KINDS.index(type(message))]), framed(label)]
    for field in fields(message):  # type: ignore[arg-type]
        value = getattr(message, field.name)
        parts.append(_written(value))
    size = sum(map(len, parts))
    if size > MOST:
        raise ProtocolError("A message would have more than 64 MiB; send fewer numbers a round.")
    return b"".join(parts)


def decode(frame: bytes | bytearray, *labels: bytes) -> Message:
    """Return the message of a frame; anything but a whole one of these rounds is refused."""
    reader = Reader(memoryview(frame))
    kind = reader.magic(_MAGIC)
    if kind >= len(KINDS):
        raise ProtocolError("A message is of a kind that is not known; the other side is refused.")
    if reader.octets() not in labels:
        raise ProtocolError("A message belongs to another round; the other side is refused.")
    cls = KINDS[kind]
    values = [_READERS[str(field.type)](reader) for field in fields(cls)]  # type: ignore[arg-type]
    reader.end()
    return cls(*values)


_READERS = {
    "<class 'int'>": Reader.number,
    "<class 'bytes'>": Reader.octets,
    "<class 'str'>": Reader.text,
    "tuple[int, ...]": Reader.numbers,
    "dict[int, bytes]": Reader.parcels,
    str(Words): Reader.words,
}


def _written(value: object) -> bytes:
    if isinstance(value, int):
        return struct.pack("<I", value)
    if isinstance(value, bytes):
        return framed(value)
    if isinstance(value, str):
        return framed(value.encode())
    if isinstance(value, np.ndarray):
        return framed(value.astype("<u8", copy=False).tobytes())
    if isinstance(value, tuple):
        return struct.pack(f"<I{len(value)}I", len(value), *value)
    assert isinstance(value, dict)  # noqa: S101 - the fields of messages are of these types
    pieces = [struct.pack("<I", number) + framed(octets) for number, octets in value.items()]
    return struct.pack("<I", len(value)) + b"".join(pieces)
