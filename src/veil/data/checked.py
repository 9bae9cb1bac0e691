"""Files that were checked before need not be read again until they change.

A record in the cache folder holds, for each file of a folder, its SHA-256 and what the system says
about it: size, times of change, number on the disk. While that stays the same the file is taken to
be the same. Bytes that change without a change of all that (a failing disk, a restored clock) are
found by a whole check only: ``veil vectors check``.
"""

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from veil.core.errors import InputError
from veil.data.fetch import cache_folder
from veil.data.files import digest, whole_file

_VERSION = 1  # of the record and of what a whole check looks at
_MAX_RECORD = 2**20  # bytes
_RECENT = 2_000_000_000  # nanoseconds: a file changed so shortly before may change unseen

Sums = dict[str, str]  # SHA-256 of files, by their names


def sums_of(folder: Path, names: Iterable[str]) -> Sums:
    """Read files to their ends, and return their SHA-256."""
    return {name: digest(folder / name, "sha256") for name in names}


def known_sums(folder: Path, names: Iterable[str]) -> Sums | None:
    """Return the SHA-256 of files that were checked and have not changed since, else None."""
    try:
        file = _record(folder)
        if file.stat().st_size > _MAX_RECORD:
            return None
        found = json.loads(file.read_text(encoding="utf-8"))
        if found["version"] != _VERSION or found["stamps"] != _stamps(folder, names):
            return None
        return {name: str(found["sums"][name]) for name in names}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def remember(folder: Path, sums: Mapping[str, str], since: int) -> None:
    """Note that files were checked from the time `since` on, if they are old enough to tell."""
    with suppress(OSError, InputError):  # a cache that cannot be written: check each time
        stamps = _stamps(folder, sums)
        newest = max(max(stamp[1:3]) for stamp in stamps.values())
        if newest > since - _RECENT:
            return
        record = {"version": _VERSION, "stamps": stamps, "sums": dict(sums)}
        _record(folder).parent.mkdir(parents=True, exist_ok=True)
        with whole_file(_record(folder)) as part:
            part.write_text(json.dumps(record, indent=1), encoding="utf-8")


def forget(folder: Path) -> None:
    """Have the files of a folder checked in full the next time."""
    with suppress(OSError):
        _record(folder).unlink(missing_ok=True)


def have_sums(folder: Path, wanted: Mapping[str, str]) -> bool:
    """Tell whether files have these SHA-256; they are read once per change."""
    if known_sums(folder, wanted) == wanted:
        return True
    since = time.time_ns()
    try:
        right = sums_of(folder, wanted) == wanted
    except OSError:
        return False
    if right:
        remember(folder, wanted, since)
    return right


def _record(folder: Path) -> Path:
    """File of the record; the path itself is not told."""
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return cache_folder() / "checked" / f"{name[:32]}.json"


def _stamps(folder: Path, names: Iterable[str]) -> dict[str, list[int]]:
    found = {name: (folder / name).stat() for name in names}
    return {
        name: [each.st_size, each.st_mtime_ns, each.st_ctime_ns, each.st_ino]
        for name, each in found.items()
    }
