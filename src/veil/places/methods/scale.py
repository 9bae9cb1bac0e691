"""Stretch the map."""

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


def _stretched(factor: float) -> float:
    if factor == 1:
        raise PydanticCustomError("still", "must not be 1")
    return factor


class Scale(Method):
    r"""Multiply the distance of all points from the centroid or a fixed point.

    .. math:: z = c + s (x - c)

    Nothing is proved: two known points give centre and factor.
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
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=f"{UNDONE} {DATA}")

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Stretch; nothing is drawn."""
        del rng, population
        middle, metres, azimuth = around(self.about, xy, on)
        return on.move(middle, self.factor * metres, azimuth)
