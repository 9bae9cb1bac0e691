"""A folder of arrays that is opened only if it is whole: sizes and digests are checked."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.data.files import digest, whole_folder

Array = NDArray[Any]
_META = "meta.json"
_MAX_META = 2**20  # bytes


def save_arrays(
    folder: Path, kind: str, version: int, arrays: Mapping[str, Array], facts: Mapping[str, object]
) -> None:
    """Write arrays and some facts about them into a new folder for its owner alone.

    The folder appears whole or not at all.
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
    """Return what a folder says it holds; "" for a folder that is none of ours."""
    meta = _meta(folder)
    return str(meta.get("kind", ""))


def open_arrays(
    folder: Path, kind: str, version: int
) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """Open a folder of arrays, memory-mapped; None if it is not whole, or of another kind."""
    meta = _meta(folder)
    told = meta.pop("whole", None)
    if meta.get("kind") != kind or meta.get("version") != version or told != _digest_of(meta):
        return None
    arrays: dict[str, Array] = {}
    with suppress(OSError, ValueError, EOFError, TypeError, AttributeError, LookupError):
        for name, wanted in meta["sha256"].items():
            file = folder / f"{Path(name).name}.npy"
            if digest(file, "sha256") != wanted:
                return None
            arrays[name] = _map(file)
        return arrays, dict(meta["facts"])
    return None


def _digest_of(meta: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(meta, sort_keys=True).encode()).hexdigest()


def _map(file: Path) -> Array:
    """Memory-map an array; one without elements cannot be mapped, and is read."""
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
            found = json.loads(file.read_text(encoding="utf-8"))
            if isinstance(found, dict):
                return found
    return {}
