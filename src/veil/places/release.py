"""Released places with their cost, without the originals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.crs import row_numbers
from veil.places.points import Points


@dataclass(frozen=True)
class Steps:
    """Numbers of hard and easy steps of a released trace, and the highest cost of a user.

    A hard step costs epsilon, an easy step only the test; the first fix of a user is a hard step
    without a test. `worst` is computed after the run; the guarantee is the cost of the release.
    """

    hard: int
    easy: int
    worst: float

    @property
    def total(self) -> int:
        """Number of fixes."""
        return self.hard + self.easy


@dataclass(frozen=True, eq=False)
class Release:
    """Released places, their cost, and the columns of the original table.

    Attributes
    ----------
    xy
        (size, n, 2) coordinates: `size` releases of each of n points.
    crs
        Code of the coordinates, None for a plane in metres.
    method
        Spec of the mechanism, for example ``donut(low=50.0, high=500.0, by='area')``.
    cost
        Guarantee of the whole release, composed over `size` and the fixes of a user.
    seeded
        True if anyone who knows the seed can repeat the draws: **not private**.
    unplaced
        Always empty: if a row cannot be placed, nothing is released.
    steps
        Hard and easy steps of a trace released by `predictive`, else None.
    columns
        Other columns of the original, by name. `veil.places.save` writes only those in `keep`.
    id_column
        Name of the column of ids, or "".
    """

    xy: Floats
    crs: str | None
    method: str
    cost: Guarantee
    seeded: bool = False
    unplaced: tuple[int, ...] = ()
    steps: Steps | None = None
    columns: Mapping[str, Sequence[object]] = field(default_factory=dict)
    id_column: str = ""

    @property
    def mechanism(self) -> str:
        """Spec of the mechanism, under the name that all releases use."""
        return self.method

    @property
    def size(self) -> int:
        """Number of releases of each point."""
        return len(self.xy)

    def __len__(self) -> int:
        return int(self.xy.shape[1])

    def __repr__(self) -> str:
        return f"Release({self.size} of {len(self):,} points by {self.method})"

    def points(self, i: int = 0) -> Points:
        """Return the coordinates of release `i`."""
        return Points(self.xy[i], self.crs)


Masked = Points | Release | NDArray[np.float64]


def releases_of(masked: Masked) -> Floats:
    """Return m releases of the same n points as an array (m, n, 2)."""
    if isinstance(masked, Release):
        return masked.xy
    if isinstance(masked, Points):
        return masked.xy[None]
    try:
        xy = np.asarray(masked, dtype=np.float64)
    except (TypeError, ValueError):
        xy = np.empty(0)
    if xy.ndim == 2:
        xy = xy[None]
    if xy.ndim != 3 or xy.shape[2] != 2 or not xy.size:
        raise InputError("Masked points must be Points, a Release or an array (m, n, 2).")
    bad = np.flatnonzero(~np.isfinite(xy).all(axis=(0, 2)))
    if len(bad):
        raise InputError(f"{row_numbers(bad)} must be finite numbers. Repair or remove them.")
    return xy


def crs_of(masked: Masked, other: Points) -> str | None:
    """Return the code of masked points; an array has the code of the points to compare with."""
    return masked.crs if isinstance(masked, Points | Release) else other.crs
