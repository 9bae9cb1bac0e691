"""Messages of the protocol, how they are read, and connections that carry them.

A frame is ``VEIL1``, the kind of message (one byte), the label of the round, and the fields in
order. Numbers are little-endian; whatever has a length says it first, and is refused where the
frame is shorter. Nothing is ever executed or looked up by name.

Frames over a TCP connection: the length first, bounded, and within a time.
A frame has 4 bytes of length (little-endian, at most 64 MiB) and then as many bytes. The time is
for a whole frame: a peer that sends a byte now and then does not prolong it.
"""

import socket
import struct
import time
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from veil.ratings.federated.primitives import ProtocolError, VoidError, Words

MOST = 64 * 2**20  # bytes of a frame
_BROKEN = "A message is cut off or garbled; the other side is refused."


def frame(octets: bytes) -> bytes:
    """Return bytes with their length before them."""
    return struct.pack("<I", len(octets)) + octets


class Reader:
    """Takes one field after the other from a frame."""

    def __init__(self, frame: memoryview) -> None:
        if len(frame) > MOST:
            raise ProtocolError("A message has more than 64 MiB; the other side is refused.")
        self._frame, self._at = frame, 0

    def _take(self, size: int) -> memoryview:
        if size > len(self._frame) - self._at:
            raise ProtocolError(_BROKEN)
        part = self._frame[self._at : self._at + size]
        self._at += size
        return part

    def magic(self, wanted: bytes) -> int:
        """Check the first bytes, and return the kind after them."""
        if self._take(len(wanted)) != wanted:
            raise ProtocolError("The other side does not speak this protocol; it is refused.")
        return self._take(1)[0]

    def number(self) -> int:
        """Return a whole number of 32 bits."""
        return int(struct.unpack("<I", self._take(4))[0])

    def octets(self) -> bytes:
        """Return bytes."""
        return bytes(self._take(self.number()))

    def text(self) -> str:
        """Return a text in UTF-8."""
        try:
            return self.octets().decode()
        except UnicodeDecodeError:
            raise ProtocolError(_BROKEN) from None

    def numbers(self) -> tuple[int, ...]:
        """Return whole numbers."""
        count = self.number()
        return struct.unpack(f"<{count}I", self._take(4 * count))

    def parcels(self) -> dict[int, bytes]:
        """Return bytes by number; a number that is given twice is refused."""
        count = self.number()
        if 8 * count > len(self._frame) - self._at:
            raise ProtocolError(_BROKEN)
        found = {}
        for _ in range(count):
            number = self.number()
            found[number] = self.octets()
        if len(found) < count:
            raise ProtocolError(_BROKEN)
        return found

    def words(self) -> NDArray[np.uint64]:
        """Return words of 64 bits, in memory of their own."""
        part = self._take(self.number())
        if len(part) % 8:
            raise ProtocolError(_BROKEN)
        return np.frombuffer(part, dtype="<u8").astype(np.uint64)

    def end(self) -> None:
        """Refuse what follows the last field."""
        if self._at != len(self._frame):
            raise ProtocolError(_BROKEN)


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
    parts = [_MAGIC, bytes([KINDS.index(type(message))]), frame(label)]
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
        return frame(value)
    if isinstance(value, str):
        return frame(value.encode())
    if isinstance(value, np.ndarray):
        return frame(value.astype("<u8", copy=False).tobytes())
    if isinstance(value, tuple):
        return struct.pack(f"<I{len(value)}I", len(value), *value)
    assert isinstance(value, dict)  # noqa: S101 - the fields of messages are of these types
    pieces = [struct.pack("<I", number) + frame(octets) for number, octets in value.items()]
    return struct.pack("<I", len(value)) + b"".join(pieces)


M = TypeVar("M", bound=Message)
_PIECE = 2**20


class Connection:
    """A connection to one party; `sent` and `received` count bytes with their lengths."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self.sent = self.received = 0
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Message, label: bytes, seconds: float) -> None:
        """Send a message of one round."""
        frame = encode(message, label)
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(struct.pack("<I", len(frame)))
            self._socket.sendall(frame)
        except OSError:
            raise ProtocolError("The other side is gone, or reads nothing.") from None
        self.sent += 4 + len(frame)

    def receive(
        self, kinds: type[M] | tuple[type[M], ...], label: bytes, seconds: float, *other: bytes
    ) -> M:
        """Wait for a message of one of these kinds, of this round or an `other`; else raise."""
        until = time.monotonic() + seconds
        (size,) = struct.unpack("<I", self._read(4, until))
        if size > MOST:
            raise ProtocolError("A message has more than 64 MiB; the other side is refused.")
        message = decode(self._read(size, until), label, *other)
        self.received += 4 + size
        if isinstance(message, Void):
            raise VoidError("Too few clients are left: the round is void, and nothing was opened.")
        if not isinstance(message, kinds):
            raise ProtocolError("A message came out of turn; the other side is refused.")
        return message

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _read(self, size: int, until: float) -> bytearray:
        found = bytearray()  # grows with what arrives, and not with what is announced
        while len(found) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise ProtocolError("The other side did not answer in time.")
            try:
                self._socket.settimeout(left)
                piece = self._socket.recv(min(_PIECE, size - len(found)))
            except TimeoutError:
                raise ProtocolError("The other side did not answer in time.") from None
            except OSError:
                raise ProtocolError("The other side is gone.") from None
            if not piece:
                raise ProtocolError("The other side is gone.")
            found += piece
        return found


def dial(host: str, port: int, seconds: float) -> Connection:
    """Call a server."""
    try:
        return Connection(socket.create_connection((host, port), timeout=seconds))
    except OSError:
        raise ProtocolError("Nobody answers at that address and port.") from None


def listen(host: str, port: int, clients: int) -> socket.socket:
    """Open a port; the loopback address can be reached from this machine alone."""
    try:
        return socket.create_server((host, port), backlog=min(clients, 1024))
    except OSError:
        raise ProtocolError(
            f"The port {port:,} cannot be opened at that address; choose another."
        ) from None
