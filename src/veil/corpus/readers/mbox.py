"""A mailbox (.mbox, also of Thunderbird): its messages one by one, so that one may be broken.

The file is read from front to end and never written to: `mailbox` of the standard library opens it
for writing, and holds a message of any size.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from veil.corpus.readers.mail import message
from veil.corpus.readers.reader import MAX_BYTES, ReadDocument, SkipError

BEGINS = re.compile(rb"From [^\r\n]*[0-9:]")  # who wrote, and when
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_LINE = 2**20  # bytes taken at a time


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the messages from number `first` on, or why one cannot be read."""
    for number, data in enumerate(_messages(file), start=1):
        if number >= first:
            yield _one(data, number)


def _one(data: bytes, number: int) -> ReadDocument:
    try:
        if len(data) > MAX_BYTES:
            return ReadDocument(number, skipped="too-large")
        return message(_QUOTED.sub(rb"\1", data), number)
    except SkipError as skip:
        return ReadDocument(number, skipped=skip.reason)
    except (MemoryError, RecursionError):
        return ReadDocument(number, skipped="too-large")
    except Exception:  # noqa: BLE001 - the parser of mail knows many ways to fail
        return ReadDocument(number, skipped="damaged")


def _messages(file: BinaryIO) -> Iterator[bytes]:
    """Yield each message; no more than is read of one is kept of a message that is too large."""
    parts: list[bytes] = []
    size, fresh, begun = 0, True, False
    while line := file.readline(_LINE):
        if fresh and BEGINS.match(line):
            if begun:
                yield b"".join(parts)
            parts, size, begun = [], 0, True
        elif not begun:
            raise SkipError("damaged")
        elif size <= MAX_BYTES:
            parts.append(line)
            size += len(line)
        fresh = not line.strip(b"\r\n")
    if begun:
        yield b"".join(parts)
