"""Move points to a disk around them."""

from typing import Annotated, ClassVar

from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import AVERAGED, UNIT, Displacement, Radial
from veil.places.methods.donut import By, log_ring, moments, ring


class Disk(Radial):
    r"""Move each point to a place drawn from the disk of `radius` metres around it.

    .. math:: r = R \sqrt{U} \quad\text{(by area)} \quad\text{or}\quad r = R U \quad
        \text{(by radius)}

    By area the points tend to the rim: half of them move more than 0.707 R. By radius the density
    per area is proportional to 1/r, highest at the true point. Nothing is proved.
    """

    name: ClassVar[str] = "disk"
    family: ClassVar[str] = "Random displacement"
    radius: Annotated[
        float, Field(gt=0, description="metres", examples=[300.0], json_schema_extra=PRIVATE)
    ]
    by: Annotated[By, Field(description="uniform on the area, or in the radius")] = "area"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    def radii(self, uniform: Floats) -> Floats:
        """Invert the distribution of the radius."""
        return ring(uniform[:, 0], 0.0, self.radius, self.by)

    def log_per_area(self, metres: Floats) -> Floats:
        """Return the density of a ring without a hole."""
        return log_ring(metres, 0.0, self.radius, self.by)

    def blurred(self, metres: float) -> "Disk":
        """Widen the disk."""
        return self.model_copy(update={"radius": self.radius + metres})

    @property
    def displacement(self) -> Displacement:
        """Moments of the disk."""
        return moments(0.0, self.radius, self.by)
