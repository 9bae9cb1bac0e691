"""Word (.docx): the text of the body with tables and text boxes, without tracked deletions."""

import zipfile
from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO

from veil.corpus.readers.reader import MAX_CHARS, ReadDocument, SkipError, piece, read_limited

_MAX_PARTS = 10_000
_MAX_UNPACKED = 256 * 2**20  # bytes in all parts
_OLE = b"\xd0\xcf\x11\xe0"  # start of a file with a password
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n"}
_HEADS = ("title", "heading 1", "heading 2", "heading 3")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the text. The title is the first heading, or the first line."""
    del first
    try:
        from docx import Document
    except ImportError:
        raise SkipError("extra") from None
    data = read_limited(file)
    if data.startswith(_OLE):
        raise SkipError("password")
    _check_parts(data)
    document = Document(BytesIO(data))
    paragraphs: list[str] = []
    size, heading = 0, ""
    for element in document.element.body.iter(f"{_W}p"):
        if next(element.iterancestors(_FALLBACK), None) is not None:
            continue  # a copy for older versions of Word
        text = "".join(_words(element))
        size += len(text)
        if size > MAX_CHARS:
            raise SkipError("too-large")
        paragraphs.append(text)
        heading = heading or (text.strip() if _is_heading(document, element) else "")
    yield piece("\n".join(paragraphs), heading)


def _check_parts(data: bytes) -> None:
    """Raise if the parts are too large. Unpacking never exceeds the declared sizes."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as packed:
            parts = packed.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError):
        raise SkipError("damaged") from None
    if len(parts) > _MAX_PARTS or sum(part.file_size for part in parts) > _MAX_UNPACKED:
        raise SkipError("too-large")
    if any(part.flag_bits & 1 for part in parts):
        raise SkipError("password")


def _words(paragraph: Any) -> Iterator[str]:  # noqa: ANN401 - an element of lxml
    """Yield the text of a paragraph, without text boxes, which are read as separate paragraphs."""
    for element in paragraph:
        if element.tag == f"{_W}t":
            yield element.text or ""
        elif element.tag in _SPACES:
            yield _SPACES[element.tag]
        elif element.tag not in (f"{_W}p", _FALLBACK):
            yield from _words(element)


def _is_heading(document: Any, paragraph: Any) -> bool:  # noqa: ANN401 - of python-docx
    style = paragraph.style
    if not style:
        return False
    names = (entry.name for entry in document.styles if entry.style_id == style)
    return (next(names, None) or style).lower() in _HEADS
