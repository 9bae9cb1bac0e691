"""Turn the map."""

import math
from typing import Annotated, ClassVar

from numpy.random import Generator
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import UNIT, Method
from veil.places.methods.centre import CENTROID, DATA, About, around
from veil.places.methods.translate import UNDONE
from veil.places.points import Points
from veil.places.projection import Surface


def _turned(degrees: float) -> float:
    if math.remainder(degrees, 360) == 0:
        raise PydanticCustomError("still", "must not be a full turn")
    return degrees


class Rotate(Method):
    r"""Turn all points by an angle, against the clock, about the centroid or a fixed point.

    .. math:: z = c + e^{i a} (x - c)

    Nothing is proved: two known points give centre and angle.
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
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=f"{UNDONE} {DATA}")

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Turn; nothing is drawn."""
        del rng, population
        middle, metres, azimuth = around(self.about, xy, on)
        return on.move(middle, metres, azimuth - math.radians(self.degrees))
