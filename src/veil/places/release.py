"""What leaves: released places, what they cost, and no original."""

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
    """How a trace was released: fixes that cost all, fixes that cost a test alone, their sum.

    `worst` is what was spent for the user of whom most was spent. It is told after the run, and
    bounds nothing that was promised before: that is the cost of the release.
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
    """Places that may leave.

    Attributes
    ----------
    xy
        (size, n, 2) coordinates: `size` releases of each of n points.
    crs
        Their code, None for a plane in metres.
    method
        Spec of what made them, for example ``donut(low=50.0, high=500.0, by='area')``.
    cost
        What is proved of the whole release, composed over `size` and the fixes of a user.
    seeded
        True when the draws can be repeated by who knows the seed: **not private**.
    unplaced
        Numbers of rows that found no place. It is empty: where there are any, nothing is released.
    steps
        Of a trace whose method repeats itself: how many fixes cost all.
    columns
        What stands beside the points, by name: it leaves only when `veil.places.save` is told to
        keep it.
    id_column
        Name of the column that tells rows apart, if there is one.
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
        """Spec of what made it, by the name that releases of all kinds have."""
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
        """Return one of the releases: its coordinates alone."""
        return Points(self.xy[i], self.crs)


Masked = Points | Release | NDArray[np.float64]


def releases_of(masked: Masked) -> Floats:
    """Return m releases of the same n points as (m, n, 2), however they were handed in."""
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
        raise InputError(f"{row_numbers(bad)} must be finite numbers; repair or leave them out.")
    return xy


def crs_of(masked: Masked, other: Points) -> str | None:
    """Return the code of masked points; an array has that of the points it is compared with."""
    return masked.crs if isinstance(masked, Points | Release) else other.crs
