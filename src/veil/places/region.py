"""A region that released points keep to: on land, in a district."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.crs import from_lonlat, to_lonlat
from veil.places.projection import blocks
from veil.places.shapes import polygons, shapely

_INWARD = 1e-6  # metres past the edge, so that rounding does not leave a point outside
_METRES = 111_195.0  # of a degree of latitude


@dataclass(frozen=True, eq=False)
class Region:
    """Polygons with holes: in metres of the plane, else in longitude and latitude.

    One that crosses the antimeridian is a MultiPolygon that is cut there (RFC 7946).
    """

    shape: Any
    edges: Floats  # (s, 2, 2) ends of the sides of all rings
    crs: str | None

    @classmethod
    def of(cls, within: object, crs: str | None) -> "Region":
        """Read a region for points of a code, or raise if it is no area."""
        geo = shapely()
        found = polygons(within)
        try:
            shape = geo.union_all([geo.geometry.shape(polygon) for polygon in found])
            usable = bool(shape.is_valid) and shape.area > 0
        except (geo.errors.ShapelyError, ValueError, TypeError, LookupError):
            usable = False
        if not usable:
            raise InputError("A region must be polygons that enclose an area; repair its rings.")
        geo.prepare(shape)
        return cls(shape, _sides(geo, shape), crs)

    def holds(self, xy: Floats) -> NDArray[np.bool_]:
        """Tell (n,) which points lie inside or on the edge."""
        there = self._here(xy)
        inside: NDArray[np.bool_] = shapely().intersects_xy(self.shape, there[:, 0], there[:, 1])
        return inside

    def nearest(self, xy: Floats) -> Floats:
        """Move the points that lie outside to the nearest point of the region.

        A function of what it is given and of the region alone. In degrees, nearness is measured
        on the map whose middle latitude is that of the point.
        """
        there = self._here(xy).copy()
        outside = np.flatnonzero(~self.holds(xy))
        for block in blocks(len(outside), 8 * len(self.edges)):
            rows = outside[block]
            there[rows] = self._projected(there[rows])
        return there if self.crs is None else from_lonlat(there, self.crs)

    def _here(self, xy: Floats) -> Floats:
        return xy if self.crs is None else to_lonlat(xy, self.crs)

    def _projected(self, points: Floats) -> Floats:
        """Return the nearest points (n, 2) of all sides."""
        wide = np.ones(len(points))
        start = self.edges[None, :, 0] - points[:, None]  # (n, s, 2), as seen from the point
        along = np.broadcast_to(self.edges[:, 1] - self.edges[:, 0], start.shape).copy()
        if self.crs is not None:
            wide = np.maximum(np.cos(np.radians(points[:, 1])), 1e-9)
            start[..., 0] = (start[..., 0] + 180) % 360 - 180
            start[..., 0] *= wide[:, None]
            along[..., 0] *= wide[:, None]
        length = np.maximum((along**2).sum(axis=2), np.finfo(float).tiny)
        share = np.clip(-(start * along).sum(axis=2) / length, 0, 1)
        feet = start + share[..., None] * along
        apart = (feet**2).sum(axis=2)
        best = apart.argmin(axis=1)
        rows = np.arange(len(points))
        way, far = feet[rows, best], np.sqrt(apart[rows, best])
        inward = _INWARD if self.crs is None else _INWARD / _METRES
        step = np.stack([way, way * (1 + inward / np.maximum(far, inward))[:, None]])
        step[..., 0] /= wide
        landed = points + step
        landed[..., 0] = landed[..., 0] if self.crs is None else _wrapped(landed[..., 0])
        inside = shapely().intersects_xy(self.shape, landed[1, :, 0], landed[1, :, 1])
        nearest: Floats = np.where(inside[:, None], landed[1], landed[0])
        return nearest


def _wrapped(lon: Floats) -> Floats:
    return np.where(np.abs(lon) > 180, (lon + 180) % 360 - 180, lon)


def _sides(geo: Any, shape: Any) -> Floats:  # noqa: ANN401 - shapely has no types
    """Return the sides (s, 2, 2) of all rings."""
    ends, ring = geo.get_coordinates(geo.get_rings(geo.get_parts(shape)), return_index=True)
    same = ring[1:] == ring[:-1]
    sides: Floats = np.stack([ends[:-1][same], ends[1:][same]], axis=1)
    return sides
