"""Files and folders that appear whole or not at all, and folders that only their owner can write.

Unfinished files and folders: without a name where the system can, else locked while in use.
A file without a name is gone with the process that writes it, however that ends. Where there is
none, an unfinished file or folder has a name of ours and a lock; a later run takes away those
whose lock is free, because nobody works on them any more.
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

if sys.platform != "win32":  # there nothing is locked, and nothing cleared
    import fcntl

_NAME = re.compile(r"\.veil-[0-9a-f]{16}\.part")
_FORMER = re.compile(r"veil-[a-z0-9_]{8}")  # folders of pages, until version 0.2.0
_UPLOADS = {"released.csv", "table.csv"} | {
    f"{name}.{kind}" for name in ("points", "register", "masked") for kind in ("csv", "geojson")
}
_FRESH = 60.0  # seconds
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


def settle_first(handle: int, part: Path, target: Path) -> None:
    """Give an unfinished file its name, unless there is something of that name: that stays."""
    with suppress(FileExistsError):
        if part.parent == Path(_OPEN):
            _link(handle, target)
        else:
            os.link(part, target)


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


@contextmanager
def whole_file(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a path to write to; it becomes `target` on success and is removed on failure.

    The path is good in this process alone: where the system can, what is written has no name until
    it is whole, so that it is gone with a process that is killed. Elsewhere the next one that
    writes to the same folder removes it. `private` gives the file owner-only permissions;
    otherwise the usual ones of the user.
    """
    require_folder(target)
    clear_stale(target.parent)
    try:
        handle, part = open_part(target.parent)
    except OSError as error:
        raise InputError(f"{target} cannot be written ({error.strerror}).") from None
    try:
        yield part
        if not private:
            kept = target.stat().st_mode & 0o777 if target.is_file() else 0o666 & ~_umask()
            part.chmod(kept)
        os.fsync(handle)
        settle(handle, part, target)
    finally:
        discard(handle, part)


@contextmanager
def whole_folder(target: Path, *, private: bool = False) -> Iterator[Path]:
    """Give a folder to fill; it becomes `target` on success and is removed on failure.

    When another process was faster, its folder stays and ours is thrown away. `private` gives
    the folder owner-only permissions; otherwise the usual ones of the user. What a killed process
    left is removed by the next one that makes something in the same folder.
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
    """Give a folder among the temporary ones, for its owner alone, which is removed afterwards.

    What a killed process left is removed by the next one, see `clear_temporary`.
    """
    home = Path(tempfile.gettempdir())
    clear_stale(home)
    handle, part = open_folder(home)
    try:
        yield part
    finally:
        discard(handle, part)


def clear_temporary() -> None:
    """Remove what killed processes of this user left among the temporary files.

    Until version 0.2.0 pages wrote what they read to a folder there, without a lock: such folders
    are removed when nothing has changed in them for a minute.
    """
    home = Path(tempfile.gettempdir())
    clear_stale(home)
    with suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            if _FORMER.fullmatch(entry.name):
                _clear_former(Path(entry.path))


def _clear_former(folder: Path) -> None:
    with suppress(OSError):
        found = folder.lstat()
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not own or not stat.S_ISDIR(found.st_mode):
            return
        files = list(folder.iterdir())
        latest = max([found.st_mtime, *(file.lstat().st_mtime for file in files)])
        if time.time() - latest > _FRESH and {file.name for file in files} <= _UPLOADS:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """Give a folder to fill; on success it takes the place of the folder `target`.

    On Linux that is one step, so that there is the old or the new one at any moment; elsewhere the
    old one has another name for an instant. It stays on failure. The new one is for its owner
    alone.
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
    """Have a folder out of the way; it comes back on failure, and is gone on success."""
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
    """Raise if a file cannot be written there: the name of a folder, or in no folder."""
    if target.is_dir():
        raise InputError(f"{target} is a folder; name a file to write to.")
    require_parent(target)


def require_parent(target: Path) -> None:
    """Raise unless the folder that a new file or folder is to be in is there.

    No command makes folders above what it writes: a name that is mistyped makes none.
    """
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}; make it first.")


_OTHERS = 0o022  # may be written by the group or by all
_ALL = 0o002  # may be written by all
_LINKS = 40  # on the way to a folder, as systems have it
_ANYBODY = 0o077  # may be used in any way by the group or by all


def is_own(folder: Path) -> bool:
    """Tell whether what lies in a folder can only have been put there by this user (or root).

    The folder must be this user's, closed to all others, and no link; its files must be this
    user's, and not open to writing by others; nobody else may be able to exchange the folder, one
    above it, or any link on the way to it. False where the system does not tell owners apart.
    """
    if not hasattr(os, "geteuid"):
        return False
    try:
        own = folder.lstat()
        if not stat.S_ISDIR(own.st_mode) or not _private(own):
            return False
        return _all_safe(_way(folder)) and all(map(_own_file, folder.iterdir()))
    except OSError:
        return False


def make_own(folder: Path) -> bool:
    """Make a folder for this user alone if it is not there, and tell whether it is such."""
    try:
        folder.parent.parent.mkdir(parents=True, exist_ok=True)
        for each in (folder.parent, folder):
            each.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return False
    return is_own(folder)


def _private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & _ANYBODY


def _way(folder: Path) -> list[Path]:
    """Return the folders in which the parts of a path are looked up, from the top.

    They are those of every link on the way, too, each without a link in its own path.
    """
    found, here = set(), Path(folder.absolute().anchor)
    left = list(folder.absolute().parts[1:])
    links = 0
    while left:
        part = left.pop(0)
        if part == os.pardir:
            here = here.parent
            continue
        found.add(here)
        following = here / part
        if not following.is_symlink():
            here = following
            continue
        links += 1
        if links > _LINKS or following.lstat().st_uid not in (0, os.geteuid()):
            raise PermissionError  # whose it is may let it lead elsewhere
        target = following.readlink()
        here = Path(target.anchor) if target.is_absolute() else here
        left = [each for each in target.parts if each != target.anchor] + left
    return sorted(each for each in found if each.name)  # not the root


def _all_safe(above: list[Path]) -> bool:
    """Tell whether no folder of a path, from the top, lets others exchange what is in it.

    A group may write below a folder that only its owner gets into, as with a umask of 002.
    """
    closed: list[Path] = []
    for folder in above:
        found = folder.stat()
        inside = any(folder.is_relative_to(each) for each in closed)
        writers = found.st_mode & (_ALL if inside else _OTHERS)
        sticky = found.st_mode & stat.S_ISVTX  # only the owner of a thing may exchange it
        if found.st_uid not in (0, os.geteuid()) or (writers and not sticky):
            return False
        if _private(found):
            closed.append(folder)
    return True


def _own_file(path: Path) -> bool:
    try:
        found = path.lstat()
    except FileNotFoundError:  # a temporary one of another process
        return True
    regular = stat.S_ISREG(found.st_mode)
    return regular and found.st_uid == os.geteuid() and not found.st_mode & _OTHERS
