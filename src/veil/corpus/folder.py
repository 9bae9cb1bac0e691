"""A folder of one's own files as a collection: walked, read and brought up to date."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from veil.core.errors import InputError
from veil.corpus.collection import KIND, Collection, Document, Documents
from veil.corpus.listing import ListedFile, Listing, open_inside
from veil.corpus.readers import KINDS
from veil.corpus.readers.mbox import BEGINS
from veil.corpus.readers.reader import MAX_BYTES, MAX_MAILBOX
from veil.corpus.readers.worker import PATIENCE, ReaderProcess
from veil.data.arrays import kind_of_folder
from veil.data.fetch import Report, no_progress

MAX_FILES = 1_000_000
_MAX_PATH = 4_000  # characters


class FolderFile(NamedTuple):
    """A file that can be read: its path in the folder, and what tells whether it changed."""

    path: str
    kind: str
    size: int
    mtime: int  # nanoseconds

    @property
    def too_large(self) -> bool:
        """Whether it is not even tried."""
        return self.size > (MAX_MAILBOX if self.kind == "mbox" else MAX_BYTES)


def walk(root: Path) -> tuple[list[FolderFile], Counter[str]]:
    """Return the files below a folder by their paths, and how much is left out, by reason.

    Left out are hidden files and folders, symbolic links, what is neither file nor folder, indexes
    of Veil, and files of other kinds.
    """
    files: list[FolderFile] = []
    left: Counter[str] = Counter()
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        for entry in _entries(root / inner, left):
            path = f"{inner}/{entry.name}" if inner else entry.name
            reason = _reason(entry, path)
            if reason:
                left[reason] += 1
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                _add(root, entry, path, files, left)
    return sorted(files), left


def _entries(folder: Path, left: Counter[str]) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        left["unreadable"] += 1


def _reason(entry: "os.DirEntry[str]", path: str) -> str:
    """Say why a file or folder is left out, or nothing."""
    if entry.name.startswith("."):
        return "hidden"
    if entry.is_symlink():
        return "link"
    if len(path) > _MAX_PATH or not _is_text(path):
        return "name"
    if entry.is_dir(follow_symlinks=False):
        return "index" if kind_of_folder(Path(entry.path)) == KIND else ""
    return "" if entry.is_file(follow_symlinks=False) else "special"


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\\" not in path


def _add(
    root: Path, entry: "os.DirEntry[str]", path: str, files: list[FolderFile], left: Counter[str]
) -> None:
    kind = KINDS.get(Path(entry.name).suffix.lower()) or _by_its_head(root, path)
    if not kind:
        left["unknown"] += 1
        return
    try:
        told = entry.stat(follow_symlinks=False)
    except OSError:
        left["unreadable"] += 1
        return
    files.append(FolderFile(path, kind, told.st_size, told.st_mtime_ns))
    if len(files) > MAX_FILES:
        raise InputError(f"A folder must not have more than {MAX_FILES:,} files to be read.")


def _by_its_head(root: Path, path: str) -> str:
    """Know a mailbox without an ending, as mail programs keep them, by how it begins."""
    if Path(path).suffix:
        return ""
    try:
        with open_inside(root, path) as file:
            return "mbox" if BEGINS.match(file.readline(1_000)) else ""
    except OSError:
        return ""


MAX_TOTAL = 4 * 10**9  # characters of all texts
_FRESH = 2 * 10**9  # nanoseconds within which a file may change twice and show one time


@dataclass
class IndexChanges:
    """How many files are new, changed, unchanged and removed."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def any(self) -> bool:
        """Whether an index of before is no longer right."""
        return bool(self.new or self.changed or self.removed)


