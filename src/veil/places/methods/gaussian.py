"""Move points by Gaussian noise."""

import math
from statistics import NormalDist
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.method import AVERAGED, UNIT, Displacement, Radial


class Gaussian(Radial):
    r"""Add Gaussian noise of `sigma` metres.

    ``form='plane'`` is the isotropic normal law, whose distance is Rayleigh:

    .. math:: P(r \le t) = 1 - e^{-t^2 / 2\sigma^2}

    ``form='radius'`` draws the distance itself as the absolute value of a normal number; its
    density per area is infinite at the true point. It is there to be compared with. Nothing is
    proved here.
    """

    name: ClassVar[str] = "gaussian"
    family: ClassVar[str] = "Gaussian"
    uniforms: ClassVar[int] = 2
    sigma: Annotated[
        float, Field(gt=0, description="metres", examples=[200.0], json_schema_extra=PRIVATE)
    ]
    form: Annotated[
        Literal["plane", "radius"], Field(description="normal on the plane, or in the distance")
    ] = "plane"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    def radii(self, uniform: Floats) -> Floats:
        """Draw Rayleigh distances; of the form 'radius' one coordinate of a normal pair."""
        rayleigh: Floats = self.sigma * np.sqrt(-2 * np.log1p(-uniform[:, 0]))
        if self.form == "plane":
            return rayleigh
        rayleigh *= np.cos(2 * np.pi * uniform[:, 1])
        return np.abs(rayleigh)

    def log_per_area(self, metres: Floats) -> Floats:
        """Return the normal density, or that of its distance over the circle."""
        fall = -np.square(metres) / (2 * self.sigma**2)
        if self.form == "plane":
            return fall - math.log(2 * math.pi * self.sigma**2)
        with np.errstate(divide="ignore"):
            around = np.log(2 * math.pi * metres)
        return fall + math.log(2 / (self.sigma * math.sqrt(2 * math.pi))) - around

    @property
    def displacement(self) -> Displacement:
        """Moments of a Rayleigh, or of a half-normal distance."""
        if self.form == "plane":
            return Displacement(
                self.sigma * math.sqrt(math.pi / 2), self.sigma * math.sqrt(2), self._rayleigh
            )
        return Displacement(self.sigma * math.sqrt(2 / math.pi), self.sigma, self._half)

    def _rayleigh(self, p: float) -> float:
        return self.sigma * math.sqrt(-2 * math.log1p(-p)) if p < 1 else math.inf

    def _half(self, p: float) -> float:
        return self.sigma * NormalDist().inv_cdf((1 + p) / 2) if p < 1 else math.inf
