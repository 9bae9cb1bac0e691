"""What a map is turned and stretched about: the centroid of the data, or a fixed point."""

from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.crs import from_lonlat
from veil.places.numbered import numbered
from veil.places.points import check_coordinates
from veil.places.projection import Surface, degrees

CENTROID = "centroid"
DATA = "The centroid is itself made of the data."


def _parsed(about: str) -> Floats | None:
    """Return the point (1, 2) that 'x;y' says, None for the centroid."""
    if about == CENTROID:
        return None
    x, y = (float(number) for number in about.split(";"))
    return np.array([[x, y]])


def _readable(about: str) -> str:
    try:
        _parsed(about)
    except ValueError:
        raise PydanticCustomError("about", "must be 'centroid', or a point as 'x;y'") from None
    return about


About = Annotated[
    str, Field(description="centroid, or a point as 'x;y'"), AfterValidator(_readable)
]


def centre(about: str, xy: Floats, on: Surface) -> Floats:
    """Return the centre (1, 2) of points (n, 2)."""
    point = _parsed(about)
    if point is not None:
        return check_coordinates(point, on.crs)
    mean = on.embed(xy).mean(axis=0, keepdims=True)
    return mean if on.crs is None else from_lonlat(degrees(mean), on.crs)


def around(about: str, xy: Floats, on: Surface) -> tuple[Floats, Floats, Floats]:
    """Return the centre for each point (n, 2), and where the points lie as seen from there.

    These are metres (n,) and directions (n,) in radians, from north by east. A point at the
    centre would stay where it is: that is refused.
    """
    middle = centre(about, xy, on)
    metres, azimuth = on.seen(middle, xy)
    still = np.flatnonzero(metres < 1e-6)
    if len(still):
        raise InputError(
            f"{numbered(still)} at the centre would be released in place; name another 'about'."
        )
    return np.repeat(middle, len(xy), axis=0), metres, azimuth
