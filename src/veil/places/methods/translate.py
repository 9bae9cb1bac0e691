"""Shift all points alike."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import UNIT, Method
from veil.places.points import Points
from veil.places.projection import Surface

UNDONE = "No bound; two known points undo it."


class Translate(Method):
    r"""Shift all points by `dx` metres to the east and `dy` to the north.

    .. math:: z = x + (dx, dy)

    Nothing is proved: who knows the true place of one released point knows the shift. On the
    sphere each point follows its own great circle in the same direction.
    """

    name: ClassVar[str] = "translate"
    family: ClassVar[str] = "Transformation"
    random: ClassVar[bool] = False
    dx: Annotated[float, Field(description="metres to the east", examples=[300.0])]
    dy: Annotated[float, Field(description="metres to the north", examples=[200.0])]

    @field_validator("dy")
    @classmethod
    def _moved(cls, dy: float, given: ValidationInfo) -> float:
        if not dy and not given.data.get("dx", 1.0):
            raise PydanticCustomError("still", "must not be 0 with 'dx'")
        return dy

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=UNDONE)

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Shift; nothing is drawn."""
        del rng, population
        distance = np.full(len(xy), math.hypot(self.dx, self.dy))
        return on.move(xy, distance, np.full(len(xy), math.atan2(self.dx, self.dy)))
