"""The contract of readers: a title and a text, or the reason for skipping a file."""

import codecs
import re
from collections.abc import Callable, Iterator
from typing import BinaryIO, NamedTuple

from veil.core.errors import install_hint
from veil.core.formatting import brief

MAX_BYTES = 64 * 2**20  # of a file that is loaded completely, and of one message
MAX_MAILBOX = 16 * 2**30  # of a file that is read message by message
MAX_CHARS = 5_000_000  # of a text

REASONS = {  # why files are skipped; messages print them after the number of files
    "no-text": "without text (scanned pages, pictures, or empty)",
    "password": "encrypted or protected by a password",
    "damaged": "damaged, or with the wrong suffix",
    "too-large": "too large, also after unpacking",
    "too-slow": "took too long to read",
    "crashed": "crashed the reader",
    "rest": "mailboxes whose rest was skipped after 20 failures",
    "unreadable": "could not be opened",
    "extra": f"need the extra 'documents': {install_hint('documents')}",
    "unknown": "of an unsupported kind",
    "hidden": "hidden",
    "link": "symbolic links, which are not followed",
    "special": "neither files nor folders",
    "name": "with a name that is not UTF-8, has a backslash, or is too long",
    "index": "indexes of Veil",
}
AGAIN = frozenset(("too-slow", "crashed", "rest", "unreadable", "extra"))  # transient reasons


class SkipError(Exception):
    """A file or message is skipped. `reason` is a key of `REASONS`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@brief()
class ReadDocument(NamedTuple):
    """A document in a file, or why it was skipped. `number` counts from 1, with skipped ones."""

    number: int
    title: str = ""
    text: str = ""
    skipped: str = ""


Read = Callable[[BinaryIO, int], Iterator[ReadDocument]]  # file and first number to documents


def read_limited(file: BinaryIO) -> bytes:
    """Return the content of a file, or raise `SkipError` if it is too large."""
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
_QUOTED = "> \t"  # prefix of quoted lines in mails


def decoded(data: bytes, encoding: str = "") -> str:
    """Return a file's text, by its byte order mark, as `encoding`, as UTF-8, or as Windows-1252.

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
    r"""Return a document with the cleaned text, without the title at its beginning.

    Without a title, the first line of the text is the title.

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
    """Return a text without control characters, lone surrogates and base64 data."""
    clean = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n")
    clean = _CONTROL.sub("", clean.encode("utf-8", "replace").decode())
    if "base64," in clean:
        clean = _DATA.sub("", clean)
    lines = (line.rstrip() for line in clean.split("\n"))
    return "\n".join(line for line in lines if not _is_base64(line)).strip()


def _is_base64(line: str) -> bool:
    """Return whether a line is base64 data: long, without spaces, with mixed characters."""
    bare = line.lstrip(_QUOTED)
    if len(bare) < 60 or not _BASE64.fullmatch(bare):
        return False
    return any(map(str.isdigit, bare)) and not (bare.islower() or bare.isupper())


def _cut(title: str) -> str:
    return title if len(title) <= _TITLE else title[:_TITLE].rsplit(" ", 1)[0] + "…"
