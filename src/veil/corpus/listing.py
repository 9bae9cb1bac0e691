"""The list of files in an index, and safe access to one of them."""

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

_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd and _NO_FOLLOW and hasattr(os, "O_DIRECTORY")


def open_inside(root: Path, path: str) -> BufferedReader:
    """Open the file at a relative path, or raise `OSError` if it is not a file in the folder.

    If the system supports it, every folder on the path is opened relative to its parent, so that
    a link placed in the meantime cannot lead out of the folder.
    """
    parts = path.split("/")
    if not all(parts) or "." in parts or ".." in parts or "\0" in path or "\\" in path:
        raise OSError(errno.EACCES, "not a path in the folder")
    handle = _open_stepwise(root, parts) if _HAS_DIR_FD else _open_resolved(root, parts)
    file = os.fdopen(handle, "rb")
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        file.close()
        raise OSError(errno.EACCES, "not a file")
    return file


def _open_stepwise(root: Path, parts: list[str]) -> int:
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | _NO_FOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        flags = os.O_RDONLY | _NO_FOLLOW | os.O_NONBLOCK  # never wait for a pipe
        return os.open(parts[-1], flags, dir_fd=folder)
    finally:
        os.close(folder)


def _open_resolved(root: Path, parts: list[str]) -> int:
    file = root.joinpath(*parts)
    if file.resolve(strict=True) != root.resolve(strict=True).joinpath(*parts):
        raise OSError(errno.EACCES, "a link")
    return os.open(file, os.O_RDONLY | getattr(os, "O_BINARY", 0))


_NAME = "file"


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One indexed file.

    Attributes
    ----------
    path
        Path in the folder, with slashes.
    mtime
        Time in nanoseconds; 0 if it was too recent to detect a later change.
    digest
        SHA-256 of the content; empty if the file was too large to read.
    documents
        Number of its documents, which are consecutive in the index, in the order of the files.
    skipped
        Number of skipped parts, by reason.
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
        """Whether reading the file again would give the same documents."""
        return not AGAIN & set(self.skipped)


@dataclass(frozen=True, eq=False)
class Listing:
    """All files of a folder, in the order of their paths.

    Attributes
    ----------
    root
        The folder.
    excluded
        Number of other entries in it, by reason.
    model
        The encoder whose vectors are in the index, or "".
    """

    root: Path
    rows: Sequence[ListedFile]
    excluded: Mapping[str, int] = field(default_factory=dict)
    model: str = ""

    @property
    def skipped(self) -> Counter[str]:
        """Number of skipped files and mailbox messages, by reason."""
        total = Counter(self.excluded)
        for row in self.rows:
            total.update(row.skipped)
        return total

    @cached_property
    def starts(self) -> list[int]:
        """The position of each file's first document."""
        starts, start = [], 0
        for row in self.rows:
            starts.append(start)
            start += row.documents
        return starts

    def file_of(self, name: str) -> tuple[ListedFile, int] | None:
        """Return the file of a document by its id, and the position of the file's documents."""
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
        """Return the values that are saved next to the arrays."""
        return {"root": str(self.root), "left": dict(self.excluded), "model": self.model}

    def arrays(self) -> dict[str, Array]:
        """Return the files as arrays."""
        lines = (
            json.dumps([r.path, r.kind, r.size, r.mtime, r.digest, r.documents, dict(r.skipped)])
            for r in self.rows
        )
        return dict(Strings.of(lines).arrays(_NAME))

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array], facts: Mapping[str, Any]) -> Self:
        """Return the listing of such arrays and facts. Raise `ValueError` or `LookupError`."""
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
        counts = facts["left"]
        excluded = {name: int(counts[name]) for name in counts if name in REASONS}
        return cls(Path(str(facts["root"])), rows, excluded, str(facts["model"]))
