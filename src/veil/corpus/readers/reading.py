"""What a reader yields: a title and a text, or why there is none."""

from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

MAX_BYTES = 64 * 2**20  # of a file that is read as a whole, and of one message
MAX_MAILBOX = 16 * 2**30  # of a file that is read message by message
MAX_CHARS = 5_000_000  # of a text

REASONS = {  # why something is skipped, as it is told after their number
    "no-text": "without text (scanned pages, pictures, or empty)",
    "password": "encrypted or protected by a password",
    "damaged": "damaged, or not of the kind that the name says",
    "too-large": "too large, or unpacking to too much",
    "too-slow": "took too long to read",
    "crashed": "the reader did not survive them",
    "rest": "mailboxes whose rest was given up after 20 failures",
    "unreadable": "could not be opened",
    "extra": "need the extra 'documents': pip install 'veil[documents]'",
    "unknown": "of a kind that is not read",
    "hidden": "hidden",
    "link": "symbolic links, which are not followed",
    "special": "neither files nor folders",
    "name": "the name is not UTF-8, has a backslash, or is too long",
    "index": "indexes of Veil",
}
AGAIN = frozenset(
    ("too-slow", "crashed", "rest", "unreadable", "extra")
)  # may go well another time


class SkipError(Exception):
    """A file or message cannot be used; `reason` is a name in `REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Piece(NamedTuple):
    """A document in a file, or why there is none: `number` counts from 1, also what is skipped."""

    number: int
    title: str = ""
    text: str = ""
    skipped: str = ""


Read = Callable[[BinaryIO, int], Iterator[Piece]]  # a file, and the first number that is wanted


def whole(file: BinaryIO) -> bytes:
    """Read a file as a whole, if it is not too large."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SkipError("too-large")
    return data