def gather(
    root: Path,
    before: Collection | None = None,
    model: str = "",
    report: Report = no_progress,
    patience: float = PATIENCE,
) -> tuple[Collection, IndexChanges]:
    """Make a collection of the files of a folder.

    A file is taken over from the collection `before` if it has the same size and time, or else the
    same digest; whatever failed for a reason that may be gone is tried again. Ids are the paths in
    the folder; messages of a mailbox have their number after it.

    Parameters
    ----------
    root
        The folder, without a link in its own path.
    before
        What was made of the same folder earlier.
    model
        The encoder whose vectors will be in the index.
    patience
        Seconds to wait for a document.
    """
    files, left = walk(root)
    known = before if before is not None and before.files is not None else None
    with ReaderProcess(root, patience) as apart:
        work = _Gathering(root, known, apart)
        pages = work.documents(files, report)
        first = next(pages, None)
        if first is None:
            raise InputError(_nothing(root, Listing(root, work.rows, left)))
        documents = Documents.of(_and(first, pages))
    changes = work.changes
    changes.removed = len(work.old.keys() - {row.path for row in work.rows})
    listing = Listing(root, work.rows, left, model)
    return Collection(root.name or "documents", documents, files=listing), changes


def _and(first: Document, rest: Iterator[Document]) -> Iterator[Document]:
    yield first
    yield from rest


def _nothing(root: Path, listing: Listing) -> str:
    count = sum(listing.skipped.values())
    return (
        f"{root} holds no documents that can be read ({count:,} files or folders were skipped);"
        " there must be .txt, .md, .html, .pdf, .docx, .eml or .mbox files with text in them."
    )


@dataclass
class _Gathering:
    """The files one by one: kept or read, and what became of each."""

    root: Path
    before: Collection | None
    apart: ReaderProcess
    changes: IndexChanges = field(default_factory=IndexChanges)
    rows: list[ListedFile] = field(default_factory=list)
    old: dict[str, tuple[ListedFile, int]] = field(init=False)
    total: int = 0

    def __post_init__(self) -> None:
        files = self.before.files if self.before is not None else None
        pairs = zip(files.rows, files.starts, strict=True) if files is not None else ()
        self.old = {row.path: (row, start) for row, start in pairs}

    def documents(self, files: list[FolderFile], report: Report) -> Iterator[Document]:
        """Yield all documents in order."""
        for number, file in enumerate(files):
            report("reading files", number, len(files))
            for document in self._of(file):
                self.total += len(document.text)
                if self.total > MAX_TOTAL:
                    raise InputError(
                        f"The texts of a folder must have at most {MAX_TOTAL:,} characters"
                        " together; index its parts one by one."
                    )
                yield document
        report("reading files", len(files), len(files))

    def _of(self, file: FolderFile) -> Iterator[Document]:
        old, start = self.old.get(file.path, (None, 0))
        same = old is not None and self._is_same(old, file)
        if old is not None and same and old.settled:
            self.changes.unchanged += 1
            self.rows.append(old)
            yield from self._kept(start, old.documents)
            return
        yield from self._read(file)
        row = self.rows[-1]
        if old is None:
            self.changes.new += 1
        elif same and (row.documents, row.skipped) == (old.documents, old.skipped):
            self.changes.unchanged += 1  # it was tried again, and went as before
        else:
            self.changes.changed += 1

    def _is_same(self, old: ListedFile, file: FolderFile) -> bool:
        if (old.kind, old.size) != (file.kind, file.size):
            return False
        return old.mtime == file.mtime or old.digest == self._digest(file) != ""

    def _kept(self, start: int, count: int) -> Iterator[Document]:
        if self.before is not None:
            packed = self.before.documents
            for place in range(start, start + count):
                yield Document(packed.ids[place], packed.titles[place], packed.texts[place])

    def _read(self, file: FolderFile) -> Iterator[Document]:
        skipped: Counter[str] = Counter()
        now, digest, documents = time.time_ns(), self._digest(file), 0
        if file.too_large:
            skipped["too-large"] += 1
        elif not digest:
            skipped["unreadable"] += 1
        else:
            for piece in self.apart.read(file.path, file.kind):
                if piece.skipped:
                    skipped[piece.skipped] += 1
                    continue
                name = f"{file.path}/{piece.number}" if file.kind == "mbox" else file.path
                documents += 1
                yield Document(name, piece.title, piece.text)
        mtime = file.mtime if abs(now - file.mtime) > _FRESH else 0
        self.rows.append(
            ListedFile(file.path, file.kind, file.size, mtime, digest, documents, dict(skipped))
        )

    def _digest(self, file: FolderFile) -> str:
        if file.too_large:
            return ""
        try:
            with open_inside(self.root, file.path) as content:
                return hashlib.file_digest(content, "sha256").hexdigest()
        except OSError:
            return ""
