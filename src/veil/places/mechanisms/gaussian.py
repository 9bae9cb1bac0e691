"""Normal displacements, and normal distances between two bounds."""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.mechanism import AVERAGED, UNIT, Displacement, Radial, above_low, inside, special


class Gaussian(Radial):
    r"""Add Gaussian noise of `sigma` metres.

    ``form='plane'`` is the isotropic normal distribution, whose distance is Rayleigh:

    .. math:: P(r \le t) = 1 - e^{-t^2 / 2\sigma^2}

    ``form='radius'`` draws the distance as the absolute value of a normal number. Its density per
    area is infinite at the true point; use it only for comparisons. Nothing is proved here.
    """

    name: ClassVar[str] = "gaussian"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: (
        f"gaussian(sigma={metres / 2:g})"
    )
    family: ClassVar[str] = "Gaussian"
    uniforms: ClassVar[int] = 2
    sigma: Annotated[
        float, Field(gt=0, description="metres", examples=[200.0], json_schema_extra=PRIVATE)
    ]
    form: Annotated[
        Literal["plane", "radius"], Field(description="normal on the plane, or in the distance")
    ] = "plane"

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    def radii(self, uniform: Floats) -> Floats:
        """Return Rayleigh distances, or for 'radius' one coordinate of a normal pair."""
        rayleigh: Floats = self.sigma * np.sqrt(-2 * np.log1p(-uniform[:, 0]))
        if self.form == "plane":
            return rayleigh
        rayleigh *= np.cos(2 * np.pi * uniform[:, 1])
        return np.abs(rayleigh)

    @override
    def log_per_area(self, metres: Floats) -> Floats:
        fall = -np.square(metres) / (2 * self.sigma**2)
        if self.form == "plane":
            return fall - math.log(2 * math.pi * self.sigma**2)
        with np.errstate(divide="ignore"):
            around = np.log(2 * math.pi * metres)
        return fall + math.log(2 / (self.sigma * math.sqrt(2 * math.pi))) - around

    @property
    @override
    def displacement(self) -> Displacement:
        if self.form == "plane":
            return Displacement(
                self.sigma * math.sqrt(math.pi / 2), self.sigma * math.sqrt(2), self._rayleigh
            )
        return Displacement(self.sigma * math.sqrt(2 / math.pi), self.sigma, self._half)

    def _rayleigh(self, p: float) -> float:
        return self.sigma * math.sqrt(-2 * math.log1p(-p)) if p < 1 else math.inf

    def _half(self, p: float) -> float:
        return self.sigma * NormalDist().inv_cdf((1 + p) / 2) if p < 1 else math.inf


def _usable(sigma: float | None, info: ValidationInfo) -> float | None:
    """Reject a ring so far in the tail, or so narrow, that numbers cannot represent it."""
    low, high, mean = (info.data.get(name) for name in ("low", "high", "mean"))
    if low is None or high is None:
        return sigma
    wide = (high - low) / 5 if sigma is None else sigma
    outside = 0.0 if mean is None else max(low - mean, mean - high, 0.0)
    if outside > 100 * wide or wide > 1_000 * (high - low):
        raise PydanticCustomError(
            "tail", "must put 'mean' within 100 sigma of the ring, and be at most 1,000 rings wide"
        )
    return sigma


class Bimodal(Radial):
    r"""Move each point by a distance that is normal, truncated to [`low`, `high`] metres.

    .. math:: r = \mu + \sigma \Phi^{-1}\bigl(\Phi(a) + U (\Phi(b) - \Phi(a))\bigr), \quad
        a = (low - \mu)/\sigma, \; b = (high - \mu)/\sigma

    By default the mean is halfway and sigma a fifth of the width. A cross-section through the
    point has two modes, hence the name (bimodal Gaussian). Nothing is proved.

    References
    ----------
    Zandbergen. Ensuring confidentiality of geocoded health data: assessing geographic masking
    strategies for individual-level data. Advances in Medicine, 2014. doi:10.1155/2014/567049
    (cited from memory)
    """

    name: ClassVar[str] = "bimodal"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: (
        f"bimodal(low={metres / 10:g}, high={metres})"
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
    mean: Annotated[float | None, Field(description="metres; halfway by default")] = None
    sigma: Annotated[
        float | None,
        Field(
            gt=0,
            description="metres; a fifth of the width by default",
            validate_default=True,
        ),
        AfterValidator(_usable),
    ] = None

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    @property
    def _normal(self) -> tuple[float, float]:
        """Mean and sigma of the normal distribution before truncation."""
        mean = (self.low + self.high) / 2 if self.mean is None else self.mean
        return mean, (self.high - self.low) / 5 if self.sigma is None else self.sigma

    @property
    def _cut(self) -> tuple[float, float, float]:
        """Bounds in units of sigma, mirrored to the left tail, and the sign of the mirroring."""
        mean, sigma = self._normal
        a, b = (self.low - mean) / sigma, (self.high - mean) / sigma
        return (-b, -a, -1.0) if a > 0 else (a, b, 1.0)

    def radii(self, uniform: Floats) -> Floats:
        """Invert the distribution in logarithms, so that no tail underflows."""
        return self._inverse(uniform[:, 0])

    def _inverse(self, p: Floats) -> Floats:
        (mean, sigma), (a, b, sign) = self._normal, self._cut
        p = p if sign > 0 else 1 - p
        with np.errstate(divide="ignore"):
            share = np.logaddexp(
                np.log1p(-p) + special().log_ndtr(a), np.log(p) + special().log_ndtr(b)
            )
        radii: Floats = mean + sign * sigma * special().ndtri_exp(share)
        return radii

    @property
    def _log_mass(self) -> float:
        a, b, _ = self._cut
        low, high = float(special().log_ndtr(a)), float(special().log_ndtr(b))
        return high + math.log(-math.expm1(low - high))

    @override
    def log_per_area(self, metres: Floats) -> Floats:
        mean, sigma = self._normal
        around = np.log(2 * math.pi * np.maximum(metres, 1e-300))  # finite at the true point
        fall = -np.square((metres - mean) / sigma) / 2
        mass = self._log_mass + math.log(sigma * math.sqrt(2 * math.pi))
        return inside(metres, self.low, self.high) + fall - mass - around

    @override
    def blurred(self, metres: float) -> "Bimodal":
        wide = {"low": max(0.0, self.low - metres), "high": self.high + metres}
        return self.model_copy(update=wide)

    @property
    @override
    def displacement(self) -> Displacement:
        (mean, sigma), (a, b, sign) = self._normal, self._cut
        at_a, at_b = (
            math.exp(-x * x / 2 - self._log_mass) / math.sqrt(2 * math.pi) for x in (a, b)
        )
        shift = at_a - at_b
        centre = mean + sign * sigma * shift
        variance = sigma**2 * (1 + a * at_a - b * at_b - shift**2)
        rms = math.sqrt(centre**2 + variance)
        return Displacement(centre, rms, lambda p: float(self._inverse(np.array([p]))[0]))
