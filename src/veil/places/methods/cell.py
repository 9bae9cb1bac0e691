"""Move points to the centre of the cell that they lie in."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import UNIT, Method
from veil.places.points import Points
from veil.places.projection import Surface, pairs


class Cell(Method):
    r"""Move each point to the centre of its square cell of a lattice that is anchored at 0.

    .. math:: z = (\lfloor x / s \rfloor + 1/2) \, s

    Nothing is proved: the truth is in the cell, and who lives there alone is found. On the sphere
    cells are `size` metres high, and as wide on the middle of their row.
    """

    name: ClassVar[str] = "cell"
    family: ClassVar[str] = "Aggregation"
    lawful: ClassVar[bool] = True
    random: ClassVar[bool] = False
    size: Annotated[
        float,
        Field(gt=0, description="side, metres", examples=[200.0], json_schema_extra=PRIVATE),
    ]

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        told = "No bound; who knows a register finds an address that is alone in its cell."
        return Guarantee("none", unit=UNIT, caveat=told)

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Go to the centre; nothing is drawn."""
        del rng, population
        return on.lattice(xy, self.size, 0.5)

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Spread each centre over its cell, of which the candidates in it are possible."""
        del population
        centres = on.embed(on.lattice(candidates, self.size, 0.5))
        same = pairs(on, on.embed(released), centres) <= self.size / 100
        return np.where(same, -math.log(self.size**2), -np.inf)
