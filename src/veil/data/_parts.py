"""Unfinished files and folders: without a name where the system can, else locked while in use.

A file without a name is gone with the process that writes it, however that ends. Where there is
none, an unfinished file or folder has a name of ours and a lock; a later run takes away those
whose lock is free, because nobody works on them any more.
"""

import ctypes
import os
import re
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":  # there nothing is locked, and nothing cleared
    import fcntl

_NAME = re.compile(r"\.veil-[0-9a-f]{16}\.part")
_HERE, _EXCHANGE = -100, 2  # of renameat2: paths as they are, and both stay
_OPEN = "/proc/self/fd"  # names of what this process has open


def open_part(folder: Path) -> tuple[int, Path]:
    """Open a file for its owner alone, to be given its name later; return it and a path to it."""
    with suppress(OSError, AttributeError):  # no such system, or no such file system
        _try_out(folder)
        handle = _nameless(folder)
        _lock(handle, without=True)  # for the instant in which it has a name of ours
        return handle, Path(_OPEN, str(handle))
    return _named(folder, directory=False)


def open_folder(folder: Path) -> tuple[int, Path]:
    """Make a folder for its owner alone, to be renamed later; return its lock and its path."""
    return _named(folder, directory=True)


def settle(handle: int, part: Path, target: Path) -> None:
    """Give an unfinished file its name; what had that name is replaced."""
    if part.parent == Path(_OPEN):
        with suppress(FileExistsError):
            _link(handle, target)
            return
        part = target.with_name(_new_name())  # for the instant between the two steps
        _link(handle, part)
    try:
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Let two names of one folder change places in one step; False where the system cannot."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)


def clear_stale(folder: Path) -> None:
    """Take away what runs of this user left unfinished in a folder when they were killed."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                _clear(Path(entry.path))


def discard(handle: int, part: Path) -> None:
    """Close an unfinished file or folder, and remove it if it still has a name of its own."""
    if part.parent != Path(_OPEN):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    os.close(handle)


def _named(folder: Path, *, directory: bool) -> tuple[int, Path]:
    """Make a file or folder with a name of ours, and lock it."""
    while True:
        part = folder / _new_name()
        if directory:
            part.mkdir(mode=0o700)
        new = os.O_RDONLY if directory else os.O_RDWR | os.O_CREAT | os.O_EXCL
        handle = os.open(part, new, 0o600)
        if _lock(handle, without=True) and part.exists():
            return handle, part
        os.close(handle)  # another run took it for a stale one before it was locked


def _link(handle: int, name: Path) -> None:
    """Give what is open a name."""
    where = os.open(_OPEN, os.O_RDONLY)
    try:
        os.link(str(handle), name, src_dir_fd=where)  # follows the link to what is open
    finally:
        os.close(where)


def _nameless(folder: Path) -> int:
    return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)


def _try_out(folder: Path) -> None:
    """Raise if a file without a name cannot be given one: by an empty one, which is used up."""
    trial = folder / _new_name()
    handle = _nameless(folder)
    try:
        _link(handle, trial)
        trial.unlink(missing_ok=True)
    finally:
        os.close(handle)


def _clear(part: Path) -> None:
    with suppress(OSError):
        handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            if os.fstat(handle).st_uid == os.geteuid() and _lock(handle, without=False):
                shutil.rmtree(part, ignore_errors=True) if part.is_dir() else part.unlink()
        finally:
            os.close(handle)


def _lock(handle: int, *, without: bool) -> bool:
    """Lock a file or folder as long as it is open; False if it is taken, else `without` locks."""
    if sys.platform == "win32":
        return without
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without
    return True


def _new_name() -> str:
    return f".veil-{secrets.token_hex(8)}.part"
