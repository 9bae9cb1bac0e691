"""Open a file of a folder to read it, and none outside: no link is followed on the way."""

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

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
