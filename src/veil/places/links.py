"""Which row of a released file belongs to which original: known to who released it, alone.

The rows of a release are in a random order, since order is a link. To attack or measure a release
one needs that link: it is kept in a folder of this user, under the digest of the released file, as
row numbers and nothing else, and never beside the file.
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

_TOLD = (".geojson", ".json", ".parquet")  # formats that say their coordinates
_DECIMALS = 7  # as they are written
MOST = 200_000  # rows of a file whose order is kept: an attack on more would take hours
FILES = 100  # links that are kept, the newest


def rounding(points: Points) -> float:
    """Return by how many metres coordinates of a file may be off: it has seven decimals.

    A degree has 111 km: half a step is 0.6 cm each way, and up to twice that for two files.
    """
    return 1e-6 if points.crs is None else 0.02


def folder() -> Path:
    """Return where links are kept: below ``$VEIL_DATA``, else in the user's data folder."""
    chosen = os.environ.get("VEIL_DATA")
    return (Path(chosen) if chosen else user_data_path("veil")) / "places"


def remember(out: Path, release: Release) -> bool:
    """Keep the order of the rows of a file that was just written, where that is safe.

    It is found by where each row lies: rows at one place may be exchanged, which changes nothing
    that is measured. Where it cannot be kept nothing is lost but comparisons by row.
    """
    if len(release) > MOST:
        return False
    written = load(out, crs=declared_crs(out, release.crs or METRES), columns=())
    there = release.xy[0]
    if release.crs is not None and written.crs != release.crs:
        there = to_lonlat(there, release.crs)
    order = match_rows(there, written.xy)
    if order is None or not make_own(folder()):
        return False
    with whole_file(_file(out), private=True) as part, part.open("wb") as file:
        np.save(file, order, allow_pickle=False)
    kept = sorted(folder().glob("*.npy"), key=lambda one: one.stat().st_mtime)
    for older in kept[:-FILES]:
        older.unlink(missing_ok=True)
    return True


def match_rows(rows: Floats, written: Floats) -> Ids | None:
    """Return which row (n,) each written one is, None if they are not the same places.

    >>> match_rows(np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[0.0, 3.0], [1.0, 2.0]])).tolist()
    [1, 0]
    """
    one, other = np.round(rows, _DECIMALS) + 0.0, np.round(written, _DECIMALS) + 0.0
    here, there = np.lexsort(one.T), np.lexsort(other.T)
    if one.shape != other.shape or not np.array_equal(one[here], other[there]):
        return None
    order = np.empty(len(one), dtype=np.int64)
    order[there] = here
    return order


def declared_crs(path: Path, crs: str | None) -> str | None:
    """Return the code to read a file with: None where the format says it, and is believed."""
    return crs if is_metres(crs) or path.suffix.lower() not in _TOLD else None


ASSUMED = "Coordinates were taken as metres of a plane, since no system was named"


def assumes_metres(name: str, points: Points, crs: str | None) -> bool:
    """Tell whether points of a file are taken as metres though neither it nor a caller says so."""
    said = name.lower().endswith((".geojson", ".json"))
    return points.crs is None and crs is None and not said


def open_like(path: Path, like: Points, crs: str | None, weights: str | None = None) -> Points:
    """Read points in the coordinates of others."""
    points = load(path, crs=declared_crs(path, crs), weights=weights)
    if points.crs == like.crs:
        return points
    if points.crs is None or like.crs is None:
        raise InputError(
            f"{path.name} must have the coordinates of the other points; one of them is a plane in"
            " metres, and the other is not: name them with --crs."
        )
    there = from_lonlat(to_lonlat(points.xy, points.crs), like.crs)
    return replace(points, xy=there, crs=like.crs)


def distinct(points: Points) -> Points:
    """Return each place once, as a register lists addresses, with the weight of all rows there."""
    places, owner = np.unique(points.xy, axis=0, return_inverse=True)
    weights = np.ones(len(points)) if points.weights is None else points.weights
    total = np.bincount(owner.ravel(), weights).astype(np.float64)
    return Points(places, points.crs, weights=total)


def link_points(
    masked: Path, original: Points, crs: str | None, *, same_order: bool = False
) -> Points | None:
    """Return released points in the order of the originals, None if that is not known here.

    Rows are put together by their ids, where both have them, or by what was kept at the release.
    """
    written = open_like(masked, original, crs)
    if len(written) != len(original):
        raise InputError(
            f"{masked.name} must have as many points as the original: {len(original):,} and not"
            f" {len(written):,}."
        )
    if same_order:
        return written
    order = _by_ids(written, original)
    if order is None:
        order = _kept(masked, len(original))
    return None if order is None else written.take(order)


def _by_ids(written: Points, original: Points) -> Ids | None:
    """Return the written row (n,) of each original by its id."""
    if written.ids is None or original.ids is None:
        return None
    here, there = np.argsort(original.ids), np.argsort(written.ids)
    if not np.array_equal(original.ids[here], written.ids[there]):
        return None
    order = np.empty(len(here), dtype=np.int64)
    order[here] = there
    return order


def _kept(masked: Path, n: int) -> Ids | None:
    """Return the written row (n,) of each original that was kept, if it was."""
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
