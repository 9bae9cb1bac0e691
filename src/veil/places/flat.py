r"""A plane in metres around points, for what needs one: windows, pictures, similarities.

.. math:: x = R \cos(\phi_0)\,(\lambda - \lambda_0), \quad y = R\,\phi

with the middle latitude and the mean longitude of the points, so that the antimeridian lies on the
far side. Near them it is true to a part in :math:`\frac12 (y/R)^2 + |\tan\phi_0|\,|y|/R`; it
is for towns and regions, and no map of the world. Displacements and distances of points never go
this way: see `veil.places.projection`.
"""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats
from veil.places.crs import from_lonlat, to_lonlat
from veil.places.projection import RADIUS, degrees, unit_vectors

_LEAST = 1e-6  # cosine of the middle latitude, at a pole


@dataclass(frozen=True)
class Flat:
    """The plane around some points: `crs` None is one already, and stays as it is."""

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
