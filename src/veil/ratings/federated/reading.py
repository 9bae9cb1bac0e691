"""Read the fields of a frame, none of which is believed: every length is checked first."""

import struct

import numpy as np
from numpy.typing import NDArray

from veil.ratings.federated.refusal import ProtocolError

MOST = 64 * 2**20  # bytes of a frame
_BROKEN = "A message is cut off or garbled; the other side is refused."


def framed(octets: bytes) -> bytes:
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
