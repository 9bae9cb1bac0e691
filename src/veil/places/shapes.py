"""Polygons of GeoJSON: where points may be."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError

_LARGEST = 256 * 2**20  # bytes
_REFUSED = "A region must be a GeoJSON Polygon or MultiPolygon, or a file of them"


def shapely() -> Any:  # noqa: ANN401 - shapely has no types
    """Return the module shapely, or say how to get it."""
    try:
        import shapely
    except ImportError:
        raise MissingExtraError("Regions need shapely: pip install 'veil[places]'.") from None
    return shapely


def polygons(within: object) -> list[Mapping[str, Any]]:
    """Return the polygons of a GeoJSON dict or file, or of what offers `__geo_interface__`."""
    if isinstance(within, str | Path):
        within = _read(Path(within))
    geometry = getattr(within, "__geo_interface__", within)
    if not isinstance(geometry, Mapping):
        raise InputError(f"{_REFUSED}; hand in one.")
    found = list(_geometries(geometry))
    if not found or any(shape.get("type") not in ("Polygon", "MultiPolygon") for shape in found):
        raise InputError(f"{_REFUSED}; leave out what is neither.")
    return found


def _read(path: Path) -> object:
    if not path.is_file():
        raise InputError(f"There is no file {path}; check the path.")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path.name} must be smaller than 256 MB; simplify its shapes.")
    try:
        parsed: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError(f"{path.name} is not GeoJSON; write it again.") from None
    return parsed


def _geometries(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the geometries of a collection, a feature, or a geometry itself."""
    parts = {"FeatureCollection": "features", "GeometryCollection": "geometries"}
    kind = document.get("type")
    inner = [document.get("geometry")] if kind == "Feature" else document.get(parts.get(kind, ""))  # type: ignore[arg-type]
    if kind != "Feature" and kind not in parts:
        yield document
        return
    for part in inner if isinstance(inner, list) else [None]:
        if not isinstance(part, Mapping):
            raise InputError(f"{_REFUSED}; repair what has no geometry.")
        yield from _geometries(part)
