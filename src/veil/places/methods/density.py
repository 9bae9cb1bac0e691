"""Move points farther where fewer people live."""

import math
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import AVERAGED, UNIT, Method
from veil.places.methods.donut import By, ring
from veil.places.points import Points
from veil.places.projection import Surface, pairs
from veil.places.radius import reach
from veil.places.remembered import Remembered

_RADII: Remembered[Floats] = Remembered()


class Density(Method):
    r"""Move each point to a ring whose outer radius holds k people of a population.

    .. math:: high = \min\{r : \text{people within } r \ge k\}, \qquad low = inner \cdot high

    The area, and not the radius, is inversely proportional to the density: pi high^2 rho = k.
    Nothing is proved; that k people live within the ring is a measurement (`spatial_k`).

    Notes
    -----
    Where k people live at the very place of a point the radius would be 0 and the point would be
    released as it is: then it is the distance to the next place.
    """

    name: ClassVar[str] = "density"
    family: ClassVar[str] = "Donut"
    needs: ClassVar[frozenset[str]] = frozenset({"population"})
    lawful: ClassVar[bool] = True
    k: Annotated[
        float,
        Field(gt=0, description="people in the ring", examples=[20.0], json_schema_extra=PRIVATE),
    ]
    inner: Annotated[
        float, Field(ge=0, lt=1, description="inner radius, as a share of the outer one")
    ] = 0.1
    by: Annotated[By, Field(description="uniform on the area, or in the radius")] = "area"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        told = "The size of the displacement tells the density at the true place."
        return Guarantee("none", unit=UNIT, caveat=f"{AVERAGED} {told}")

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Draw from the ring of each point."""
        high = reach(xy, self.people(population), self.k, on, moved=True)
        uniform = rng.random((len(xy), 2))
        radii = ring(uniform[:, 0], self.inner * high, high, self.by)
        return on.move(xy, radii, 2 * np.pi * uniform[:, 1])

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Use the ring that each candidate itself would have had."""
        people = self.people(population)
        high = _RADII.of(
            candidates, (people, self), lambda: reach(candidates, people, self.k, on, moved=True)
        )
        low = self.inner * high
        metres = pairs(on, on.embed(released), on.embed(candidates))
        within = (metres >= low * (1 - 1e-9)) & (metres <= high * (1 + 1e-9))
        if self.by == "area":
            law = np.broadcast_to(-np.log(math.pi * (high**2 - low**2)), metres.shape)
        else:
            with np.errstate(divide="ignore"):
                law = -np.log(2 * math.pi * metres * (high - low))
        return np.where(within, law, -np.inf)
