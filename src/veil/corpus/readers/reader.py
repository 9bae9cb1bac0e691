"""The contract of readers: a title and a text, or why there is none; and what they share."""

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from veil.core.errors import install_hint
from veil.core.formatting import brief

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
    "extra": f"need the extra 'documents': {install_hint('documents')}",
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


@brief()
class ReadDocument(NamedTuple):
    """A document in a file, or why there is none: `number` counts from 1, also what is skipped."""

    number: int
    title: str = ""
    text: str = ""
    skipped: str = ""


Read = Callable[
    [BinaryIO, int], Iterator[ReadDocument]
]  # a file, and the first number that is wanted


def read_limited(file: BinaryIO) -> bytes:
    """Read a file as a whole, if it is not too large."""
    data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise SkipError("too-large")
    return data


_TITLE = 160  # characters
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_DATA = re.compile(r"data:[\w./+-]{0,80};base64,[A-Za-z0-9+/=%]+")
_BASE64 = re.compile(r"[A-Za-z0-9+/]{60,}={0,2}")
_QUOTED = "> \t"  # before a line of an answer to a mail


def decoded(data: bytes, encoding: str = "") -> str:
    """Return the characters of a file: as told, by its mark, as UTF-8, or else as Windows-1252.

    >>> decoded("né".encode()), decoded("né".encode("cp1252")), decoded("né".encode("utf-16"))
    ('né', 'né', 'né')
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    if b"\0" in data[:65_536]:
        raise SkipError("damaged")
    for name in filter(None, (encoding, "utf-8")):
        try:
            return data.decode(name)
        except (UnicodeError, LookupError, ValueError):
            continue
    return data.decode("cp1252", "replace")


def piece(text: str, title: str = "", number: int = 1) -> ReadDocument:
    r"""Make a piece of a text: cleaned, and without the title where it begins with that.

    A text without a title has its first line for one.

    >>> tuple(piece("Ferns\n\nThey like shade."))
    (1, 'Ferns', 'They like shade.', '')
    """
    body = cleaned(text)
    head, _, rest = body.partition("\n")
    name = " ".join(cleaned(title).split())
    if not (name or body):
        raise SkipError("no-text")
    if len(body) > MAX_CHARS:
        raise SkipError("too-large")
    first = " ".join(head.split())
    if not name or name == first:
        name, body = first, rest.strip() if len(first) <= _TITLE else body
    return ReadDocument(number, _cut(name), body)


def cleaned(text: str) -> str:
    """Return a text without control characters, halves of characters, and data in base 64."""
    told = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    told = _CONTROL.sub("", told.encode("utf-8", "replace").decode())
    if "base64," in told:
        told = _DATA.sub("", told)
    lines = (line.rstrip() for line in told.split("\n"))
    return "\n".join(line for line in lines if not _is_base64(line)).strip()


def _is_base64(line: str) -> bool:
    """Tell whether a line is data: long, without a space, and of all sorts of letters."""
    bare = line.lstrip(_QUOTED)
    if len(bare) < 60 or not _BASE64.fullmatch(bare):
        return False
    return any(map(str.isdigit, bare)) and not (bare.islower() or bare.isupper())


def _cut(title: str) -> str:
    return title if len(title) <= _TITLE else title[:_TITLE].rsplit(" ", 1)[0] + "…"
