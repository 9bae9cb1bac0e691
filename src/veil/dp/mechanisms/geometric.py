r"""Whole numbers with two-sided geometric noise."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.grid import ratio
from veil.dp.exact.laplace import discrete_laplace
from veil.dp.mechanism import Array, Mechanism, add, flat_outputs, proved, whole


class Geometric(Mechanism):
    r"""Add two-sided geometric noise to whole numbers.

    .. math:: \Pr[M(x) = y] = \frac{1-q}{1+q} q^{|y-x|}, \quad q = e^{-\varepsilon/\Delta}

    Proved: epsilon-DP, where the sum of what all numbers of one query change by when a record is
    added or removed (their L1 distance) is at most the sensitivity. An array is one query.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. STOC 2009,
    Definition 2.1. doi:10.1145/1536414.1536464
    """

    name: ClassVar[str] = "geometric"
    family: ClassVar[str] = "Additive noise"
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[0.5])]
    sensitivity: Annotated[
        int, Field(ge=1, description="how much all numbers of a query change by, in sum")
    ] = 1

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, exactly."""
        return ratio(self.sensitivity, self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        return proved(self.epsilon)

    def check(self, x: object) -> Ids:
        """Take whole numbers."""
        return whole(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Add independent noise to every number."""
        noise = discrete_laplace(self.scale, size * x.size, rng)
        return add(x, noise.reshape(size, *x.shape))

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances."""
        apart = np.abs(flat_outputs(x, outputs, np.int64) - x.reshape(1, -1)).astype(np.float64)
        slope = 1 / float(self.scale)
        least = math.tanh(slope / 2)  # (1 - q) / (1 + q)
        found: Floats = np.exp(np.sum(math.log(least) - slope * apart, axis=1))
        return found

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Count one record more, with all the weight that it may have."""
        return [(0, self.sensitivity)]
