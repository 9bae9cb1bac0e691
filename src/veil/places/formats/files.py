"""Read points from a file of any kind, and write a release."""

import io
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.data.files import whole_file
from veil.data.lines import AnyFile, HeldFile, require_file, suffix_of
from veil.data.releases import stream_writer
from veil.data.rows import fold_name
from veil.places.crs import LONLAT, check_crs, is_metres, require_local, to_lonlat
from veil.places.formats.columns import (
    NUMBER,
    NamedColumns,
    is_frame,
    of_place,
    read_frame,
    read_points,
)
from veil.places.formats.geojson import read_geojson, write_geojson
from veil.places.formats.geoparquet import geometry_of, read_geoparquet, write_geoparquet
from veil.places.points import Points
from veil.places.release import Release


def load(
    source: str | AnyFile | Any,  # noqa: ANN401 - or a frame of geopandas
    x: str | None = None,
    y: str | None = None,
    crs: str | None = None,
    *,
    ids: str | None = None,
    weights: str | None = None,
    times: str | None = None,
    users: str | None = None,
    columns: Collection[str] | None = None,
) -> Points:
    """Read points of CSV, TSV, JSON lines, GeoJSON, (Geo)Parquet, or a frame of geopandas.

    Parameters
    ----------
    source
        A file, whose ending tells the format, or a frame.
    x, y
        Columns of a table; by default those called x and y, or lon and lat (or longer).
    crs
        Code of the coordinates. By default what the file says: GeoJSON, and columns called lon and
        lat, are ``EPSG:4326``; a table with x and y is a plane in metres if all are less than
        100,000 from 0, and else refused, since they are projected by an unknown system.
        ``metres`` says that coordinates without a code are metres of a plane.
    ids, weights, times, users
        Columns that tell rows apart, count people, and make a trace; by default those called id,
        weight (or population), time (or timestamp) and user, whatever their case. One that cannot
        be read as such raises.
    columns
        Other columns to hold beside the points, by default all; `veil.places.save` writes none of
        them unless it is told to keep them.
    """
    plane, code = is_metres(crs), check_crs(crs)
    named = NamedColumns(x, y, ids, weights, times, users)
    if is_frame(source):
        return _in_metres(read_frame(source, named, code), "The frame", plane=plane)
    path = source if isinstance(source, HeldFile) else Path(source)
    suffix = suffix_of(path)
    told = filter(None, (ids, weights, times, users))
    wanted = None if columns is None else {*columns, *told}
    if suffix in (".geojson", ".json"):
        return read_geojson(path, named, code, wanted)
    if suffix == ".parquet" and isinstance(path, Path):
        require_file(path, "points")
        geo = geometry_of(path)
        if geo is not None:
            found = read_geoparquet(path, geo, named, code, wanted)
            return _in_metres(found, path.name, plane=plane)
    return _in_metres(read_points(path, named, code, wanted), path.name, plane=plane)


def _in_metres(points: Points, where: str, *, plane: bool) -> Points:
    """Return points, unless they are taken as metres and seem to be something else."""
    if points.crs is None and not plane:
        require_local(points.xy, where)
    return points


_KINDS = (".csv", ".tsv", ".geojson", ".json", ".parquet")
_BLOCK = 2**16  # rows of text made at a time


def save(
    release: Release, path: str | Path, keep: Sequence[str] = (), *, rng: Randomness = None
) -> None:
    """Write a release as CSV, TSV, GeoJSON or GeoParquet, whole or not at all.

    Written are the coordinates, with seven decimals at most. A column of the source leaves only if
    `keep` names it: time, count and id identify as well as places do. The rows of each release are
    written in a fresh random order, since order is a link, unless `keep` names the column of ids.
    Several releases are numbered in a column ``release``. `rng` repeats the order, for
    experiments.
    """
    target = Path(path)
    kind = target.suffix.lower()
    if kind not in _KINDS:
        raise InputError(f"{target.name} must end in one of {', '.join(_KINDS)}.")
    xy, columns = _rows(release, keep, rng)
    with whole_file(target) as part:
        if kind == ".parquet":
            write_geoparquet(part, xy, release.crs, columns)
            return
        with part.open("w", encoding="utf-8", newline="") as file:
            _write_text(file, kind, xy, release.crs, columns)


def text_of(release: Release, kind: str) -> str:
    """Return a release as the text of a file ending in `kind`, which is never on a disk."""
    with io.StringIO(newline="") as file:
        xy, columns = _rows(release, (), None)
        _write_text(file, kind, xy, release.crs, columns)
        return file.getvalue()


def _rows(
    release: Release, keep: Sequence[str], rng: Randomness
) -> tuple[Floats, dict[str, Sequence[object]]]:
    """Return the coordinates (size * n, 2), and the columns that leave, in their order."""
    if not isinstance(release, Release):
        raise InputError("Only a release can be written: protect the points first.")
    kept = _kept(release, keep)
    order = _order(release, kept, rng)
    xy = np.concatenate([one[rows] for one, rows in zip(release.xy, order, strict=True)])
    columns: dict[str, Sequence[object]] = {}
    if release.size > 1:
        columns[NUMBER] = np.repeat(np.arange(1, release.size + 1), len(release)).tolist()
    flat = order.ravel().tolist()
    columns |= {name: [values[row] for row in flat] for name, values in kept.items()}
    return xy, columns


def _write_text(
    file: IO[str], kind: str, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]]
) -> None:
    if kind in (".csv", ".tsv"):
        _write_table(file, kind, xy, crs, columns)
        return
    there = xy if crs is None else to_lonlat(xy, crs)
    write_geojson(file, there, columns, plane=crs is None)


def _kept(release: Release, keep: Sequence[str]) -> dict[str, Sequence[object]]:
    """Return the columns that leave, by the names they have."""
    kept: dict[str, Sequence[object]] = {}
    for name in [keep] if isinstance(keep, str) else keep:
        if of_place(name) or fold_name(name) == NUMBER:
            raise InputError(
                f"A column called '{name}' cannot be kept: it may be the original place, or stand"
                " in its way; rename it."
            )
        same = [known for known in release.columns if known == name] or [
            known for known in release.columns if fold_name(known) == fold_name(name)
        ]
        if len(same) != 1:
            raise InputError(f"There is no column '{name}' to keep; name the right one.")
        kept[same[0]] = release.columns[same[0]]
    return kept


def _order(release: Release, kept: Mapping[str, Sequence[object]], rng: Randomness) -> Ids:
    """Return the order (size, n) of the rows: as they came if an id is kept, else drawn."""
    rows = np.arange(len(release))
    known = {release.id_column, *(name for name in kept if fold_name(name) == "id")}
    if any(name in known and _tells_apart(values) for name, values in kept.items()):
        return np.tile(rows, (release.size, 1))
    draws = generator(rng)
    return np.stack([draws.permutation(rows) for _ in range(release.size)])


def _tells_apart(values: Sequence[object]) -> bool:
    return len(set(map(str, values))) == len(values)


def _write_table(
    file: IO[str], kind: str, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[Any]]
) -> None:
    head = ("lon", "lat") if crs == LONLAT else ("x", "y")
    writer = stream_writer(file, kind, [*head, *columns], head[0])
    placed = np.round(xy, 7) + 0.0
    for start in range(0, len(placed), _BLOCK):
        block = placed[start : start + _BLOCK].tolist()
        beside = [values[start : start + _BLOCK] for values in columns.values()]
        rows = zip(block, *beside, strict=True)
        writer.write([[*place, *others] for place, *others in rows])
