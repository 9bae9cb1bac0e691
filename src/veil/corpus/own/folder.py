"""The files of a folder that are read, and how many of it are not."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from veil.core.errors import InputError
from veil.corpus.collection import KIND
from veil.corpus.own.inside import open_inside
from veil.corpus.readers import KINDS
from veil.corpus.readers.mbox import BEGINS
from veil.corpus.readers.reading import MAX_BYTES, MAX_MAILBOX
from veil.data.arrays import kind_of_folder

MAX_FILES = 1_000_000
_MAX_PATH = 4_000  # characters


class Found(NamedTuple):
    """A file that can be read: its path in the folder, and what tells whether it changed."""

    path: str
    kind: str
    size: int
    mtime: int  # nanoseconds

    @property
    def too_large(self) -> bool:
        """Whether it is not even tried."""
        return self.size > (MAX_MAILBOX if self.kind == "mbox" else MAX_BYTES)


def walk(root: Path) -> tuple[list[Found], Counter[str]]:
    """Return the files below a folder by their paths, and how much is left out, by reason.

    Left out are hidden files and folders, symbolic links, what is neither file nor folder, indexes
    of Veil, and files of other kinds.
    """
    files: list[Found] = []
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
    root: Path, entry: "os.DirEntry[str]", path: str, files: list[Found], left: Counter[str]
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
    files.append(Found(path, kind, told.st_size, told.st_mtime_ns))
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
