"""Discrete Gaussian noise: for integers, and for real numbers on a grid."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.calibration import discrete_gaussian_delta, gaussian_sigma, mass, zcdp_rho
from veil.dp.exact.grid import grid, steps, unsteps
from veil.dp.exact.samplers import discrete_gaussian
from veil.dp.mechanism import (
    ADD_REMOVE,
    AROUND,
    Array,
    Mechanism,
    add,
    flat_outputs,
    pure_guarantee,
    real,
    whole,
)

REPLACED = "Replacing a record is removing one and adding one: rho is then four times as large."


class DiscreteGaussian(Mechanism):
    r"""Add discrete Gaussian noise to integers.

    .. math:: \Pr[M(x) = y] \propto e^{-(y-x)^2/(2\sigma^2)}, \quad \sigma^2 = \Delta^2/(2\rho)

    Proved: rho-zCDP, if adding or removing a record changes the numbers of one query by at most
    the sensitivity in L2.

    References
    ----------
    Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Theorem
    4 (one number) and Corollary 23 (several).
    """

    name: ClassVar[str] = "discrete_gaussian"
    family: ClassVar[str] = "Additive noise"
    answers: ClassVar[Literal["", "count"]] = "count"
    rho: Annotated[float, Field(gt=0, description="budget of a release", examples=[0.5])]
    sensitivity: Annotated[
        int, Field(ge=1, description="how much the numbers of a query change (L2)")
    ] = 1

    @property
    def sigma2(self) -> Fraction:
        """Variance parameter of the noise, exactly."""
        return Fraction(self.sensitivity) ** 2 / (2 * Fraction(self.rho))

    @property
    def guarantee(self) -> Guarantee:
        """Concentrated DP."""
        return Guarantee(
            "zcdp", unit="record", rho=self.rho, neighbours=ADD_REMOVE, caveat=REPLACED
        )

    def check(self, x: object) -> Ids:
        """Return the input as integers."""
        return whole(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Add independent noise to every number."""
        noise = discrete_gaussian(self.sigma2, size * x.size, rng)
        return add(x, noise.reshape(size, *x.shape))

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances."""
        distances = (flat_outputs(x, outputs, np.int64) - x.reshape(1, -1)).astype(np.float64)
        sigma2 = float(self.sigma2)
        exponents = -np.square(distances) / (2 * sigma2) - math.log(mass(sigma2))
        probabilities: Floats = np.exp(np.sum(exponents, axis=1))
        return probabilities

    def outcomes(self, x: Array) -> Sequence[int]:
        """Return the integers near a single one."""
        if x.size != 1:
            return ()
        centre = int(x.reshape(-1)[0])
        return range(centre - AROUND, centre + AROUND + 1)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Add one record with the largest possible contribution."""
        return [(0, self.sensitivity)]


_LEAST = 1e-100  # of sensitivity/sigma: rho must not overflow
_MOST_STEPS = 2.0**20  # largest sigma for which the delta of the discrete distribution is summed


