"""Folders of arrays with checksums, and strings packed into arrays."""

import hashlib
import json
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids
from veil.data.files import digest, whole_folder

Array = NDArray[Any]
_META = "meta.json"
_MAX_META = 2**20  # bytes


def save_arrays(
    folder: Path, kind: str, version: int, arrays: Mapping[str, Array], facts: Mapping[str, object]
) -> None:
    """Write arrays and some facts about them to a new folder that only its owner can read.

    The folder is written completely or not at all.
    """
    with whole_folder(folder, private=True) as part:
        sums = {}
        for name, array in arrays.items():
            np.save(part / f"{name}.npy", array, allow_pickle=False)
            sums[name] = digest(part / f"{name}.npy", "sha256")
        meta: dict[str, object] = {"kind": kind, "version": version, "sha256": sums}
        meta["facts"] = dict(facts)
        meta["whole"] = _digest_of(meta)
        (part / _META).write_text(json.dumps(meta, indent=1), encoding="utf-8")


def kind_of_folder(folder: Path) -> str:
    """Return the kind of a folder of arrays, or "" for any other folder."""
    meta = _meta(folder)
    return str(meta.get("kind", ""))


def open_arrays(
    folder: Path, kind: str, version: int
) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """Return the memory-mapped arrays and the facts of a folder, or None if it is not valid."""
    meta = _meta(folder)
    recorded = meta.pop("whole", None)
    if meta.get("kind") != kind or meta.get("version") != version or recorded != _digest_of(meta):
        return None
    arrays: dict[str, Array] = {}
    with suppress(OSError, ValueError, EOFError, TypeError, AttributeError, LookupError):
        for name, expected in meta["sha256"].items():
            file = folder / f"{Path(name).name}.npy"
            if digest(file, "sha256") != expected:
                return None
            arrays[name] = _map(file)
        return arrays, dict(meta["facts"])
    return None


def _digest_of(meta: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _map(file: Path) -> Array:
    """Memory-map an array. An empty array cannot be mapped, so it is read."""
    array: Array
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError:
        array = np.load(file, allow_pickle=False)
        if array.size:
            raise
    return array


def discard(folder: Path) -> None:
    """Remove a folder that cannot be used."""
    shutil.rmtree(folder, ignore_errors=True)


def _meta(folder: Path) -> dict[str, Any]:
    file = folder / _META
    with suppress(OSError, ValueError, RecursionError):
        if file.stat().st_size <= _MAX_META:
            meta = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(meta, dict):
                return meta
    return {}


_CHUNK = 4096


class Strings(Sequence[str]):
    """A sequence of strings, decoded on access. The arrays may be memory-mapped.

    >>> many = Strings.of(["skin", "", "Bänder"])
    >>> len(many), many[2], list(many)
    (3, 'Bänder', ['skin', '', 'Bänder'])
    """

    def __init__(self, blob: NDArray[np.uint8], offsets: Ids) -> None:
        self.blob = blob
        self.offsets = offsets  # (n + 1,)

    @classmethod
    def of(cls, strings: Iterable[str]) -> "Strings":
        """Return the strings in packed form."""
        builder = StringsBuilder()
        for string in strings:
            builder.add(string)
        return builder.done()

    def arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Return the two arrays by their names on disk."""
        return {f"{name}-blob": self.blob, f"{name}-offsets": self.offsets}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], name: str) -> "Strings":
        """Return the strings of such arrays."""
        return cls(arrays[f"{name}-blob"], arrays[f"{name}-offsets"])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if not -len(self) <= position < len(self):
            raise IndexError(position)
        start, end = self.offsets[position % len(self) :][:2]
        return bytes(self.blob[start:end]).decode()

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _CHUNK):
            cuts = np.asarray(self.offsets[first : first + _CHUNK + 1])
            data = bytes(self.blob[cuts[0] : cuts[-1]])
            for start, end in pairwise((cuts - cuts[0]).tolist()):
                yield data[start:end].decode()

    def __reduce__(self) -> tuple[Any, ...]:
        return Strings, (np.asarray(self.blob), np.asarray(self.offsets))


class StringsBuilder:
    """Packs strings one by one."""

    def __init__(self) -> None:
        self._blob = bytearray()
        self._ends = [0]

    def add(self, string: str) -> None:
        """Add one string."""
        try:
            self._blob += string.encode()
        except UnicodeEncodeError:
            raise InputError(
                f"String {len(self._ends):,} has a lone surrogate, which is not text. Decode the"
                " input with the right encoding."
            ) from None
        self._ends.append(len(self._blob))

    def done(self) -> Strings:
        """Return the added strings."""
        return Strings(
            np.frombuffer(bytes(self._blob), dtype=np.uint8), np.array(self._ends, dtype=np.int64)
        )
