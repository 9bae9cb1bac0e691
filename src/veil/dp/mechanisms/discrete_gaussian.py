r"""Whole numbers with discrete Gaussian noise."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.calibration import mass
from veil.dp.exact.gaussian import discrete_gaussian
from veil.dp.mechanism import ADD_REMOVE, Array, Mechanism, add, flat_outputs, whole

REPLACED = "To replace a record is to remove one and to add one: rho is then four times as large."


class DiscreteGaussian(Mechanism):
    r"""Add discrete Gaussian noise to whole numbers.

    .. math:: \Pr[M(x) = y] \propto e^{-(y-x)^2/(2\sigma^2)}, \quad \sigma^2 = \Delta^2/(2\rho)

    Proved: rho-zCDP, where the numbers of one query change by at most the sensitivity in L2 when a
    record is added or removed.

    References
    ----------
    Canonne, Kamath, Steinke. The Discrete Gaussian for Differential Privacy. NeurIPS 2020, Theorem
    4 (one number) and Corollary 23 (several).
    """

    name: ClassVar[str] = "discrete_gaussian"
    family: ClassVar[str] = "Additive noise"
    rho: Annotated[float, Field(gt=0, description="budget of a release", examples=[0.5])]
    sensitivity: Annotated[
        int, Field(ge=1, description="how much the numbers of a query change by, in L2")
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
        """Take whole numbers."""
        return whole(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Add independent noise to every number."""
        noise = discrete_gaussian(self.sigma2, size * x.size, rng)
        return add(x, noise.reshape(size, *x.shape))

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances."""
        apart = (flat_outputs(x, outputs, np.int64) - x.reshape(1, -1)).astype(np.float64)
        sigma2 = float(self.sigma2)
        exponents = -np.square(apart) / (2 * sigma2) - math.log(mass(sigma2))
        found: Floats = np.exp(np.sum(exponents, axis=1))
        return found

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Count one record more, with all the weight that it may have."""
        return [(0, self.sensitivity)]
