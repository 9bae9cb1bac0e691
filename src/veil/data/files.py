"""Write files and folders completely or not at all, and check that a folder is owner-only.

If the system supports it, an unfinished file has no name, so it vanishes with its process.
Otherwise an unfinished file or folder has a temporary name and a lock. A later run deletes those
whose lock is free, because no process uses them any more.
"""

import ctypes
import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from veil.core.errors import InputError

if sys.platform != "win32":  # on Windows nothing is locked or deleted
    import fcntl

_NAME = re.compile(r"\.veil-[0-9a-f]{16}\.part")
_FORMER = re.compile(r"veil-[a-z0-9_]{8}")  # folders of pages, until version 0.2.0
_UPLOADS = {"released.csv", "table.csv"} | {
    f"{name}.{kind}" for name in ("points", "register", "masked") for kind in ("csv", "geojson")
}
_FRESH = 60.0  # seconds
_HERE, _EXCHANGE = -100, 2  # renameat2: AT_FDCWD, RENAME_EXCHANGE
_OPEN = "/proc/self/fd"  # the open files of this process


def open_part(folder: Path) -> tuple[int, Path]:
    """Open an unfinished owner-only file, and return its handle and a path to it."""
    with suppress(OSError, AttributeError):  # not supported by the system or file system
        _try_out(folder)
        handle = _nameless(folder)
        _lock(handle, without=True)  # for the instant in which it has a temporary name
        return handle, Path(_OPEN, str(handle))
    return _create_locked(folder, directory=False)


def open_folder(folder: Path) -> tuple[int, Path]:
    """Create an unfinished owner-only folder, and return its lock and its path."""
    return _create_locked(folder, directory=True)


def settle(handle: int, part: Path, target: Path) -> None:
    """Give an unfinished file its name, replacing an existing file."""
    if part.parent == Path(_OPEN):
        with suppress(FileExistsError):
            _link(handle, target)
            return
        part = target.with_name(_new_name())  # between the two steps
        _link(handle, part)
    try:
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def settle_first(handle: int, part: Path, target: Path) -> None:
    """Give an unfinished file its name, unless the name exists."""
    with suppress(FileExistsError):
        if part.parent == Path(_OPEN):
            _link(handle, target)
        else:
            os.link(part, target)


def exchange(first: Path, second: Path) -> bool:
    """Swap two names atomically. Return False if the system does not support it."""
    if sys.platform != "linux":
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    names = os.fsencode(first), os.fsencode(second)
    return bool(rename(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0)


def clear_stale(folder: Path) -> None:
    """Delete unfinished files and folders that killed runs of this user left in a folder."""
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if _NAME.fullmatch(entry.name):
                _clear(Path(entry.path))


def discard(handle: int, part: Path) -> None:
    """Close an unfinished file or folder, and delete it if it still has its temporary name."""
    if part.parent != Path(_OPEN):
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        else:
            part.unlink(missing_ok=True)
    os.close(handle)


def _create_locked(folder: Path, *, directory: bool) -> tuple[int, Path]:
    """Create a file or folder with a temporary name, and lock it."""
    while True:
        part = folder / _new_name()
        if directory:
            part.mkdir(mode=0o700)
        new = os.O_RDONLY if directory else os.O_RDWR | os.O_CREAT | os.O_EXCL
        handle = os.open(part, new, 0o600)
        if _lock(handle, without=True) and part.exists():
            return handle, part
        os.close(handle)  # another run deleted it as stale before it was locked


def _link(handle: int, name: Path) -> None:
    """Give an open file a name."""
    where = os.open(_OPEN, os.O_RDONLY)
    try:
        os.link(str(handle), name, src_dir_fd=where)  # follows the link to the open file
    finally:
        os.close(where)


def _nameless(folder: Path) -> int:
    return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)


def _try_out(folder: Path) -> None:
    """Raise if a file without a name cannot be linked, by trying it with an empty file."""
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
    """Lock an open file or folder. False if it is locked; `without` if there are no locks."""
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