class Gaussian(Mechanism):
    r"""Round real numbers to a fine grid, and add discrete Gaussian noise there.

    .. math:: \Pr[M(x) = kg] \propto e^{-(k - \lfloor x/g + 1/2 \rfloor)^2 g^2/(2\sigma^2)}

    Proved with `sigma`: rho-zCDP with rho = D^2/(2 sigma^2) in any dimension, where D is the L2
    sensitivity. The noise is slightly larger than sigma, because rounding adds to D.
    Proved with `epsilon` and `delta`: (epsilon, delta)-DP. For one number, sigma is calibrated by
    the exact delta of the discrete distribution. For several it comes from the tight conversion of
    zCDP, because the calibration of the continuous distribution is not proved for the discrete
    one.

    References
    ----------
    Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Theorem
    7, Proposition 12 and Corollary 23.

    Notes
    -----
    sigma = sqrt(2 ln(1.25/delta)) D/epsilon, as in many notes, is proved only for epsilon below 1:
    at epsilon 10 and delta 1e-5 the true delta is 2.3e-5.
    """

    name: ClassVar[str] = "gaussian"
    family: ClassVar[str] = "Additive noise"
    answers: ClassVar[Literal["", "count"]] = "count"
    sample: ClassVar[dict[str, float]] = {"sigma": 4.0}
    epsilon: Annotated[
        float | None, Field(gt=0, description="budget, with delta", examples=[1.0])
    ] = None
    delta: Annotated[
        float | None,
        Field(gt=0, lt=1, description="chance that the budget is exceeded", examples=[1e-6]),
    ] = None
    sigma: Annotated[
        float | None,
        Field(gt=0, description="standard deviation, instead of epsilon and delta", examples=[4.0],
              json_schema_extra={"more": "private"}),
    ] = None  # fmt: skip
    sensitivity: Annotated[
        float, Field(gt=0, description="how much the numbers of a query change (L2)")
    ] = 1.0

    def __init__(self, **parameters: Any) -> None:  # noqa: ANN401 - checked by pydantic
        super().__init__(**parameters)
        pair = (self.epsilon is not None, self.delta is not None)
        if (self.sigma is None and not all(pair)) or (self.sigma is not None and any(pair)):
            raise ParameterError(
                "gaussian needs either epsilon and delta, or sigma. Try gaussian(epsilon=1,"
                " delta=1e-6) or gaussian(sigma=4)."
            )
        if self.sigma is not None and not _LEAST < self.sensitivity / self.sigma < 1 / _LEAST:
            raise ParameterError(
                f"The sigma of gaussian must be from {_LEAST:g} to {1 / _LEAST:g} sensitivities."
            )

    def __str__(self) -> str:
        return self.brief

    @property
    def guarantee(self) -> Guarantee:
        """Approximate DP, or concentrated DP."""
        if self.epsilon is not None and self.delta is not None:
            return pure_guarantee(self.epsilon, self.delta)
        return _concentrated(self.sensitivity**2 / (2 * self.scale**2))

    @property
    def scale(self) -> float:
        """Standard deviation of the noise on one number, before the margin for rounding."""
        if self.epsilon is not None and self.delta is not None:
            return gaussian_sigma(self.epsilon, self.delta, self.sensitivity)
        assert self.sigma is not None  # noqa: S101 - checked when it was made
        return self.sigma

    def noise(self, d: int) -> tuple[Fraction, Fraction]:
        """Return the grid, and sigma^2 in its steps, for d numbers; depends only on parameters."""
        if self.epsilon is not None and self.delta is not None:
            return _noise_of_pair(self.epsilon, self.delta, self.sensitivity, d)
        return _noise_of_sigma(self.scale, self.sensitivity, d)

    def check(self, x: object) -> Floats:
        """Return the input as finite numbers."""
        return real(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Floats:
        """Add independent noise to every number, in steps of the grid."""
        g, sigma2 = self.noise(x.size)
        noise = discrete_gaussian(sigma2, size * x.size, rng)
        return unsteps(add(steps(x, g), noise.reshape(size, *x.shape)), g)

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances; outputs off the grid have 0."""
        g, exact = self.noise(x.size)
        positions = flat_outputs(x, outputs, np.float64) / float(g)
        distances, sigma2 = positions - steps(x, g).reshape(1, -1), float(exact)
        logs = -np.square(distances) / (2 * sigma2) - math.log(mass(sigma2))
        probabilities: Floats = np.exp(np.sum(logs, axis=1))
        return np.where((positions == np.floor(positions)).all(axis=1), probabilities, 0.0)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Change a sum by the largest contribution of one record."""
        return [(0.0, self.sensitivity)]

    def codes(self, outputs: Array) -> Ids:
        """Put outputs into cells of an eighth of sigma."""
        width = self.scale / 8
        return np.floor(outputs.reshape(len(outputs), -1)[:, 0] / width).astype(np.int64) + 2**32


@lru_cache(maxsize=256)
def _concentrated(rho: float) -> Guarantee:
    return Guarantee("zcdp", unit="record", rho=rho, neighbours=ADD_REMOVE, caveat=REPLACED)


@lru_cache(maxsize=256)
def _noise_of_sigma(sigma: float, sensitivity: float, d: int) -> tuple[Fraction, Fraction]:
    """Return grid and sigma^2, widened for the rounding of d numbers."""
    g = grid(min(Fraction(sigma), 2**10 * Fraction(sensitivity)))
    g = max(g, grid(Fraction(sigma), bits=38))  # limit of the sampler
    root = Fraction(math.isqrt(d * 2**80 - 1) + 1, 2**40)  # above the root of d
    wider = 1 + root * g / Fraction(sensitivity)
    return g, (Fraction(sigma) / g * wider) ** 2


@lru_cache(maxsize=256)
def _noise_of_pair(
    epsilon: float, delta: float, sensitivity: float, d: int
) -> tuple[Fraction, Fraction]:
    """Calibrate one number by the discrete distribution itself, several by zCDP."""
    sigma = gaussian_sigma(epsilon, delta, sensitivity)
    g = grid(min(Fraction(sigma) / 2**13, Fraction(sensitivity) / 2**7), bits=0)
    if d > 1 or sigma / float(g) > _MOST_STEPS:
        rho = zcdp_rho(epsilon, delta)
        return _noise_of_sigma(sensitivity / math.sqrt(2 * rho) * (1 + 1e-12), sensitivity, d)
    shift = math.ceil(Fraction(sensitivity) / g)
    wide = gaussian_sigma(epsilon, delta, float(shift))
    while discrete_gaussian_delta(epsilon, wide * wide, shift) * (1 + 1e-9) > delta:
        wide *= 1 + 1e-8
    return g, Fraction(wide) ** 2
