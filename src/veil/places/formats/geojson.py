"""Points of GeoJSON (RFC 7946): a FeatureCollection of Points.

Coordinates are longitude and latitude, with seven decimals at most: more is false precision. A
plane in metres is no GeoJSON of that standard; a member of our own says that it is one.
"""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.crs import LONLAT, check_crs
from veil.places.formats.columns import Named
from veil.places.numbered import numbered
from veil.places.points import Points

_LARGEST = 2**30  # bytes
_PLANE = {"coordinates": "planar metres"}
_CRS = re.compile(r"(?:urn:ogc:def:crs:)?(EPSG|OGC):(?:[\d.]*:)?(\w+)")


def read_geojson(path: Path, named: Named, crs: str | None) -> Points:
    """Read a FeatureCollection; properties become columns."""
    document = _document(path)
    features = document.get("features")
    if document.get("type") != "FeatureCollection" or not isinstance(features, list):
        raise InputError(f"{path.name} must be a FeatureCollection of points; write it as one.")
    if not features:
        raise InputError(f"{path.name} holds no points.")
    places = [_place(feature) for feature in features]
    bad = [row for row, place in enumerate(places) if place is None]
    if bad:
        raise InputError(
            f"{numbered(bad)} of {path.name} must be a Point with two numbers; leave out what is"
            " none."
        )
    told = _code(document, path.name) if crs is None else crs
    xy = np.array(places, dtype=np.float64)
    return named.points(xy, told, _columns(features), path.name)


def _document(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        raise InputError(f"There is no file {path}; check the path.")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path.name} must be smaller than 1 GB; use CSV or Parquet for more.")
    try:
        with _opened(path) as file:
            document = json.loads(file.read(_LARGEST))
    except (ValueError, RecursionError, OSError, EOFError):
        raise InputError(f"{path.name} is not GeoJSON; write it again.") from None
    return document if isinstance(document, Mapping) else {}


def _opened(path: Path) -> IO[bytes]:
    packed = path.suffix.lower() == ".gz"
    return cast(IO[bytes], gzip.open(path)) if packed else path.open("rb")


def _place(feature: object) -> tuple[float, float] | None:
    """Return the coordinates of a feature, None if it is no point."""
    geometry = feature.get("geometry") if isinstance(feature, Mapping) else None
    if not isinstance(geometry, Mapping) or geometry.get("type") != "Point":
        return None
    place = geometry.get("coordinates")
    if not isinstance(place, list) or len(place) < 2:
        return None
    numbers = [value for value in place[:2] if isinstance(value, int | float)]
    if len(numbers) < 2 or any(isinstance(value, bool) for value in numbers):
        return None
    try:
        return float(numbers[0]), float(numbers[1])
    except OverflowError:
        return None


def _columns(features: Sequence[Mapping[str, Any]]) -> dict[str, list[object]]:
    """Return the properties by name, and the ids of the features if all have one."""
    properties = [
        found if isinstance(found := feature.get("properties"), Mapping) else {}
        for feature in features
    ]
    names = dict.fromkeys(name for row in properties for name in row)
    columns = {name: [_plain(row.get(name)) for row in properties] for name in names}
    if "id" not in columns and all("id" in feature for feature in features):
        columns["id"] = [_plain(feature["id"]) for feature in features]
    return columns


def _plain(value: object) -> object:
    kept = value is None or isinstance(value, str | bool | int | float)
    return value if kept else json.dumps(value, ensure_ascii=False)


def _code(document: Mapping[str, Any], name: str) -> str | None:
    """Return longitude and latitude, unless the file says otherwise."""
    if document.get("veil") == _PLANE:
        return None
    crs = document.get("crs")
    if crs is None:
        return LONLAT
    properties = crs.get("properties") if isinstance(crs, Mapping) else None
    told = properties.get("name") if isinstance(properties, Mapping) else None
    found = _CRS.fullmatch(told) if isinstance(told, str) else None
    if found is None:
        raise InputError(f"{name} has a coordinate system that is not known here; name it: crs=.")
    return check_crs(f"{found[1]}:{found[2]}")


def write_geojson(
    file: IO[str], xy: Floats, columns: Mapping[str, Sequence[object]], *, plane: bool
) -> None:
    """Write points (n, 2), row by row, with the columns that are kept as properties."""
    head = f'"veil": {json.dumps(_PLANE)}, ' if plane else ""
    file.write(f'{{"type": "FeatureCollection", {head}"features": [')
    for row, place in enumerate(np.round(xy, 7)):
        x, y = (float(value) + 0.0 for value in place)  # no negative zero
        properties = {name: _written(values[row]) for name, values in columns.items()}
        feature = {
            "type": "Feature",
            "geometry": {"type": "Point", "coordinates": [x, y]},
            "properties": properties,
        }
        file.write(",\n" if row else "\n")
        file.write(json.dumps(feature, ensure_ascii=False, allow_nan=False))
    file.write("\n]}\n")


def _written(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
