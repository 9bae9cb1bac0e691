"""Laplace noise: for integers (geometric), and for real numbers on a grid."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.grid import grid, ratio, steps, unsteps
from veil.dp.exact.samplers import discrete_laplace
from veil.dp.mechanism import (
    AROUND,
    Array,
    Mechanism,
    add,
    flat_outputs,
    pure_guarantee,
    real,
    whole,
)


class Geometric(Mechanism):
    r"""Add two-sided geometric noise to integers.

    .. math:: \Pr[M(x) = y] = \frac{1-q}{1+q} q^{|y-x|}, \quad q = e^{-\varepsilon/\Delta}

    Proved: epsilon-DP, if adding or removing a record changes the numbers of one query by at most
    the sensitivity in total (L1 distance). An array is one query.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. STOC 2009,
    Definition 2.1. doi:10.1145/1536414.1536464
    """

    name: ClassVar[str] = "geometric"
    family: ClassVar[str] = "Additive noise"
    answers: ClassVar[Literal["", "count"]] = "count"
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[0.5])]
    sensitivity: Annotated[
        int, Field(ge=1, description="how much all numbers of a query change in total (L1)")
    ] = 1

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, exactly."""
        return ratio(self.sensitivity, self.epsilon)

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        return pure_guarantee(self.epsilon)

    def check(self, x: object) -> Ids:
        """Return the input as integers."""
        return whole(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Add independent noise to every number."""
        noise = discrete_laplace(self.scale, size * x.size, rng)
        return add(x, noise.reshape(size, *x.shape))

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances."""
        distances = np.abs(flat_outputs(x, outputs, np.int64) - x.reshape(1, -1)).astype(
            np.float64
        )
        slope = 1 / float(self.scale)
        least = math.tanh(slope / 2)  # (1 - q) / (1 + q)
        probabilities: Floats = np.exp(np.sum(math.log(least) - slope * distances, axis=1))
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


class Laplace(Mechanism):
    r"""Round real numbers to a fine grid, and add discrete Laplace noise there.

    .. math:: \Pr[M(x) = kg] = \frac{1-q}{1+q} q^{|k - \lfloor x/g + 1/2 \rfloor|},
       \quad q = e^{-\varepsilon g/(\Delta + dg)}

    The grid g is the largest power of two that is at most scale/2^20, so it depends only on
    parameters; d is the number of numbers in the query. Two numbers that differ by D are at most
    ceil(D/g) steps apart, so the sensitivity is that of d numbers on the grid.

    Proved: epsilon-DP for the numbers as computed, if adding or removing a record changes the
    numbers of one query by at most the sensitivity in total (L1 distance). A sum of floats that
    was rounded before has a larger sensitivity: sum integers instead.

    References
    ----------
    Dwork, McSherry, Nissim, Smith. Calibrating Noise to Sensitivity in Private Data Analysis. TCC
    2006, Section 3. doi:10.1007/11681878_14
    Mironov. On Significance of the Least Significant Bits for Differential Privacy. CCS 2012.
    doi:10.1145/2382196.2382264
    """

    name: ClassVar[str] = "laplace"
    family: ClassVar[str] = "Additive noise"
    answers: ClassVar[Literal["", "count"]] = "count"
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[0.5])]
    sensitivity: Annotated[
        float, Field(gt=0, description="how much all numbers of a query change in total (L1)")
    ] = 1.0

    @property
    def step(self) -> Fraction:
        """The grid, which depends only on parameters."""
        return _grid(self.sensitivity, self.epsilon)

    def scale(self, d: int) -> Fraction:
        """Scale of the noise in steps, for d numbers."""
        return _scale(self.sensitivity, self.epsilon, d)

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        return pure_guarantee(self.epsilon)

    def check(self, x: object) -> Floats:
        """Return the input as finite numbers."""
        return real(x, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Floats:
        """Add independent noise to every number, in steps of the grid."""
        noise = discrete_laplace(self.scale(x.size), size * x.size, rng)
        return unsteps(add(steps(x, self.step), noise.reshape(size, *x.shape)), self.step)

    def law(self, x: Array, outputs: object) -> Floats:
        """Multiply the probabilities of the distances; outputs off the grid have 0."""
        positions = np.ldexp(flat_outputs(x, outputs, np.float64), -_exponent(self.step))
        distances = np.abs(positions - steps(x, self.step).reshape(1, -1))
        slope = 1 / float(self.scale(x.size))
        probabilities: Floats = np.exp(
            np.sum(math.log(math.tanh(slope / 2)) - slope * distances, axis=1)
        )
        return np.where((positions == np.floor(positions)).all(axis=1), probabilities, 0.0)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Change a sum by the largest contribution of one record."""
        return [(0.0, self.sensitivity)]

    def codes(self, outputs: Array) -> Ids:
        """Put outputs into cells of a sixteenth of the scale."""
        width = self.sensitivity / self.epsilon / 16
        return np.floor(outputs.reshape(len(outputs), -1)[:, 0] / width).astype(np.int64) + 2**32


@lru_cache(maxsize=256)
def _grid(sensitivity: float, epsilon: float) -> Fraction:
    return grid(ratio(sensitivity, epsilon))


@lru_cache(maxsize=256)
def _scale(sensitivity: float, epsilon: float, d: int) -> Fraction:
    """Return the scale in steps, with the rounding of d numbers in the sensitivity."""
    return (Fraction(sensitivity) / _grid(sensitivity, epsilon) + d) / Fraction(epsilon)


def _exponent(step: Fraction) -> int:
    return step.numerator.bit_length() - step.denominator.bit_length()
