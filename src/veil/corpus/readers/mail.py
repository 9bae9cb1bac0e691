"""A mail (.eml): who wrote to whom and when, the subject, and the text without attachments."""

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from typing import BinaryIO

from veil.corpus.readers.html import shown
from veil.corpus.readers.reader import ReadDocument, SkipError, decoded, piece, read_limited

_TOLD = ("From", "To", "Cc", "Date")
_MAX_PARTS = 1_000
_HEADER = 2_000  # characters that are kept of one
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the message."""
    del first
    yield message(read_limited(file))


def message(data: bytes, number: int = 1) -> ReadDocument:
    """Read one message; the title is its subject."""
    mail = message_from_bytes(data)  # not by the newer policy, which is slow on long headers
    if not any(name in mail for name in ("From", "To", "Subject", "Date", "Message-ID")):
        raise SkipError("damaged")
    if any(defect for defect in mail.defects if "Boundary" in type(defect).__name__):
        raise SkipError("damaged")
    if mail.get_content_type() in _ENCRYPTED:
        raise SkipError("password")
    body = _body(mail)
    subject = _header(mail, "Subject")
    if not (body.strip() or subject):
        raise SkipError("no-text")
    heads = [f"{name}: {value}" for name in _TOLD if (value := _header(mail, name))]
    return piece("\n".join([*heads, "", body]), subject or "(no subject)", number)


def _header(mail: Message, name: str) -> str:
    """Return a header in letters, or as it is written where that says nothing."""
    written = " ".join(str(mail.get(name, "")).split())[:_HEADER]
    try:
        return str(make_header(decode_header(written)))
    except (ValueError, LookupError, HeaderParseError):
        return written


def _body(mail: Message) -> str:
    """Return the parts that are text: of alternatives the plain one, if there is one."""
    plain, marked = [], []
    for count, part in enumerate(mail.walk()):
        if count >= _MAX_PARTS:
            raise SkipError("too-large")
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind == "text/plain":
            plain.append(_text(part))
        elif kind == "text/html":
            marked.append(part)
    if any(text.strip() for text in plain):
        return "\n\n".join(plain)
    return "\n\n".join(shown(_text(part))[1] for part in marked)


def _text(part: Message) -> str:
    """Return the text of a part, whatever its encoding is called."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    return decoded(data, part.get_content_charset("") or "")
