"""Links from the rows of a released file to the originals, private to the user who released it.

The rows of a release are in random order, because order would link them. Attacks and measures of
a release need that link. It is stored in a folder of the user, under the digest of the released
file, and contains only row numbers. It is never stored next to the file.
"""

import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
from platformdirs import user_data_path

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.data.files import digest, is_own, make_own, whole_file
from veil.places.crs import METRES, from_lonlat, is_metres, to_lonlat
from veil.places.formats.files import load
from veil.places.points import Points
from veil.places.release import Release

_SELF_DESCRIBING = (".geojson", ".json", ".parquet")  # formats with a coordinate system
_DECIMALS = 7  # of written coordinates
MOST = 200_000  # rows of a linked file: an attack on more would take hours
FILES = 100  # newest links that are stored


def rounding(points: Points) -> float:
    """Return the rounding error in metres of coordinates in a file with seven decimals.

    A degree has 111 km, so half a step is 0.6 cm per axis, and up to twice that for two files.
    """
    return 1e-6 if points.crs is None else 0.02


def folder() -> Path:
    """Return the folder of links, in ``$VEIL_DATA`` or else in the user's data folder."""
    data = os.environ.get("VEIL_DATA")
    return (Path(data) if data else user_data_path("veil")) / "places"


def remember(out: Path, release: Release) -> bool:
    """Store the order of the rows of a file just written, and return whether that was possible.

    Rows are matched by coordinates. Rows at one place may be swapped, which changes no measure.
    Without the link, only comparisons by row are impossible.
    """
    if len(release) > MOST:
        return False
    written = load(out, crs=declared_crs(out, release.crs or METRES), columns=())
    places = release.xy[0]
    if release.crs is not None and written.crs != release.crs:
        places = to_lonlat(places, release.crs)
    order = match_rows(places, written.xy)
    if order is None or not make_own(folder()):
        return False
    with whole_file(_file(out), private=True) as part, part.open("wb") as file:
        np.save(file, order, allow_pickle=False)
    links = sorted(folder().glob("*.npy"), key=lambda path: path.stat().st_mtime)
    for older in links[:-FILES]:
        older.unlink(missing_ok=True)
    return True


def match_rows(rows: Floats, written: Floats) -> Ids | None:
    """Return the original row (n,) of each written row, or None if the places differ.

    >>> match_rows(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[0.0, 3.0], [1.0, 2.0]])).tolist()
    [1, 0]
    """
    before, after = np.round(rows, _DECIMALS) + 0.0, np.round(written, _DECIMALS) + 0.0
    source, target = np.lexsort(before.T), np.lexsort(after.T)
    if before.shape != after.shape or not np.array_equal(before[source], after[target]):
        return None
    order = np.empty(len(before), dtype=np.int64)
    order[target] = source
    return order


def declared_crs(path: Path, crs: str | None) -> str | None:
    """Return the code for reading a file, or None if the format has its own."""
    return crs if is_metres(crs) or path.suffix.lower() not in _SELF_DESCRIBING else None


ASSUMED = "Coordinates were taken as metres of a plane, since no system was named"


def assumes_metres(name: str, points: Points, crs: str | None) -> bool:
    """Return whether points are taken as metres although neither file nor caller says so."""
    declared = name.lower().endswith((".geojson", ".json"))
    return points.crs is None and crs is None and not declared


def open_like(path: Path, like: Points, crs: str | None, weights: str | None = None) -> Points:
    """Return the points of a file, converted to the coordinates of `like`."""
    points = load(path, crs=declared_crs(path, crs), weights=weights)
    if points.crs == like.crs:
        return points
    if points.crs is None or like.crs is None:
        raise InputError(
            f"{path.name} must have the coordinates of the other points, but only one of them is a"
            " plane in metres. Set --crs."
        )
    converted = from_lonlat(to_lonlat(points.xy, points.crs), like.crs)
    return replace(points, xy=converted, crs=like.crs)


def distinct(points: Points) -> Points:
    """Return each distinct place once, with the total weight of its rows, like a register."""
    places, owner = np.unique(points.xy, axis=0, return_inverse=True)
    weights = np.ones(len(points)) if points.weights is None else points.weights
    total = np.bincount(owner.ravel(), weights).astype(np.float64)
    return Points(places, points.crs, weights=total)


def link_points(
    masked: Path, original: Points, crs: str | None, *, same_order: bool = False
) -> Points | None:
    """Return released points in the order of the originals, or None if it is unknown.

    Rows are linked by their ids if both files have them, else by the link stored at the release.
    """
    written = open_like(masked, original, crs)
    if len(written) != len(original):
        raise InputError(
            f"{masked.name} must have {len(original):,} points, like the original. Got"
            f" {len(written):,} instead."
        )
    if same_order:
        return written
    order = _by_ids(written, original)
    if order is None:
        order = _stored(masked, len(original))
    return None if order is None else written.take(order)


def _by_ids(written: Points, original: Points) -> Ids | None:
    """Return the written row (n,) of each original by its id."""
    if written.ids is None or original.ids is None:
        return None
    source, target = np.argsort(original.ids), np.argsort(written.ids)
    if not np.array_equal(original.ids[source], written.ids[target]):
        return None
    order = np.empty(len(source), dtype=np.int64)
    order[source] = target
    return order


def _stored(masked: Path, n: int) -> Ids | None:
    """Return the stored written row (n,) of each original, if any."""
    if not is_own(folder()):
        return None
    with suppress(OSError, ValueError, EOFError):
        with _file(masked).open("rb") as file:
            order = np.load(file, allow_pickle=False)
        if order.shape == (n,) and np.array_equal(np.sort(order), np.arange(n)):
            return np.argsort(order)
    return None


def _file(masked: Path) -> Path:
    return folder() / f"{digest(masked, 'sha256')}.npy"
