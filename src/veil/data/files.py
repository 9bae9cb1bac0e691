"""Files and folders that appear whole or not at all."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from veil.core.errors import InputError
from veil.data._parts import clear_stale, discard, exchange, open_folder, open_part, settle


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
    if not target.parent.is_dir():
        raise InputError(f"There is no folder {target.parent}; make it first.")
