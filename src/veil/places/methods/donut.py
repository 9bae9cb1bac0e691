"""Move points to a ring around them."""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import AVERAGED, UNIT, Displacement, Radial, above_low, inside

By = Literal["area", "radius"]


class Donut(Radial):
    r"""Move each point to a place drawn from the ring between `low` and `high` metres.

    .. math:: r = \sqrt{low^2 + U (high^2 - low^2)} \quad\text{or}\quad r = low + U (high - low)

    ``by='area'``, the first, is uniform on the ring; ``by='radius'`` is denser near its inside.
    Nothing is proved: the truth is in a ring around what is released, and the rings of several
    releases meet in it.

    References
    ----------
    Hampton et al. Mapping health data: improved privacy protection with donut method geomasking.
    American Journal of Epidemiology 172(9), 2010. doi:10.1093/aje/kwq248
    """

    name: ClassVar[str] = "donut"
    family: ClassVar[str] = "Donut"
    low: Annotated[
        float,
        Field(ge=0, description="least metres", examples=[50.0], json_schema_extra=PRIVATE),
    ]
    high: Annotated[
        float,
        Field(gt=0, description="most metres", examples=[500.0], json_schema_extra=PRIVATE),
        AfterValidator(above_low),
    ]
    by: Annotated[By, Field(description="uniform on the area, or in the radius")] = "area"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    def radii(self, uniform: Floats) -> Floats:
        """Invert the distribution of the radius."""
        return ring(uniform[:, 0], self.low, self.high, self.by)

    def log_per_area(self, metres: Floats) -> Floats:
        """Return a constant by area, and one that falls with the distance by radius."""
        return log_ring(metres, self.low, self.high, self.by)

    def blurred(self, metres: float) -> "Donut":
        """Widen the ring."""
        wide = {"low": max(0.0, self.low - metres), "high": self.high + metres}
        return self.model_copy(update=wide)

    @property
    def displacement(self) -> Displacement:
        """Moments of the ring."""
        return moments(self.low, self.high, self.by)


def ring(uniform: Floats, low: float | Floats, high: float | Floats, by: By) -> Floats:
    """Turn uniform numbers (n,) into radii between low and high."""
    if by == "radius":
        return low + uniform * (high - low)
    radii: Floats = np.sqrt(np.square(low) + uniform * (np.square(high) - np.square(low)))
    return radii


def log_ring(metres: Floats, low: float, high: float, by: By) -> Floats:
    """Return the log density per square metre of a ring."""
    within = inside(metres, low, high)
    if by == "area":
        return within - math.log(math.pi * (high**2 - low**2))
    with np.errstate(divide="ignore", invalid="ignore"):  # the centre of a disk is infinite
        density = within - np.log(2 * math.pi * metres * (high - low))
    return np.where(np.isfinite(within), density, within)


def moments(low: float, high: float, by: By) -> Displacement:
    """Return mean, root mean square and quantiles of the radius of a ring."""
    if by == "radius":
        square = (high**2 + high * low + low**2) / 3
        return Displacement((low + high) / 2, math.sqrt(square), lambda p: low + p * (high - low))
    area = high**2 - low**2
    mean = 2 / 3 * (high**3 - low**3) / area
    rms = math.sqrt((high**2 + low**2) / 2)
    return Displacement(mean, rms, lambda p: math.sqrt(low**2 + p * area))
