"""Read points from a file of any kind."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from veil.data.lines import require_file, suffix_of
from veil.places.crs import check_crs
from veil.places.formats.columns import Named
from veil.places.formats.frame import is_frame, read_frame
from veil.places.formats.geojson import read_geojson
from veil.places.formats.geoparquet import geometry_of, read_geoparquet
from veil.places.formats.tables import read_points
from veil.places.points import Points


def load(
    source: str | Path | Any,  # noqa: ANN401 - or a frame of geopandas
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
        lat, are ``EPSG:4326``; a table with x and y is a plane in metres.
    ids, weights, times, users
        Columns that tell rows apart, count people, and make a trace; by default those called id,
        weight (or population), time (or timestamp) and user, whatever their case. One that cannot
        be read as such raises.
    columns
        Other columns to hold beside the points, by default all; `veil.places.save` writes none of
        them unless it is told to keep them.
    """
    code = check_crs(crs)
    named = Named(x, y, ids, weights, times, users)
    if is_frame(source):
        return read_frame(source, named, code)
    path = Path(source)
    suffix = suffix_of(path)
    told = filter(None, (ids, weights, times, users))
    wanted = None if columns is None else {*columns, *told}
    if suffix in (".geojson", ".json"):
        return read_geojson(path, named, code, wanted)
    if suffix == ".parquet":
        require_file(path, "points")
        geo = geometry_of(path)
        if geo is not None:
            return read_geoparquet(path, geo, named, code, wanted)
    return read_points(path, named, code, wanted)
