"""Read points from a file of any supported format, and write a release."""

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
    """Return points of CSV, TSV, JSON lines, GeoJSON, (Geo)Parquet, or a geopandas frame.

    Parameters
    ----------
    source
        A file, read by its extension, or a frame.
    x, y
        Columns of a table, by default x and y, or lon and lat (or their long names).
    crs
        Code of the coordinates, by default that of the file. GeoJSON, and columns lon and lat, are
        ``EPSG:4326``. A table with x and y is a plane in metres if all values are within 100,000
        of 0; otherwise it is rejected, because it has an unknown projection. ``metres`` declares
        coordinates without a code to be metres of a plane.
    ids, weights, times, users
        Columns of row ids, numbers of people, and times and users of a trace, by default id,
        weight (or population), time (or timestamp) and user in any case. Invalid values raise an
        error.
    columns
        Other columns to read, by default all. `veil.places.save` writes only those in `keep`.
    """
    plane, code = is_metres(crs), check_crs(crs)
    roles = NamedColumns(x, y, ids, weights, times, users)
    if is_frame(source):
        return _in_metres(read_frame(source, roles, code), "The frame", plane=plane)
    path = source if isinstance(source, HeldFile) else Path(source)
    suffix = suffix_of(path)
    explicit = filter(None, (ids, weights, times, users))
    requested = None if columns is None else {*columns, *explicit}
    if suffix in (".geojson", ".json"):
        return read_geojson(path, roles, code, requested)
    if suffix == ".parquet" and isinstance(path, Path):
        require_file(path, "points")
        geo = geometry_of(path)
        if geo is not None:
            points = read_geoparquet(path, geo, roles, code, requested)
            return _in_metres(points, path.name, plane=plane)
    return _in_metres(read_points(path, roles, code, requested), path.name, plane=plane)


def _in_metres(points: Points, where: str, *, plane: bool) -> Points:
    """Return points, or raise if they are taken as metres but look projected."""
    if points.crs is None and not plane:
        require_local(points.xy, where)
    return points


_KINDS = (".csv", ".tsv", ".geojson", ".json", ".parquet")
_BLOCK = 2**16  # rows of text at a time


def save(
    release: Release, path: str | Path, keep: Sequence[str] = (), *, rng: Randomness = None
) -> None:
    """Write a release as CSV, TSV, GeoJSON or GeoParquet, completely or not at all.

    Coordinates have at most seven decimals. Other columns of the source are written only if they
    are in `keep`, because times, counts and ids identify people as well as places do. The rows of
    each release are in a fresh random order, because order would link them, unless `keep` has the
    column of ids. A column ``release`` numbers several releases. `rng` makes the order
    reproducible, for experiments.
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
    """Return a release as the text of a file with the extension `kind`, without writing it."""
    with io.StringIO(newline="") as file:
        xy, columns = _rows(release, (), None)
        _write_text(file, kind, xy, release.crs, columns)
        return file.getvalue()


def _rows(
    release: Release, keep: Sequence[str], rng: Randomness
) -> tuple[Floats, dict[str, Sequence[object]]]:
    """Return the coordinates (size * n, 2) and the columns to write, in the order of the file."""
    if not isinstance(release, Release):
        raise InputError("Only a release can be written. Protect the points first.")
    extra = _select(release, keep)
    order = _order(release, extra, rng)
    xy = np.concatenate([places[rows] for places, rows in zip(release.xy, order, strict=True)])
    columns: dict[str, Sequence[object]] = {}
    if release.size > 1:
        columns[NUMBER] = np.repeat(np.arange(1, release.size + 1), len(release)).tolist()
    flat = order.ravel().tolist()
    columns |= {name: [values[row] for row in flat] for name, values in extra.items()}
    return xy, columns


def _write_text(
    file: IO[str], kind: str, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[object]]
) -> None:
    if kind in (".csv", ".tsv"):
        _write_table(file, kind, xy, crs, columns)
        return
    write_geojson(file, xy if crs is None else to_lonlat(xy, crs), columns, plane=crs is None)


def _select(release: Release, keep: Sequence[str]) -> dict[str, Sequence[object]]:
    """Return the columns in `keep`, by their exact names."""
    columns: dict[str, Sequence[object]] = {}
    for name in [keep] if isinstance(keep, str) else keep:
        if of_place(name) or fold_name(name) == NUMBER:
            raise InputError(
                f"A column called '{name}' cannot be kept, because it may be the original place or"
                " clash with an output column. Rename it."
            )
        same = [column for column in release.columns if column == name] or [
            column for column in release.columns if fold_name(column) == fold_name(name)
        ]
        if len(same) != 1:
            raise InputError(f"There is no column '{name}' to keep. Check the name.")
        columns[same[0]] = release.columns[same[0]]
    return columns


def _order(release: Release, columns: Mapping[str, Sequence[object]], rng: Randomness) -> Ids:
    """Return the order (size, n) of the rows: unchanged if ids are written, else random."""
    rows = np.arange(len(release))
    ids = {release.id_column, *(name for name in columns if fold_name(name) == "id")}
    if any(name in ids and _are_unique(values) for name, values in columns.items()):
        return np.tile(rows, (release.size, 1))
    draws = generator(rng)
    return np.stack([draws.permutation(rows) for _ in range(release.size)])


def _are_unique(values: Sequence[object]) -> bool:
    return len(set(map(str, values))) == len(values)


def _write_table(
    file: IO[str], kind: str, xy: Floats, crs: str | None, columns: Mapping[str, Sequence[Any]]
) -> None:
    head = ("lon", "lat") if crs == LONLAT else ("x", "y")
    writer = stream_writer(file, kind, [*head, *columns], head[0])
    placed = np.round(xy, 7) + 0.0
    for start in range(0, len(placed), _BLOCK):
        block = placed[start : start + _BLOCK].tolist()
        extra = [values[start : start + _BLOCK] for values in columns.values()]
        rows = zip(block, *extra, strict=True)
        writer.write([[*place, *others] for place, *others in rows])
