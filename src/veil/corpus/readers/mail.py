"""Mail (.eml): sender, recipients, date, subject, and the text without attachments."""

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from typing import BinaryIO

from veil.corpus.readers.html import shown
from veil.corpus.readers.reader import ReadDocument, SkipError, decoded, piece, read_limited

_HEADERS = ("From", "To", "Cc", "Date")
_MAX_PARTS = 1_000
_HEADER = 2_000  # maximum characters of a header
_ENCRYPTED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the message."""
    del first
    yield message(read_limited(file))


def message(data: bytes, number: int = 1) -> ReadDocument:
    """Return one message. The title is its subject."""
    mail = message_from_bytes(data)  # the newer policy is slow on long headers
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
    heads = [f"{name}: {value}" for name in _HEADERS if (value := _header(mail, name))]
    return piece("\n".join([*heads, "", body]), subject or "(no subject)", number)


def _header(mail: Message, name: str) -> str:
    """Return a decoded header, or the raw header if it cannot be decoded."""
    written = " ".join(str(mail.get(name, "")).split())[:_HEADER]
    try:
        return str(make_header(decode_header(written)))
    except (ValueError, LookupError, HeaderParseError):
        return written


def _body(mail: Message) -> str:
    """Return the plain text parts, or the HTML parts if all plain text is blank."""
    texts, marked = [], []
    for count, part in enumerate(mail.walk()):
        if count >= _MAX_PARTS:
            raise SkipError("too-large")
        if part.is_multipart() or part.get_content_disposition() == "attachment":
            continue
        kind = part.get_content_type()
        if kind == "text/plain":
            texts.append(_text(part))
        elif kind == "text/html":
            marked.append(part)
    if any(text.strip() for text in texts):
        return "\n\n".join(texts)
    return "\n\n".join(shown(_text(part))[1] for part in marked)


def _text(part: Message) -> str:
    """Return the text of a part, even if its encoding is unknown."""
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    return decoded(data, part.get_content_charset("") or "")
