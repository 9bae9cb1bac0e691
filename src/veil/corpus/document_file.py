"""Open the source file of an indexed document, if it still exists."""

import hashlib
import os
from dataclasses import dataclass
from typing import Literal

from veil.core.formatting import brief
from veil.corpus.collection import Collection, Document
from veil.corpus.listing import ListedFile, Listing, open_inside
from veil.corpus.readers.reader import MAX_BYTES, SkipError, decoded

State = Literal["same", "changed", "gone"]
_SHOWN = ("text", "markdown")  # kinds that are shown unchanged
_DOWNLOADED = {  # kinds for other programs
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


@brief()
@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """The source of a search result.

    Attributes
    ----------
    name
        Name of the file, without its folder.
    state
        Whether the file is the same as when it was indexed, changed, or gone.
    text
        Readable text: the current file, or the indexed text without markup for a web page or a
        mail. None for a file that needs another program.
    data, media
        Content and media type of such a file.
    """

    name: str
    state: State
    text: str | None = None
    data: bytes = b""
    media: str = ""


def open_document(collection: Collection, name: str) -> OpenedDocument | None:
    """Return the opened source of a document by id, or None if the index has no such document."""
    files = collection.files
    entry = None if files is None else files.file_of(name)
    if files is None or entry is None:
        return None
    row, start = entry
    document = _indexed(collection, name, row, start)
    if document is None:
        return None
    short = row.path.rpartition("/")[2]
    whole = row.kind in _SHOWN or row.kind in _DOWNLOADED
    try:
        state, data = _read_current(files, row, whole=whole)
    except (OSError, SkipError):
        return OpenedDocument(short, "gone")
    if row.kind in _DOWNLOADED:
        return OpenedDocument(short, state, None, data, _DOWNLOADED[row.kind])
    return OpenedDocument(short, state, decoded(data) if whole else _readable(document, row))


def _indexed(collection: Collection, name: str, row: ListedFile, start: int) -> Document | None:
    packed = collection.documents
    for i in range(start, start + row.documents):
        if packed.ids[i] == name:
            return Document(name, packed.titles[i], packed.texts[i])
    return None


def _read_current(files: Listing, row: ListedFile, *, whole: bool) -> tuple[State, bytes]:
    """Return whether the file has changed since it was indexed, and its content if `whole`."""
    with open_inside(files.root, row.path) as file:
        status = os.fstat(file.fileno())
        if whole:
            data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise SkipError("too-large")
            same = hashlib.sha256(data).hexdigest() == row.digest
            return ("same" if same else "changed"), data
        same = status.st_size == row.size and (
            status.st_mtime_ns == row.mtime
            or hashlib.file_digest(file, "sha256").hexdigest() == row.digest
        )
        return ("same" if same else "changed"), b""


def _readable(document: Document, row: ListedFile) -> str:
    head = f"Subject: {document.title}" if row.kind in ("mail", "mbox") else document.title
    gap = "\n" if row.kind in ("mail", "mbox") else "\n\n"
    return f"{head}{gap}{document.text}\n"
