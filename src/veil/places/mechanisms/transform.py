"""Translate, rotate or scale the map."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError
from typing_extensions import override

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.crs import from_lonlat, row_numbers
from veil.places.mechanism import UNIT, Mechanism
from veil.places.points import Points, check_coordinates
from veil.places.projection import Surface, degrees

CENTROID = "centroid"
DATA = "The centroid depends on the data."


def _parsed(about: str) -> Floats | None:
    """Return the point (1, 2) of a text 'x;y', or None for the centroid."""
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
    """Return the centre for each point (n, 2), and the polar coordinates of the points around it.

    These are metres (n,) and directions (n,) in radians, from north by east. A point at the centre
    raises an error, because it would not move.
    """
    middle = centre(about, xy, on)
    metres, azimuth = on.polar(middle, xy)
    still = np.flatnonzero(metres < 1e-6)
    if len(still):
        raise InputError(
            f"{row_numbers(still)} at the centre would be released in place. Try another 'about'."
        )
    return np.repeat(middle, len(xy), axis=0), metres, azimuth


UNDONE = "No bound; two known points undo it."


class Translate(Mechanism):
    r"""Shift all points by `dx` metres to the east and `dy` to the north.

    .. math:: z = x + (dx, dy)

    Nothing is proved. An attacker who knows the true place of one released point knows the shift.
    On the sphere each point follows its own great circle in the same direction.
    """

    name: ClassVar[str] = "translate"
    family: ClassVar[str] = "Transformation"
    random: ClassVar[bool] = False
    dx: Annotated[float, Field(description="metres to the east", examples=[300.0])]
    dy: Annotated[float, Field(description="metres to the north", examples=[200.0])]

    @field_validator("dy")
    @classmethod
    def _moved(cls, dy: float, info: ValidationInfo) -> float:
        if not dy and not info.data.get("dx", 1.0):
            raise PydanticCustomError("still", "must not be 0 with 'dx'")
        return dy

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=UNDONE)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del rng, population
        distance = np.full(len(xy), math.hypot(self.dx, self.dy))
        return on.move(xy, distance, np.full(len(xy), math.atan2(self.dx, self.dy)))


def _turned(degrees: float) -> float:
    if math.remainder(degrees, 360) == 0:
        raise PydanticCustomError("still", "must not be a full turn")
    return degrees


class Rotate(Mechanism):
    r"""Rotate all points counterclockwise about the centroid or a fixed point.

    .. math:: z = c + e^{i a} (x - c)

    Nothing is proved. Two known points reveal centre and angle.
    """

    name: ClassVar[str] = "rotate"
    family: ClassVar[str] = "Transformation"
    random: ClassVar[bool] = False
    degrees: Annotated[
        float,
        Field(description="against the clock", examples=[30.0]),
        AfterValidator(_turned),
    ]
    about: About = CENTROID

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=f"{UNDONE} {DATA}")

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del rng, population
        middle, metres, azimuth = around(self.about, xy, on)
        return on.move(middle, metres, azimuth - math.radians(self.degrees))


def _stretched(factor: float) -> float:
    if factor == 1:
        raise PydanticCustomError("still", "must not be 1")
    return factor


class Scale(Mechanism):
    r"""Multiply the distance of all points from the centroid or a fixed point.

    .. math:: z = c + s (x - c)

    Nothing is proved. Two known points reveal centre and factor.
    """

    name: ClassVar[str] = "scale"
    family: ClassVar[str] = "Transformation"
    random: ClassVar[bool] = False
    factor: Annotated[
        float,
        Field(gt=0, description="of all distances", examples=[1.5]),
        AfterValidator(_stretched),
    ]
    about: About = CENTROID

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=f"{UNDONE} {DATA}")

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del rng, population
        middle, metres, azimuth = around(self.about, xy, on)
        return on.move(middle, self.factor * metres, azimuth)
