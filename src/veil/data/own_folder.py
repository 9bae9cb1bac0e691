"""Folders that nobody but their owner can have put anything into."""

import os
import stat
from pathlib import Path

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