@contextmanager
def whole_file(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a path to write to, which becomes `target` on success and is deleted on failure.

    The path is valid in this process only. If the system supports it, the unfinished file has no
    name, so it vanishes if the process is killed. Otherwise the next process that writes to the
    same folder deletes it. With `private`, only the owner can read the file; otherwise it has the
    user's default permissions.
    """
    require_folder(target)
    clear_stale(target.parent)
    try:
        handle, part = open_part(target.parent)
    except OSError as error:
        raise InputError(
            f"Cannot write {target} ({error.strerror}). Choose another file."
        ) from None
    try:
        yield part
        if not private:
            mode = target.stat().st_mode & 0o777 if target.is_file() else 0o666 & ~_umask()
            part.chmod(mode)
        os.fsync(handle)
        settle(handle, part, target)
    finally:
        discard(handle, part)


@contextmanager
def whole_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Yield a folder to fill, which becomes `target` on success and is deleted on failure.

    If another process creates `target` first, its folder is kept. With `private`, only the owner
    can read the folder; otherwise it has the user's default permissions. The next process that
    writes to the same parent deletes the leftovers of a killed process.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_stale(target.parent)
    handle, part = open_folder(target.parent)
    try:
        yield part
        part.chmod(0o700 if private else 0o777 & ~_umask())
        try:
            part.rename(target)
        except OSError:
            if not target.is_dir():
                raise
    finally:
        discard(handle, part)


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield an owner-only temporary folder, which is deleted afterwards.

    The next process deletes the leftovers of a killed one; see `clear_temporary`.
    """
    home = Path(tempfile.gettempdir())
    clear_stale(home)
    handle, part = open_folder(home)
    try:
        yield part
    finally:
        discard(handle, part)


def clear_temporary() -> None:
    """Delete the temporary files and folders that killed processes of this user left.

    Until version 0.2.0, pages wrote uploads to a temporary folder without a lock. Such folders are
    deleted if they have not changed for a minute.
    """
    home = Path(tempfile.gettempdir())
    clear_stale(home)
    with suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            if _FORMER.fullmatch(entry.name):
                _clear_former(Path(entry.path))


def _clear_former(folder: Path) -> None:
    with suppress(OSError):
        status = folder.lstat()
        own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
        if not own or not stat.S_ISDIR(status.st_mode):
            return
        files = list(folder.iterdir())
        latest = max([status.st_mtime, *(file.lstat().st_mtime for file in files)])
        if time.time() - latest > _FRESH and {file.name for file in files} <= _UPLOADS:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Yield an owner-only folder to fill, which replaces the folder `target` on success.

    On Linux the swap is atomic; elsewhere the old folder is renamed for an instant. On failure the
    old folder is kept.
    """
    clear_stale(target.parent)
    handle, part = open_folder(target.parent)
    try:
        yield part
        if not exchange(part, target):
            with set_aside(target):
                part.rename(target)
    finally:
        discard(handle, part)


@contextmanager
def set_aside(folder: Path) -> Iterator[None]:
    """Move a folder away. It is restored on failure, and deleted on success."""
    if not folder.exists():
        yield
        return
    aside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".old", dir=folder.parent))
    folder.rename(aside / folder.name)
    try:
        yield
    except BaseException:
        if not folder.exists():
            (aside / folder.name).rename(folder)
        raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def digest(path: Path, algorithm: str) -> str:
    """Return the hexadecimal digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def require_folder(target: Path) -> None:
    """Raise if `target` is a folder, or its parent folder does not exist."""
    if target.is_dir():
        raise InputError(f"{target} is a folder. Choose a file name.")
    require_parent(target)


def require_parent(target: Path) -> None:
    """Raise unless the parent folder of a new file or folder exists.

    No command creates parent folders, so a typing error creates none.
    """
    if not target.parent.is_dir():
        raise InputError(f"Folder {target.parent} does not exist. Create it first.")


_OTHERS = 0o022  # writable by the group or by everybody
_ALL = 0o002  # writable by everybody
_LINKS = 40  # maximum links in a path, the limit of common systems
_ANYBODY = 0o077  # any permission of the group or of everybody


def is_own(folder: Path) -> bool:
    """Return whether only this user (or root) can have written the files in a folder.

    The folder must belong to this user, be closed to all others, and not be a link. Its files must
    belong to this user and not be writable by others. Nobody else may be able to replace the
    folder, a parent, or a link in its path. False if the system has no file owners.
    """
    if not hasattr(os, "geteuid"):
        return False
    try:
        own = folder.lstat()
        if not stat.S_ISDIR(own.st_mode) or not _private(own):
            return False
        return _all_safe(_parents(folder)) and all(map(_own_file, folder.iterdir()))
    except OSError:
        return False


def make_own(folder: Path) -> bool:
    """Create an owner-only folder unless it exists, and return `is_own` of it."""
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for path in (folder.parent, folder):
            path.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_own(folder)


def _private(status: os.stat_result) -> bool:
    return status.st_uid == os.geteuid() and not status.st_mode & _ANYBODY


def _parents(folder: Path) -> list[Path]:
    """Return the folders in which the parts of a path are looked up, from the top.

    This includes the folders on the paths of all links. No returned path contains a link.
    """
    folders, here = set(), Path(folder.absolute().anchor)
    parts = list(folder.absolute().parts[1:])
    links = 0
    while parts:
        part = parts.pop(0)
        if part == os.pardir:
            here = here.parent
            continue
        folders.add(here)
        following = here / part
        if not following.is_symlink():
            here = following
            continue
        links += 1
        if links > _LINKS or following.lstat().st_uid not in (0, os.geteuid()):
            raise PermissionError  # the link's owner may change its target
        target = following.readlink()
        here = Path(target.anchor) if target.is_absolute() else here
        parts = [name for name in target.parts if name != target.anchor] + parts
    return sorted(path for path in folders if path.name)  # not the root


def _all_safe(above: list[Path]) -> bool:
    """Return whether no folder of a path, from the top, lets others replace its entries.

    A group may have write access below an owner-only folder, as with a umask of 002.
    """
    closed: list[Path] = []
    for folder in above:
        status = folder.stat()
        inside = any(folder.is_relative_to(parent) for parent in closed)
        writers = status.st_mode & (_ALL if inside else _OTHERS)
        sticky = status.st_mode & stat.S_ISVTX  # only the owner of an entry may replace it
        if status.st_uid not in (0, os.geteuid()) or (writers and not sticky):
            return False
        if _private(status):
            closed.append(folder)
    return True


def _own_file(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:  # a temporary file of another process
        return True
    regular = stat.S_ISREG(status.st_mode)
    return regular and status.st_uid == os.geteuid() and not status.st_mode & _OTHERS
