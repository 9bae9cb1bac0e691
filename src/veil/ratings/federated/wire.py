"""Frames over a TCP connection: the length first, bounded, and within a time.

A frame has 4 bytes of length (little-endian, at most 64 MiB) and then as many bytes. The time is
for a whole frame: a peer that sends a byte now and then does not prolong it.
"""

import socket
import struct
import time
from typing import TypeVar

from veil.ratings.federated.messages import Message, Void, decode, encode
from veil.ratings.federated.reading import MOST
from veil.ratings.federated.refusal import ProtocolError, VoidError

M = TypeVar("M", bound=Message)
_PIECE = 2**20


class Line:
    """A connection to one party; `sent` and `received` count bytes with their lengths."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self.sent = self.received = 0
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, message: Message, label: bytes, seconds: float) -> None:
        """Send a message of one round."""
        frame = encode(message, label)
        self._socket.settimeout(seconds)
        try:
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
            self._socket.settimeout(left)
            try:
                piece = self._socket.recv(min(_PIECE, size - len(found)))
            except TimeoutError:
                raise ProtocolError("The other side did not answer in time.") from None
            except OSError:
                raise ProtocolError("The other side is gone.") from None
            if not piece:
                raise ProtocolError("The other side is gone.")
            found += piece
        return found


def dial(host: str, port: int, seconds: float) -> Line:
    """Call a server."""
    try:
        return Line(socket.create_connection((host, port), timeout=seconds))
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
