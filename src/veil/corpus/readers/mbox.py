"""Mailbox (.mbox, also of Thunderbird): each message separately, so that some may be damaged.

The file is read sequentially and never written. The standard library's `mailbox` opens it for
writing, and loads messages of any size.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO

from veil.corpus.readers.mail import message
from veil.corpus.readers.reader import MAX_BYTES, ReadDocument, SkipError

BEGINS = re.compile(rb"From [^\r\n]*[0-9:]")  # sender and date
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_LINE = 2**20  # bytes per read


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the messages from number `first`, with a reason for each unreadable message."""
    for number, data in enumerate(_messages(file), start=1):
        if number >= first:
            yield _parse(data, number)


def _parse(data: bytes, number: int) -> ReadDocument:
    try:
        if len(data) > MAX_BYTES:
            return ReadDocument(number, skipped="too-large")
        return message(_QUOTED.sub(rb"\1", data), number)
    except SkipError as skip:
        return ReadDocument(number, skipped=skip.reason)
    except (MemoryError, RecursionError):
        return ReadDocument(number, skipped="too-large")
    except Exception:  # noqa: BLE001 - the mail parser raises many kinds of errors
        return ReadDocument(number, skipped="damaged")


def _messages(file: BinaryIO) -> Iterator[bytes]:
    """Yield the messages. Messages that are too large are cut just above the limit."""
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
