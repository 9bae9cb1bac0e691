"""A region that contains all released points, such as land or a district."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Floats
from veil.places.crs import from_lonlat, to_lonlat

_LARGEST = 256 * 2**20  # bytes
_REFUSED = "A region must be a GeoJSON Polygon or MultiPolygon, or a file of them"


def shapely() -> Any:  # noqa: ANN401 - shapely has no types
    """Return the module shapely, or raise if it is missing."""
    try:
        import shapely
    except ImportError:
        raise MissingExtraError("Regions need shapely: pip install 'veil[places]'.") from None
    return shapely


def polygons(within: object) -> list[Mapping[str, Any]]:
    """Return the polygons of a GeoJSON dict or file, or of an object with `__geo_interface__`."""
    if isinstance(within, str | Path):
        within = _read(Path(within))
    geometry = getattr(within, "__geo_interface__", within)
    if not isinstance(geometry, Mapping):
        raise InputError(f"{_REFUSED}.")
    shapes = list(_geometries(geometry))
    if not shapes or any(shape.get("type") not in ("Polygon", "MultiPolygon") for shape in shapes):
        raise InputError(f"{_REFUSED}. Remove all other shapes.")
    return shapes


def _read(path: Path) -> object:
    if not path.is_file():
        raise InputError(f"There is no file {path}. Check the path.")
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path.name} must be smaller than 256 MB. Simplify its shapes.")
    try:
        parsed: object = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        raise InputError(f"{path.name} must be valid GeoJSON. Write it again.") from None
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
            raise InputError(f"{_REFUSED}. Remove features without a geometry.")
        yield from _geometries(part)


_INWARD = 1e-6  # metres past the edge, so that rounding does not leave a point outside
_METRES = 111_195.0  # of a degree of latitude


@dataclass(frozen=True, eq=False)
class Region:
    """Polygons with holes, in metres of a plane or in longitude and latitude.

    A region across the antimeridian is a MultiPolygon cut there (RFC 7946).
    """

    shape: Any
    edges: Floats  # (s, 2, 2) ends of the sides of all rings
    crs: str | None

    @classmethod
    def of(cls, within: object, crs: str | None) -> "Region":
        """Return the region for points of a code, or raise if it has no area."""
        geo = shapely()
        parts = polygons(within)
        try:
            shape = geo.union_all([geo.geometry.shape(polygon) for polygon in parts])
            usable = bool(shape.is_valid) and shape.area > 0
        except (geo.errors.ShapelyError, ValueError, TypeError, LookupError):
            usable = False
        if not usable:
            raise InputError("A region must be polygons that enclose an area. Repair its rings.")
        geo.prepare(shape)
        return cls(shape, _sides(geo, shape), crs)

    def holds(self, xy: Floats) -> NDArray[np.bool_]:
        """Return (n,) whether each point is inside or on the edge."""
        x, y = self._own(xy).T
        inside: NDArray[np.bool_] = shapely().intersects_xy(self.shape, x, y)
        return inside

    def nearest(self, xy: Floats) -> Floats:
        """Return the points, with those outside moved to the nearest point of the region.

        The result depends only on the points and the region. In degrees, distances are measured on
        a map that is exact in the middle of the point's degree of latitude.
        """
        moved = self._own(xy).copy()
        outside = np.flatnonzero(~self.holds(xy))
        band = np.zeros(len(outside)) if self.crs is None else np.floor(moved[outside, 1])
        for degree in np.unique(band):
            rows = outside[band == degree]
            wide = 1.0 if self.crs is None else float(np.cos(np.radians(degree + 0.5)))
            moved[rows] = self._projected(moved[rows], max(abs(wide), 1e-3))
        return moved if self.crs is None else from_lonlat(moved, self.crs)

    def _own(self, xy: Floats) -> Floats:
        """Return points in the coordinates of the region."""
        return xy if self.crs is None else to_lonlat(xy, self.crs)

    def _projected(self, points: Floats, wide: float) -> Floats:
        """Return the nearest points (n, 2) of all sides; a unit of x is `wide` units of y."""
        geo, scale = shapely(), np.array([wide, 1.0])
        turns = (0.0,) if self.crs is None else (-360.0, 0.0, 360.0)
        sides = np.concatenate([self.edges + np.array([turn, 0.0]) for turn in turns]) * scale
        here = points * scale
        index = geo.STRtree(geo.linestrings(sides))
        _, best = index.query_nearest(geo.points(here), all_matches=False)
        start, along = sides[best, 0] - here, sides[best, 1] - sides[best, 0]
        length = np.maximum((along**2).sum(axis=1), np.finfo(float).tiny)
        share = np.clip(-(start * along).sum(axis=1) / length, 0, 1)
        way = start + share[:, None] * along
        far = np.sqrt((way**2).sum(axis=1))
        inward = _INWARD if self.crs is None else _INWARD / _METRES
        past = way * (1 + inward / np.maximum(far, inward))[:, None]
        edge, landed = (self._wrapped((here + step) / scale) for step in (way, past))
        inside = geo.intersects_xy(self.shape, landed[:, 0], landed[:, 1])
        nearest: Floats = np.where(inside[:, None], landed, edge)
        return nearest

    def _wrapped(self, xy: Floats) -> Floats:
        """Return points with longitudes wrapped to [-180, 180]."""
        lon = xy[:, 0]
        beyond = (np.abs(lon) > 180) & (self.crs is not None)
        return np.column_stack([np.where(beyond, (lon + 180) % 360 - 180, lon), xy[:, 1]])


def _sides(geo: Any, shape: Any) -> Floats:  # noqa: ANN401 - shapely has no types
    """Return the sides (s, 2, 2) of all rings."""
    ends, ring = geo.get_coordinates(geo.get_rings(geo.get_parts(shape)), return_index=True)
    same = ring[1:] == ring[:-1]
    sides: Floats = np.stack([ends[:-1][same], ends[1:][same]], axis=1)
    return sides
