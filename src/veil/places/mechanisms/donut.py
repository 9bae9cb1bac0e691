"""Rings and disks: donut, disk, a fixed distance, and distances by population density."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.mechanism import (
    AVERAGED,
    UNIT,
    Displacement,
    Mechanism,
    Radial,
    Remembered,
    above_low,
    inside,
)
from veil.places.neighbours import reach
from veil.places.points import Points
from veil.places.projection import Surface, pairs

By = Literal["area", "radius"]


class Donut(Radial):
    r"""Move each point to a random place in the ring between `low` and `high` metres.

    .. math:: r = \sqrt{low^2 + U (high^2 - low^2)} \quad\text{or}\quad r = low + U (high - low)

    ``by='area'``, the first, is uniform on the ring; ``by='radius'`` is denser near its inside.
    Nothing is proved. The true point is in a ring around the released one, and the rings of
    several releases intersect in it.

    References
    ----------
    Hampton et al. Mapping health data: improved privacy protection with donut method geomasking.
    American Journal of Epidemiology 172(9), 2010. doi:10.1093/aje/kwq248
    """

    name: ClassVar[str] = "donut"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: (
        f"donut(low={metres / 10:g}, high={metres})"
    )
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
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    @override
    def radii(self, uniform: Floats) -> Floats:
        return ring(uniform[:, 0], self.low, self.high, self.by)

    def log_per_area(self, metres: Floats) -> Floats:
        """Return a constant by area, or a density that falls with the distance by radius."""
        return log_ring(metres, self.low, self.high, self.by)

    @override
    def blurred(self, metres: float) -> "Donut":
        wide = {"low": max(0.0, self.low - metres), "high": self.high + metres}
        return self.model_copy(update=wide)

    @property
    @override
    def displacement(self) -> Displacement:
        return moments(self.low, self.high, self.by)


def ring(uniform: Floats, low: float | Floats, high: float | Floats, by: By) -> Floats:
    """Return radii between low and high from uniform numbers (n,)."""
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


class Disk(Radial):
    r"""Move each point to a random place in the disk of `radius` metres around it.

    .. math:: r = R \sqrt{U} \quad\text{(by area)} \quad\text{or}\quad r = R U \quad
        \text{(by radius)}

    By area, half of the points move more than 0.707 R. By radius, the density per area is
    proportional to 1/r, so it is highest at the true point. Nothing is proved.
    """

    name: ClassVar[str] = "disk"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: f"disk(radius={metres})"
    family: ClassVar[str] = "Random displacement"
    radius: Annotated[
        float, Field(gt=0, description="metres", examples=[300.0], json_schema_extra=PRIVATE)
    ]
    by: Annotated[By, Field(description="uniform on the area, or in the radius")] = "area"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    @override
    def radii(self, uniform: Floats) -> Floats:
        return ring(uniform[:, 0], 0.0, self.radius, self.by)

    @override
    def log_per_area(self, metres: Floats) -> Floats:
        return log_ring(metres, 0.0, self.radius, self.by)

    @override
    def blurred(self, metres: float) -> "Disk":
        return self.model_copy(update={"radius": self.radius + metres})

    @property
    @override
    def displacement(self) -> Displacement:
        return moments(0.0, self.radius, self.by)


class Fixed(Radial):
    r"""Move each point by exactly `radius` metres in a uniformly random direction.

    .. math:: r = R

    Nothing is proved. An attacker who knows the radius draws a circle around the released point,
    which few addresses are on.

    Notes
    -----
    `grid` is the step, in metres, to which released coordinates are rounded (0: not at all).
    Rounding moves a point by up to grid/sqrt(2), which the density allows for. A file of degrees
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
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit=UNIT,
            caveat="No bound; an attacker who knows the radius and a register finds the address.",
        )

    @override
    def radii(self, uniform: Floats) -> Floats:
        return np.full(len(uniform), self.radius)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        moved = super().draw(xy, on, rng, population)
        return on.lattice(moved, self.grid) if self.grid else moved

    def log_per_area(self, metres: Floats) -> Floats:
        """Return the density of a ring as wide as the precision of coordinates."""
        wide = max(1e-6, self.grid / math.sqrt(2))
        area = 4 * math.pi * self.radius * wide
        return np.where(np.abs(metres - self.radius) <= wide, -math.log(area), -np.inf)

    @override
    def blurred(self, metres: float) -> "Fixed":
        return self.model_copy(update={"grid": max(self.grid, math.sqrt(2) * metres)})

    @property
    @override
    def displacement(self) -> Displacement:
        return Displacement(self.radius, self.radius, lambda _: self.radius)


_RADII: Remembered[Floats] = Remembered()


class Density(Mechanism):
    r"""Move each point to a ring whose outer radius encloses k people of a population.

    .. math:: high = \min\{r : \text{people within } r \ge k\}, \qquad low = inner \cdot high

    The area, not the radius, is inversely proportional to the density: pi high^2 rho = k. Nothing
    is proved; that k people live within the ring is a measurement (`spatial_k`).

    Notes
    -----
    If k people live at the place of a point, the radius would be 0 and the point would be released
    unchanged. In that case the radius is the distance to the next place.
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
    @override
    def guarantee(self) -> Guarantee:
        caveat = f"{AVERAGED} The size of the displacement reveals the density at the true place."
        return Guarantee("none", unit=UNIT, caveat=caveat)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        high = reach(xy, self.people(population), self.k, on, moved=True)
        uniform = rng.random((len(xy), 2))
        radii = ring(uniform[:, 0], self.inner * high, high, self.by)
        return on.move(xy, radii, 2 * np.pi * uniform[:, 1])

    @override
    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
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
