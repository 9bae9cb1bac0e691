"""Messages of the protocol, their parser, and connections that carry them.

A frame is ``VEIL1``, the kind of message (one byte), the label of the round, and the fields in
order. Numbers are little-endian. Everything of variable length is preceded by its length and is
refused if the frame is shorter. Nothing is ever executed or looked up by name.

Over TCP, a frame is preceded by its length (4 bytes, little-endian, at most 64 MiB). The time
limit is for a whole frame: a peer that sends a byte now and then does not extend it.
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
_BROKEN = "A message is truncated or invalid. The other side is refused."


def frame(octets: bytes) -> bytes:
    """Return bytes preceded by their length."""
    return struct.pack("<I", len(octets)) + octets


class Reader:
    """Reads one field of a frame after the other."""

    def __init__(self, frame: memoryview) -> None:
        if len(frame) > MOST:
            raise ProtocolError("A message has more than 64 MiB. The other side is refused.")
        self._frame, self._at = frame, 0

    def _take(self, size: int) -> memoryview:
        if size > len(self._frame) - self._at:
            raise ProtocolError(_BROKEN)
        part = self._frame[self._at : self._at + size]
        self._at += size
        return part

    def magic(self, expected: bytes) -> int:
        """Check the first bytes, and return the kind after them."""
        if self._take(len(expected)) != expected:
            raise ProtocolError("The other side uses another protocol. It is refused.")
        return self._take(1)[0]

    def number(self) -> int:
        """Return a 32-bit unsigned integer."""
        return int(struct.unpack("<I", self._take(4))[0])

    def octets(self) -> bytes:
        """Return a byte string."""
        return bytes(self._take(self.number()))

    def text(self) -> str:
        """Return a UTF-8 string."""
        try:
            return self.octets().decode()
        except UnicodeDecodeError:
            raise ProtocolError(_BROKEN) from None

    def numbers(self) -> tuple[int, ...]:
        """Return a tuple of integers."""
        count = self.number()
        return struct.unpack(f"<{count}I", self._take(4 * count))

    def parcels(self) -> dict[int, bytes]:
        """Return byte strings by number; a repeated number is refused."""
        count = self.number()
        if 8 * count > len(self._frame) - self._at:
            raise ProtocolError(_BROKEN)
        parcels = {}
        for _ in range(count):
            number = self.number()
            parcels[number] = self.octets()
        if len(parcels) < count:
            raise ProtocolError(_BROKEN)
        return parcels

    def words(self) -> NDArray[np.uint64]:
        """Return 64-bit words in new memory."""
        part = self._take(self.number())
        if len(part) % 8:
            raise ProtocolError(_BROKEN)
        return np.frombuffer(part, dtype="<u8").astype(np.uint64)

    def end(self) -> None:
        """Refuse bytes after the last field."""
        if self._at != len(self._frame):
            raise ProtocolError(_BROKEN)


_MAGIC = b"VEIL1"


class Message:
    """The content of one frame."""


@dataclass(frozen=True, repr=False)
class Keys(Message):
    """Two public keys of a client for one round, signed if keys are registered."""

    sealing: bytes
    masking: bytes
    signature: bytes


@dataclass(frozen=True, repr=False)
class Roster(Message):
    """The clients of a round: their keys and signatures, and how many shares open a secret."""

    threshold: int
    sealing: dict[int, bytes]
    masking: dict[int, bytes]
    signatures: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Shares(Message):
    """Sealed shares for each peer, and a digest of the seed of the client's own mask."""

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
    """The clients whose masked input arrived."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, repr=False)
class Signed(Message):
    """A client's signature of the survivors; empty if keys are not registered."""

    signature: bytes


@dataclass(frozen=True, repr=False)
class Request(Message):
    """The shares that the server needs: of seeds of survivors, of keys of the dropped."""

    survivors: tuple[int, ...]
    dropped: tuple[int, ...]
    signatures: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Unmasked(Message):
    """Shares of the seeds of survivors, and of the mask keys of the dropped."""

    seeds: dict[int, bytes]
    keys: dict[int, bytes]


