"""Ratings in a folder, memory-mapped: 12 bytes each by user, 4 more for the order by item."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.data.arrays import open_arrays, save_arrays
from veil.ratings.ratings import Ratings

_KIND, _VERSION = "veil ratings", 1
_MAX = 2**32  # ratings whose order has 4 bytes each


class StoredRatings(Ratings):
    """Ratings whose arrays lie in a folder; workers are handed its path."""

    folder: str = ""

    def __reduce__(self) -> tuple[object, ...]:
        if self.folder:
            return open_store, (self.folder,)
        return super().__reduce__()  # type: ignore[return-value]


def save_store(data: Ratings, folder: Path) -> None:
    """Write ratings into a new folder for its owner alone; values as float32."""
    if len(data) >= _MAX:
        raise InputError("A store holds fewer than 2^32 ratings; part them.")
    arrays: dict[str, NDArray[np.generic]] = {
        "user": data.user,
        "item": data.item,
        "value": data.value.astype(np.float32),
        "order": data.order.astype(np.uint32),
        "users": _packed(data.users),
        "items": _packed(data.items),
    }
    if data.time is not None:
        arrays["time"] = data.time
    facts = {"scale": list(data.scale), "declared": data.declared, "public": data.public}
    save_arrays(folder, _KIND, _VERSION, arrays, facts)


@lru_cache(maxsize=2)  # a worker opens it once
def open_store(folder: str | Path) -> StoredRatings:
    """Open a folder of ratings, checked and memory-mapped."""
    found = open_arrays(Path(folder), _KIND, _VERSION)
    if found is None:
        raise InputError("The folder holds no whole store of ratings; write it again.")
    arrays, facts = found
    low, high = facts["scale"]
    data = StoredRatings(
        _unpacked(arrays["users"]),
        _unpacked(arrays["items"]),
        arrays["user"],
        arrays["item"],
        arrays["value"],
        arrays.get("time"),
        (float(low), float(high)),
        bool(facts["declared"]),
        facts["public"],
    )
    object.__setattr__(data, "order", arrays["order"])
    object.__setattr__(data, "folder", str(folder))
    return data


def _packed(ids: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\0".join(ids).encode(), dtype=np.uint8)


def _unpacked(packed: NDArray[np.uint8]) -> tuple[str, ...]:
    return tuple(packed.tobytes().decode().split("\0"))
