"""The window in which two maps are compared: that of the original points, for both sides."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats

LEAST = 3  # points


@dataclass(frozen=True, eq=False)
class Frame:
    """The box, the mean centre and the standard distance of the original points, in metres.

    Attributes
    ----------
    low, high
        (2,) corners of the bounding box.
    centre
        (2,) mean of the points.
    spread
        Root mean squared distance to the centre, the standard distance.
    n
        Number of points.
    """

    low: Floats
    high: Floats
    centre: Floats
    spread: float
    n: int

    @classmethod
    def of(cls, xy: Floats) -> "Frame":
        """Measure points (n, 2); a single place has no structure that could be kept."""
        if len(xy) < LEAST:
            raise InputError(f"Utility needs at least {LEAST} points; there are {len(xy)}.")
        spread = standard_distance(xy)
        if not spread > 0:
            raise InputError("Utility needs points at two places at least; all are at one.")
        return cls(xy.min(axis=0), xy.max(axis=0), xy.mean(axis=0), spread, len(xy))

    @property
    def sides(self) -> Floats:
        """Width and height (2,) of the box."""
        return self.high - self.low

    @property
    def area(self) -> float:
        """Square metres of the box."""
        return float(np.prod(self.sides))


def standard_distance(xy: Floats) -> float:
    """Return the root mean squared distance of points (n, 2) to their mean.

    >>> standard_distance(np.array([[0.0, 0.0], [6.0, 8.0]]))
    5.0
    """
    return float(np.sqrt(np.square(xy - xy.mean(axis=0)).sum(axis=1).mean()))


def alike(one: float, other: float) -> float:
    """Return the smaller divided by the larger of two amounts; 1 if both are 0.

    >>> alike(2.0, 4.0), alike(0.0, 0.0)
    (0.5, 1.0)
    """
    largest = max(one, other)
    return min(one, other) / largest if largest > 0 else 1.0