@dataclass(frozen=True, repr=False)
class Hello(Message):
    """A client's introduction: a token, and its registered key or nothing."""

    number: int
    token: bytes
    key: bytes


@dataclass(frozen=True, repr=False)
class Welcome(Message):
    """The server's terms as JSON, and the client's number."""

    number: int
    terms: str


@dataclass(frozen=True, repr=False)
class Round(Message):
    """The start of a round: its number from 0 on, and the model as 64-bit floats."""

    number: int
    model: bytes


@dataclass(frozen=True, repr=False)
class Absent(Message):
    """A client's refusal to take part in this round."""


@dataclass(frozen=True, repr=False)
class Void(Message):
    """The end of a round with too few clients; nothing is opened."""


@dataclass(frozen=True, repr=False)
class Finish(Message):
    """The end of training: the model, and the number of void rounds."""

    void: int
    model: bytes


KINDS: tuple[type[Message], ...] = (
    Keys, Roster, Shares, Parcels, Masked, Survivors, Signed, Request, Unmasked, Hello, Welcome,
    Round, Absent, Void, Finish,
)  # fmt: skip


def encode(message: Message, label: bytes) -> bytes:
    """Return the frame of a message of one round; raise above the size limit."""
    parts = [_MAGIC, bytes([KINDS.index(type(message))]), frame(label)]
    for field in fields(message):  # type: ignore[arg-type]
        value = getattr(message, field.name)
        parts.append(_written(value))
    size = sum(map(len, parts))
    if size > MOST:
        raise ProtocolError("A message would exceed 64 MiB. Send fewer numbers per round.")
    return b"".join(parts)


def decode(frame: bytes | bytearray, *labels: bytes) -> Message:
    """Return the message of a frame; raise unless it is complete and of one of these rounds."""
    reader = Reader(memoryview(frame))
    kind = reader.magic(_MAGIC)
    if kind >= len(KINDS):
        raise ProtocolError("A message is of an unknown kind. The other side is refused.")
    if reader.octets() not in labels:
        raise ProtocolError("A message belongs to another round. The other side is refused.")
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
    """A connection to one party; `sent` and `received` count bytes, including length prefixes."""

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
            raise ProtocolError("The other side is gone or does not read.") from None
        self.sent += 4 + len(frame)

    def receive(
        self, kinds: type[M] | tuple[type[M], ...], label: bytes, seconds: float, *other: bytes
    ) -> M:
        """Wait for a message of one of these kinds, of this round or an `other`, or raise."""
        until = time.monotonic() + seconds
        (size,) = struct.unpack("<I", self._read(4, until))
        if size > MOST:
            raise ProtocolError("A message has more than 64 MiB. The other side is refused.")
        message = decode(self._read(size, until), label, *other)
        self.received += 4 + size
        if isinstance(message, Void):
            raise VoidError("Too few clients are left. The round is void, and nothing was opened.")
        if not isinstance(message, kinds):
            raise ProtocolError("A message came out of turn. The other side is refused.")
        return message

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    def _read(self, size: int, until: float) -> bytearray:
        received = bytearray()  # grows with received bytes, not with the announced size
        while len(received) < size:
            remaining = until - time.monotonic()
            if remaining <= 0:
                raise ProtocolError("The other side did not answer in time.")
            try:
                self._socket.settimeout(remaining)
                piece = self._socket.recv(min(_PIECE, size - len(received)))
            except TimeoutError:
                raise ProtocolError("The other side did not answer in time.") from None
            except OSError:
                raise ProtocolError("The other side is gone.") from None
            if not piece:
                raise ProtocolError("The other side is gone.")
            received += piece
        return received


def dial(host: str, port: int, seconds: float) -> Connection:
    """Connect to a server."""
    try:
        return Connection(socket.create_connection((host, port), timeout=seconds))
    except OSError:
        raise ProtocolError("No server answers at that address and port.") from None


def listen(host: str, port: int, clients: int) -> socket.socket:
    """Open a port; on the loopback address only this machine can reach it."""
    try:
        return socket.create_server((host, port), backlog=min(clients, 1024))
    except OSError:
        raise ProtocolError(
            f"The port {port:,} cannot be opened at that address. Choose another."
        ) from None
