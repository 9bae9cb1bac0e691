"""Move every point by the same distance."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import UNIT, Displacement, Radial
from veil.places.points import Points
from veil.places.projection import Surface


class Fixed(Radial):
    r"""Move each point by exactly `radius` metres in a direction drawn uniformly.

    .. math:: r = R

    Nothing is proved: who knows the radius draws a circle around what is released, and few
    addresses lie on it.

    Notes
    -----
    `grid` is the step, in metres, to which released coordinates are rounded (0: not at all).
    Rounding moves a point by up to grid/sqrt(2), and the law allows for that. A file of degrees
    with seven decimals is rounded to about 0.02 m.
    """

    name: ClassVar[str] = "fixed"
    family: ClassVar[str] = "Random displacement"
    uniforms: ClassVar[int] = 0
    radius: Annotated[
        float, Field(gt=0, description="metres", examples=[300.0], json_schema_extra=PRIVATE)
    ]
    grid: Annotated[
        float, Field(ge=0, description="metres to which coordinates are rounded, 0: none")
    ] = 0.0

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee(
            "none",
            unit=UNIT,
            caveat="No bound; who knows the radius and a register finds the address.",
        )

    def radii(self, uniform: Floats) -> Floats:
        """Return the radius."""
        return np.full(len(uniform), self.radius)

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Draw directions, and round if that is asked for."""
        moved = super().draw(xy, on, rng, population)
        return on.lattice(moved, self.grid) if self.grid else moved

    def log_per_area(self, metres: Floats) -> Floats:
        """Spread the circle over a ring that is as wide as coordinates are exact."""
        wide = max(1e-6, self.grid / math.sqrt(2))
        area = 4 * math.pi * self.radius * wide
        return np.where(np.abs(metres - self.radius) <= wide, -math.log(area), -np.inf)

    def blurred(self, metres: float) -> "Fixed":
        """Widen the circle."""
        return self.model_copy(update={"grid": max(self.grid, math.sqrt(2) * metres)})

    @property
    def displacement(self) -> Displacement:
        """The radius, always."""
        return Displacement(self.radius, self.radius, lambda _: self.radius)
