"""Open the file that a document is of: one that the index lists, and that still lies there."""

import hashlib
import os
from dataclasses import dataclass
from typing import Literal

from veil.core.formatting import brief
from veil.corpus.collection import Collection, Document
from veil.corpus.listing import ListedFile, Listing, open_inside
from veil.corpus.readers.reader import MAX_BYTES, SkipError, decoded

State = Literal["same", "changed", "gone"]
_SHOWN = ("text", "markdown")  # kinds whose files people read as they are
_GIVEN = {  # kinds that other programs read
    "pdf": "application/pdf",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}


@brief()
@dataclass(frozen=True, slots=True)
class OpenedDocument:
    """What is behind a result.

    Attributes
    ----------
    name
        That of the file, without its folder.
    state
        Whether the file is the one that was indexed, another one of the same name, or gone.
    text
        What a person reads: the file as it is now, or, of a page or a mail, what the index has of
        it, without markup; None for a file that other programs read.
    data, media
        That file.
    """

    name: str
    state: State
    text: str | None = None
    data: bytes = b""
    media: str = ""


def open_document(collection: Collection, name: str) -> OpenedDocument | None:
    """Open the file of a document by its id; None if the index lists no such document."""
    files = collection.files
    found = None if files is None else files.file_of(name)
    if files is None or found is None:
        return None
    row, start = found
    document = _indexed(collection, name, row, start)
    if document is None:
        return None
    short = row.path.rpartition("/")[2]
    whole = row.kind in _SHOWN or row.kind in _GIVEN
    try:
        state, data = _now(files, row, whole=whole)
    except (OSError, SkipError):
        return OpenedDocument(short, "gone")
    if row.kind in _GIVEN:
        return OpenedDocument(short, state, None, data, _GIVEN[row.kind])
    return OpenedDocument(short, state, decoded(data) if whole else _readable(document, row))


def _indexed(collection: Collection, name: str, row: ListedFile, start: int) -> Document | None:
    packed = collection.documents
    for place in range(start, start + row.documents):
        if packed.ids[place] == name:
            return Document(name, packed.titles[place], packed.texts[place])
    return None


def _now(files: Listing, row: ListedFile, *, whole: bool) -> tuple[State, bytes]:
    """Look whether the file is the one that was indexed; return it, too, where it is wanted."""
    with open_inside(files.root, row.path) as file:
        told = os.fstat(file.fileno())
        if whole:
            data = file.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise SkipError("too-large")
            same = hashlib.sha256(data).hexdigest() == row.digest
            return ("same" if same else "changed"), data
        same = told.st_size == row.size and (
            told.st_mtime_ns == row.mtime
            or hashlib.file_digest(file, "sha256").hexdigest() == row.digest
        )
        return ("same" if same else "changed"), b""


def _readable(document: Document, row: ListedFile) -> str:
    head = f"Subject: {document.title}" if row.kind in ("mail", "mbox") else document.title
    gap = "\n" if row.kind in ("mail", "mbox") else "\n\n"
    return f"{head}{gap}{document.text}\n"
