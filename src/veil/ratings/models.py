"""Models as files: arrays and a few facts, no pickle.

A model is personal: it was learnt from ratings. It is opened with the ratings that it was learnt
from, which are not in the file; a digest of them is, so that no others are taken for them. Of a
private model the file holds what was released alone: a digest of ratings would tell whoever knows
those of all the others whether one user's are among them. It is opened with any ratings of its
items.
"""

import hashlib
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.data.files import whole_file
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings
from veil.ratings.reader import load
from veil.ratings.recommender import Model
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.shards import free_memory

_KIND, _VERSION = "veil ratings model", 1
_MAX_META = 2**16  # bytes
_OTHERS = (
    "The model was learnt from other ratings or items than these; hand in the same file, and the"
    " same catalogue."
)


def save_model(model: Model, path: Path) -> None:
    """Write a model; the file appears whole or not at all, readable by its owner alone."""
    meta = {
        "kind": _KIND,
        "version": _VERSION,
        "spec": model.spec,
        "positive": model.positive,
        "seeded": model.seeded,
        "guarantee": asdict(model.guarantee),
        "scale": model.train.scale,
        "declared": model.train.declared,
        "train": _digest(model.train, model.spec),
    }
    told = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    arrays: dict[str, Any] = dict(model.state())
    with whole_file(path, private=True) as part, part.open("wb") as file:
        np.savez(file, allow_pickle=False, meta=told, **arrays)


def open_model(
    path: Path,
    train: Path,
    columns: tuple[str, ...] | None = None,
    catalogue: Path | None = None,
) -> Model:
    """Open a model with the file of ratings (and the catalogue) that it was learnt from."""
    meta, state = _read(path)
    try:
        scale = tuple(map(float, meta["scale"])) if meta["declared"] else None
        data = load(train, scale, columns, catalogue)  # type: ignore[arg-type]
        spec = str(meta["spec"])
        if meta["train"] != _digest(data, spec):
            raise InputError(_OTHERS)
        model = RECOMMENDERS.parse(spec).restore(data, float(meta["positive"]), state)
        if _is_private(spec):
            model.guarantee = Guarantee(**meta["guarantee"])
        model.seeded = bool(meta["seeded"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path.name} is no whole model; fit it again.") from None
    return model


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    if not path.is_file():
        raise InputError(f"There is no file {path}; check the path.")
    try:
        with zipfile.ZipFile(path) as packed:
            room = sum(part.file_size for part in packed.infolist())
        if room <= free_memory():
            with np.load(path, allow_pickle=False) as arrays:
                state = {name: arrays[name] for name in arrays.files}
            told = state.pop("meta")
            meta = json.loads(told[:_MAX_META].tobytes().decode())
    except Exception:  # noqa: BLE001 - a torn file fails in any way
        raise InputError(f"{path.name} is no model of ratings; make one with fit.") from None
    if room > free_memory():
        raise InputError(f"{path.name} holds more than the free memory.")
    if not isinstance(meta, dict) or meta.get("kind") != _KIND or meta["version"] != _VERSION:
        raise InputError(f"{path.name} is no model of this version; fit it again.")
    return meta, state


def _is_private(spec: str) -> bool:
    """Tell whether something is proved of a model."""
    return RECOMMENDERS.parse(spec).name in MECHANISMS.names()


def _digest(data: Ratings, spec: str) -> str:
    """Name ratings by all that a model sees of them; for a private one, the public items alone."""
    found = hashlib.sha256(json.dumps(data.items).encode())
    if _is_private(spec):
        return found.hexdigest()
    found.update(json.dumps(data.users).encode())
    for array in (data.user, data.item, data.value.astype(np.float64)):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
