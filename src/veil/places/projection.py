r"""Move points by metres, and measure distances in metres, on a plane or on the sphere.

On the sphere of radius R = 6,371,008.8 m a displacement is the exponential map on unit vectors,
which has no singularity at the poles or the antimeridian:

.. math:: q = p \cos(r/R) + (north \cos a + east \sin a) \sin(r/R)

and the distance of two points is :math:`2R \arcsin(|p - q|/2)`. Against WGS84, distances differ by
at most 0.56 %.

`Flat` is a plane in metres around points, for maps, pictures and similarity transformations:

.. math:: x = R \cos(\phi_0)\,(\lambda - \lambda_0), \quad y = R\,\phi

with the middle latitude and the mean longitude of the points, so that the antimeridian is on the
far side. Near the points its relative error is :math:`\frac12 (y/R)^2 + |\tan\phi_0|\,|y|/R`, so
it suits towns and regions but not the world. Displacements and distances of points never use it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.places.crs import LONLAT, check_crs, from_lonlat, to_lonlat

RADIUS = 6_371_008.8  # metres, the mean radius of the Earth
BLOCK = 64 * 2**20  # bytes of one block of a matrix
_FARTHEST = 1e12  # metres on a plane


class Surface(Protocol):
    """The surface of points: coordinates are those of `crs`, lengths are metres."""

    @property
    def crs(self) -> str | None:
        """Code of the coordinates, None for a plane in metres."""
        ...

    @property
    def metric(self) -> str:
        """Name of the distance in a guarantee."""
        ...

    def embed(self, xy: Floats) -> Floats:
        """Return points (n, d) whose straight distances are in the same order as metres."""
        ...

    def chord(self, metres: Floats) -> Floats:
        """Return the straight distances between embedded points for metres."""
        ...

    def metres(self, chord: Floats) -> Floats:
        """Return metres for straight distances between embedded points."""
        ...

    def move(self, xy: Floats, distance: Floats, azimuth: Floats) -> Floats:
        """Move points (n, 2) by metres (n,) in a direction (n,) in radians, from north by east."""
        ...

    def polar(self, centre: Floats, xy: Floats) -> tuple[Floats, Floats]:
        """Return distance (n,) and direction (n,) from a centre (1, 2) to points."""
        ...

    def lattice(self, xy: Floats, step: float, shift: float = 0.0) -> Floats:
        """Move points (n, 2) to the lattice with a spacing of `step` metres, anchored at 0.

        `shift` is 0 for its nodes, 0.5 for the centres of its cells.
        """
        ...


@dataclass(frozen=True)
class Plane:
    """A plane in metres."""

    crs: str | None = None
    metric: str = "euclidean metres"

    def embed(self, xy: Floats) -> Floats:
        """Return the points unchanged."""
        return xy

    def chord(self, metres: Floats) -> Floats:
        """Return the metres unchanged."""
        return metres

    def metres(self, chord: Floats) -> Floats:
        """Return the distances unchanged."""
        return chord

    def move(self, xy: Floats, distance: Floats, azimuth: Floats) -> Floats:
        """Add the displacement."""
        if np.max(distance) > _FARTHEST:
            raise ParameterError("Points must move by less than 1e12 m. Try shorter distances.")
        moved = np.empty_like(xy)
        np.sin(azimuth, out=moved[:, 0])
        np.cos(azimuth, out=moved[:, 1])
        moved *= distance[:, None]
        moved += xy
        return moved

    def polar(self, centre: Floats, xy: Floats) -> tuple[Floats, Floats]:
        """Return the polar coordinates."""
        east, north = (xy - centre).T
        return np.hypot(east, north), np.arctan2(east, north)

    def lattice(self, xy: Floats, step: float, shift: float = 0.0) -> Floats:
        """Round to multiples of `step`, or to their midpoints."""
        return _rounded(xy, step, shift)


@dataclass(frozen=True)
class Sphere:
    """The sphere, in longitude and latitude or in a code that is converted to them and back."""

    crs: str = LONLAT
    metric: str = "great-circle metres"

    def embed(self, xy: Floats) -> Floats:
        """Return unit vectors (n, 3)."""
        return unit_vectors(to_lonlat(xy, self.crs))

    def chord(self, metres: Floats) -> Floats:
        """Return the length of the chord, at most that of half the circumference."""
        return 2 * np.sin(np.minimum(np.asarray(metres) / RADIUS, np.pi) / 2)

    def metres(self, chord: Floats) -> Floats:
        """Return the length of the arc."""
        return 2 * RADIUS * np.arcsin(np.minimum(np.asarray(chord) / 2, 1))

    def move(self, xy: Floats, distance: Floats, azimuth: Floats) -> Floats:
        """Follow the great circle."""
        lonlat = to_lonlat(xy, self.crs)
        if np.max(distance) > np.pi * RADIUS:
            raise ParameterError(
                "Points on the sphere must move by less than half its circumference. Try shorter"
                " distances."
            )
        return from_lonlat(_along(lonlat, np.asarray(distance), np.asarray(azimuth)), self.crs)

    def polar(self, centre: Floats, xy: Floats) -> tuple[Floats, Floats]:
        """Return the logarithmic map: length and initial direction of the great circle."""
        vectors = self.embed(xy)
        here, east, north = _frame(to_lonlat(centre, self.crs))
        metres = self.metres(np.sqrt(((vectors - here) ** 2).sum(axis=1)))
        return metres, np.arctan2((vectors * east).sum(axis=1), (vectors * north).sum(axis=1))

    def lattice(self, xy: Floats, step: float, shift: float = 0.0) -> Floats:
        """Round to rows of latitude, and to columns with the same spacing in their row."""
        lonlat = to_lonlat(xy, self.crs)
        high = float(np.degrees(step / RADIUS))
        lat = _rounded(lonlat[:, 1], high, shift, 90.0)
        with np.errstate(divide="ignore"):
            wide = np.minimum(high / np.cos(np.radians(lat)), 360.0)
        lon = _rounded(lonlat[:, 0], wide, shift, 180.0)
        return from_lonlat(np.column_stack([lon, lat]), self.crs)


def _rounded(values: Floats, step: float | Floats, shift: float, limit: float = np.inf) -> Floats:
    """Return the nearest of (i + shift) * step within [-limit, limit]."""
    number = np.floor(values / step - shift + 0.5) + shift
    most = np.floor(limit / step - shift) + shift
    rounded: Floats = np.clip(number, -most, most) * step
    return rounded


def surface(crs: str | None) -> Surface:
    """Return the surface of points with a code."""
    return Plane() if crs is None else Sphere(crs)


def common(*codes: str | None) -> Surface:
    """Return the surface of points that must be in the same coordinates, or raise."""
    if len(set(codes)) != 1:
        raise InputError(
            "Points to compare must have one coordinate system. Got"
            f" {' and '.join(sorted({code or 'a plane in metres' for code in codes}))} instead."
        )
    return surface(codes[0])


def unit_vectors(lonlat: Floats) -> Floats:
    """Map degrees (n, 2) to unit vectors (n, 3)."""
    lon, lat = np.radians(lonlat[:, 0]), np.radians(lonlat[:, 1])
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def degrees(vectors: Floats) -> Floats:
    """Map vectors (n, 3) of any length to longitude and latitude (n, 2) in degrees."""
    x, y, z = vectors.T
    angles = np.column_stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))])
    lonlat: Floats = np.degrees(angles)
    return lonlat


def _frame(lonlat: Floats) -> tuple[Floats, Floats, Floats]:
    """Return unit vectors (n, 3) of points (n, 2), and their directions east and north."""
    lon, lat = np.radians(lonlat[:, 0]), np.radians(lonlat[:, 1])
    east = np.column_stack([-np.sin(lon), np.cos(lon), np.zeros_like(lon)])
    north = np.column_stack([-np.sin(lat) * np.cos(lon), -np.sin(lat) * np.sin(lon), np.cos(lat)])
    return unit_vectors(lonlat), east, north


def _along(lonlat: Floats, distance: Floats, azimuth: Floats) -> Floats:
    """Apply the exponential map at points (n, 2)."""
    here, east, north = _frame(lonlat)
    turn = (distance / RADIUS)[:, None]
    way = north * np.cos(azimuth)[:, None] + east * np.sin(azimuth)[:, None]
    return degrees(here * np.cos(turn) + way * np.sin(turn))


def destination(
    lon: ArrayLike, lat: ArrayLike, azimuth: ArrayLike, distance: ArrayLike
) -> tuple[Floats, Floats]:
    """Return the longitude and latitude reached from a point.

    All angles are degrees; `azimuth` counts from north by east, and `distance` is in metres.

    >>> lon, lat = destination(0.0, 0.0, 90.0, 111_195.0797)
    >>> round(float(lon), 6), round(float(lat), 6)
    (1.0, 0.0)
    """
    arrays = np.broadcast_arrays(
        *(np.asarray(a, np.float64) for a in (lon, lat, azimuth, distance))
    )
    flat = [values.ravel() for values in arrays]
    ends = _along(np.column_stack(flat[:2]), flat[3], np.radians(flat[2]))
    return ends[:, 0].reshape(arrays[0].shape), ends[:, 1].reshape(arrays[0].shape)


def distance(a: ArrayLike, b: ArrayLike, crs: str | None = None) -> Floats:
    """Return the distances (n,) in metres between the rows of two arrays (n, 2)."""
    on = surface(check_crs(crs))
    first, second = (on.embed(np.atleast_2d(np.asarray(xy, np.float64))) for xy in (a, b))
    return on.metres(np.sqrt(((first - second) ** 2).sum(axis=-1)))


def pairs(on: Surface, first: Floats, second: Floats) -> Floats:
    """Return the distances (n, m) in metres between embedded points (n, d) and (m, d)."""
    square = np.zeros((len(first), len(second)))
    for axis in range(first.shape[1]):
        gap = first[:, axis, None] - second[None, :, axis]
        square += np.square(gap, out=gap)
    return on.metres(np.sqrt(square, out=square))


def blocks(n: int, m: int, limit: int = BLOCK) -> Iterator[slice]:
    """Yield slices of n rows, so that m float64 columns of a slice take at most `limit` bytes."""
    step = max(1, limit // (8 * max(1, m)))
    for start in range(0, n, step):
        yield slice(start, min(n, start + step))


_LEAST = 1e-6  # cosine of the middle latitude, at a pole


@dataclass(frozen=True)
class Flat:
    """A plane in metres around some points; points with `crs` None are not changed."""

    crs: str | None
    lon: float = 0.0
    shrink: float = 1.0

    @classmethod
    def around(cls, xy: Floats, crs: str | None) -> "Flat":
        """Return the plane around points (n, 2)."""
        if crs is None:
            return cls(None)
        lonlat = to_lonlat(xy, crs)
        middle = degrees(unit_vectors(lonlat).mean(axis=0)[None])[0]
        low, high = float(lonlat[:, 1].min()), float(lonlat[:, 1].max())
        shrink = max(_LEAST, float(np.cos(np.radians((low + high) / 2))))
        return cls(crs, float(middle[0]), shrink)

    def metres(self, xy: Floats) -> Floats:
        """Return points (..., 2) in metres of the plane."""
        if self.crs is None:
            return xy
        lonlat = to_lonlat(xy.reshape(-1, 2), self.crs)
        away = (lonlat[:, 0] - self.lon + 180.0) % 360.0 - 180.0
        east = np.radians(away) * RADIUS * self.shrink
        return np.column_stack([east, np.radians(lonlat[:, 1]) * RADIUS]).reshape(xy.shape)

    def back(self, metres: Floats) -> Floats:
        """Return points (n, 2) of the plane in the coordinates of its `crs`."""
        if self.crs is None:
            return metres
        lon = self.lon + np.degrees(metres[:, 0] / (RADIUS * self.shrink))
        lat = np.clip(np.degrees(metres[:, 1] / RADIUS), -90.0, 90.0)
        return from_lonlat(np.column_stack([(lon + 180.0) % 360.0 - 180.0, lat]), self.crs)


def middle(places: Floats, crs: str | None, weights: Floats | None = None) -> Floats:
    """Return the mean (n, 2) of places (m, n, 2) over m, optionally with weights (m, n).

    On the sphere it is the direction of the mean unit vector.

    >>> middle(np.array([[[179.0, 0.0]], [[-179.0, 0.0]]]), "EPSG:4326").round(9).tolist()
    [[180.0, 0.0]]
    """
    if crs is None:
        return np.asarray(np.average(places, axis=0, weights=_spread(weights, places)))
    m, n, _ = places.shape
    vectors = unit_vectors(to_lonlat(places.reshape(-1, 2), crs)).reshape(m, n, 3)
    mean = np.average(vectors, axis=0, weights=_spread(weights, vectors))
    return from_lonlat(degrees(mean), crs)


def _spread(weights: Floats | None, values: Floats) -> Floats | None:
    return None if weights is None else np.broadcast_to(weights[:, :, None], values.shape)
