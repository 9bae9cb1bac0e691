"""What an index of a folder knows of its files, and how one of them is opened safely."""

import errno
import json
import os
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, Self

from veil.corpus.readers.reader import AGAIN, REASONS
from veil.data.arrays import Array, Strings

_FOLLOWS_NOT = getattr(os, "O_NOFOLLOW", 0)
_WALKS = os.open in os.supports_dir_fd and _FOLLOWS_NOT and hasattr(os, "O_DIRECTORY")


def open_inside(root: Path, path: str) -> BufferedReader:
    """Open the file at a relative path; raises `OSError` for whatever is no file in the folder.

    Where the system can, every folder on the way is opened in the one before it, so that nothing
    that is put in its place meanwhile leads elsewhere.
    """
    parts = path.split("/")
    if not all(parts) or "." in parts or ".." in parts or "\0" in path or "\\" in path:
        raise OSError(errno.EACCES, "not a path in the folder")
    handle = _walked(root, parts) if _WALKS else _resolved(root, parts)
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError(errno.EACCES, "not a file")
    return file


def _walked(root: Path, parts: list[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _FOLLOWS_NOT, dir_fd=folder)
            os.close(folder)
            folder = inner
        flags = os.O_RDONLY | _FOLLOWS_NOT | os.O_NONBLOCK  # a pipe must not make us wait
        return os.open(parts[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _resolved(root: Path, parts: list[str]) -> int:
    file = root.joinpath(*parts)
    if file.resolve(strict=True) != root.resolve(strict=True).joinpath(*parts):
        raise OSError(errno.EACCES, "a link")
    return os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))


_NAME = "file"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file.

    Attributes
    ----------
    path
        In the folder, with slashes.
    mtime
        In nanoseconds; 0 where it was too fresh to tell a later change by it.
    digest
        SHA-256 of the content; empty for a file that was too large to be looked at.
    documents
        How many it gave; they stand together in the index, in the order of the files.
    skipped
        How much of it was skipped, by reason.
    """

    path: str
    kind: str
    size: int
    mtime: int
    digest: str
    documents: int
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def settled(self) -> bool:
        """Whether reading it again would bring the same."""
        return not AGAIN & set(self.skipped)


@dataclass(frozen=True, eq=False)
class Listing:
    """All files of a folder, in order of their paths.

    Attributes
    ----------
    root
        The folder.
    left
        What else is in it, by reason.
    model
        The encoder whose vectors are in the index, or nothing.
    """

    root: Path
    rows: Sequence[ListedFile]
    left: Mapping[str, int] = field(default_factory=dict)
    model: str = ""

    @property
    def skipped(self) -> Counter[str]:
        """How much was skipped, by reason: files, and messages of mailboxes."""
        total = Counter(self.left)
        for row in self.rows:
            total.update(row.skipped)
        return total

    @cached_property
    def starts(self) -> list[int]:
        """Return the place of each file's first document."""
        places, place = [], 0
        for row in self.rows:
            places.append(place)
            place += row.documents
        return places

    def file_of(self, name: str) -> tuple[ListedFile, int] | None:
        """Return the file of a document by its id, and where the documents of the file begin."""
        row = self._by_path.get(name)
        if row is None or row[0].kind == "mbox":
            row = self._by_path.get(name.rpartition("/")[0])
            if row is None or row[0].kind != "mbox":
                return None
        return row

    @cached_property
    def _by_path(self) -> dict[str, tuple[ListedFile, int]]:
        return {row.path: (row, start) for row, start in zip(self.rows, self.starts, strict=True)}

    def facts(self) -> dict[str, Any]:
        """Return what is kept beside the arrays."""
        return {"root": str(self.root), "left": dict(self.left), "model": self.model}

    def arrays(self) -> dict[str, Array]:
        """Return the files as arrays."""
        lines = (
            json.dumps([r.path, r.kind, r.size, r.mtime, r.digest, r.documents, dict(r.skipped)])
            for r in self.rows
        )
        return dict(Strings.of(lines).arrays(_NAME))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], facts: Mapping[str, Any]) -> Self:
        """Put a listing together; raises `ValueError` or `LookupError` for what is none."""
        rows = []
        for line in Strings.from_arrays(arrays, _NAME):
            path, kind, size, mtime, digest, documents, skipped = json.loads(line)
            if not set(skipped) <= set(REASONS):
                raise ValueError("an unknown reason")
            counts = {str(name): int(count) for name, count in skipped.items()}
            sizes = int(size), int(mtime)
            rows.append(
                ListedFile(str(path), str(kind), *sizes, str(digest), int(documents), counts)
            )
        left = {name: int(facts["left"][name]) for name in facts["left"] if name in REASONS}
        return cls(Path(str(facts["root"])), rows, left, str(facts["model"]))
