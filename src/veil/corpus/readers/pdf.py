"""PDF (.pdf): the text of its pages. There is no optical character recognition."""

from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from typing import BinaryIO

from veil.corpus.readers.reader import MAX_CHARS, ReadDocument, SkipError, piece, read_limited

MAX_PAGES = 10_000
_PROGRAM = (
    "Microsoft Word - ",
    "Microsoft PowerPoint - ",
)  # programs that add their names to titles
_NO_TITLES = ("", "untitled", "document", "word document")


def read(file: BinaryIO, first: int) -> Iterator[ReadDocument]:
    """Yield the text of all pages. The title is from the metadata, or the first line."""
    del first
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError
    except ImportError:
        raise SkipError("extra") from None
    data = read_limited(file)
    if b"%PDF" not in data[:1024]:
        raise SkipError("damaged")
    try:
        pdf = PdfReader(BytesIO(data), strict=False)
        if pdf.is_encrypted and not pdf.decrypt(""):
            raise SkipError("password")
        pages = list(_pages(pdf))
    except (DependencyError, FileNotDecryptedError):
        raise SkipError("password") from None
    if not any(page.strip() for page in pages):
        raise SkipError("no-text")
    yield piece("\n\n".join(pages), _title(pdf))


def _pages(pdf: "PdfReader") -> Iterator[str]:  # type: ignore[name-defined] # noqa: F821
    size = 0
    for number, page in enumerate(pdf.pages):
        text = page.extract_text() or ""
        size += len(text)
        if number >= MAX_PAGES or size > MAX_CHARS:
            raise SkipError("too-large")
        yield text


def _title(pdf: "PdfReader") -> str:  # type: ignore[name-defined] # noqa: F821
    """Return the title from the metadata, or "" if it is missing or generic."""
    title = ""
    with suppress(Exception):
        title = str((pdf.metadata and pdf.metadata.title) or "").strip()
    for program in _PROGRAM:
        title = title.removeprefix(program)
    return "" if title.lower() in _NO_TITLES else title
