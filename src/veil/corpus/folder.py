"""Read a folder of files as a collection, and update it when files change."""

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
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
    """A readable file: its path in the folder, with kind, size and time to detect changes."""

    path: str
    kind: str
    size: int
    mtime: int  # nanoseconds

    @property
    def too_large(self) -> bool:
        """Whether the file is too large to read."""
        return self.size > (MAX_MAILBOX if self.kind == "mbox" else MAX_BYTES)


def walk(root: Path) -> tuple[list[FolderFile], Counter[str]]:
    """Return the files below a folder, sorted by path, and the number of excluded ones by reason.

    Excluded are hidden files and folders, symbolic links, special files, indexes of Veil, and
    files of unknown kinds.
    """
    files: list[FolderFile] = []
    excluded: Counter[str] = Counter()
    waiting = [""]
    while waiting:
        inner = waiting.pop()
        for entry in _entries(root / inner, excluded):
            path = f"{inner}/{entry.name}" if inner else entry.name
            reason = _reason(entry, path)
            if reason:
                excluded[reason] += 1
            elif entry.is_dir(follow_symlinks=False):
                waiting.append(path)
            else:
                _add(root, entry, path, files, excluded)
    return sorted(files), excluded


def _entries(folder: Path, excluded: Counter[str]) -> Iterator["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        excluded["unreadable"] += 1


def _reason(entry: "os.DirEntry[str]", path: str) -> str:
    """Return why a file or folder is excluded, or ""."""
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
    root: Path,
    entry: "os.DirEntry[str]",
    path: str,
    files: list[FolderFile],
    excluded: Counter[str],
) -> None:
    kind = KINDS.get(Path(entry.name).suffix.lower()) or _infer_kind(root, path)
    if not kind:
        excluded["unknown"] += 1
        return
    try:
        status = entry.stat(follow_symlinks=False)
    except OSError:
        excluded["unreadable"] += 1
        return
    files.append(FolderFile(path, kind, status.st_size, status.st_mtime_ns))
    if len(files) > MAX_FILES:
        raise InputError(
            f"A folder must have at most {MAX_FILES:,} readable files. Index its subfolders"
            " separately."
        )


def _infer_kind(root: Path, path: str) -> str:
    """Return "mbox" for a file without suffix that starts like a mailbox, else ""."""
    if Path(path).suffix:
        return ""
    try:
        with open_inside(root, path) as file:
            return "mbox" if BEGINS.match(file.readline(1_000)) else ""
    except OSError:
        return ""


MAX_TOTAL = 4 * 10**9  # characters of all texts
_FRESH = 2 * 10**9  # nanoseconds; two changes within them may have the same timestamp


@dataclass
class IndexChanges:
    """Number of new, changed, unchanged and removed files."""

    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0

    @property
    def any(self) -> bool:
        """Whether an existing index is out of date."""
        return bool(self.new or self.changed or self.removed)


def gather(
    root: Path,
    before: Collection | None = None,
    model: str = "",
    report: Report = no_progress,
    patience: float = PATIENCE,
) -> tuple[Collection, IndexChanges]:
    """Return a collection of the files in a folder, and what has changed.

    Documents are copied from `before` if a file has the same size, and the same time or digest.
    Files that were skipped for a transient reason are read again. Ids are paths in the folder,
    followed by the message number for mailboxes.

    Parameters
    ----------
    root
        The folder. Its path must not contain links.
    before
        An earlier collection of the same folder.
    model
        The encoder whose vectors will be in the index.
    patience
        Seconds to wait for a document.
    """
    files, excluded = walk(root)
    previous = before if before is not None and before.files is not None else None
    with ReaderProcess(root, patience) as reader:
        work = _Gathering(root, previous, reader)
        pages = work.documents(files, report)
        first = next(pages, None)
        if first is None:
            raise InputError(_no_documents(root, Listing(root, work.rows, excluded)))
        documents = Documents.of(chain([first], pages))
    changes = work.changes
    changes.removed = len(work.old.keys() - {row.path for row in work.rows})
    listing = Listing(root, work.rows, excluded, model)
    return Collection(root.name or "documents", documents, files=listing), changes


def _no_documents(root: Path, listing: Listing) -> str:
    count = sum(listing.skipped.values())
    return (
        f"{root} contains no readable documents ({count:,} files or folders were skipped). Add"
        " .txt, .md, .html, .pdf, .docx, .eml or .mbox files with text."
    )


@dataclass
class _Gathering:
    """Collects the documents of all files, copied or read, and the outcome for each file."""

    root: Path
    before: Collection | None
    reader: ReaderProcess
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
                        f"The texts of a folder must have at most {MAX_TOTAL:,} characters in"
                        " total. Index its subfolders separately."
                    )
                yield document
        report("reading files", len(files), len(files))

    def _of(self, file: FolderFile) -> Iterator[Document]:
        old, start = self.old.get(file.path, (None, 0))
        same = old is not None and self._is_same(old, file)
        if old is not None and same and old.settled:
            self.changes.unchanged += 1
            self.rows.append(old)
            yield from self._copy(start, old.documents)
            return
        yield from self._read(file)
        row = self.rows[-1]
        if old is None:
            self.changes.new += 1
        elif same and (row.documents, row.skipped) == (old.documents, old.skipped):
            self.changes.unchanged += 1  # retried, with the same outcome
        else:
            self.changes.changed += 1

    def _is_same(self, old: ListedFile, file: FolderFile) -> bool:
        if (old.kind, old.size) != (file.kind, file.size):
            return False
        return old.mtime == file.mtime or old.digest == self._digest(file) != ""

    def _copy(self, start: int, count: int) -> Iterator[Document]:
        if self.before is not None:
            packed = self.before.documents
            for i in range(start, start + count):
                yield Document(packed.ids[i], packed.titles[i], packed.texts[i])

    def _read(self, file: FolderFile) -> Iterator[Document]:
        skipped: Counter[str] = Counter()
        now, digest, documents = time.time_ns(), self._digest(file), 0
        if file.too_large:
            skipped["too-large"] += 1
        elif not digest:
            skipped["unreadable"] += 1
        else:
            for piece in self.reader.read(file.path, file.kind):
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
