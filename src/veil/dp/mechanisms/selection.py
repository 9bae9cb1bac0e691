"""What mechanisms that select a candidate by its score have in common."""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.mechanism import Array, Mechanism, numeric, proved, real, whole

_STEEPEST = 2**900
_GAP = 4  # between the scores of the pairs of an audit, in sensitivities


class Selection(Mechanism):
    """Selects one of several candidates, by its position; a score says how good each one is.

    The chance of a candidate falls with what its score is below the best one, times
    c = epsilon / (2 sensitivity), or epsilon / sensitivity if the scores are monotone.
    """

    family: ClassVar[str] = "Selection"
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[1.0])]
    sensitivity: Annotated[
        float, Field(gt=0, description="how much any score changes by, at most")
    ] = 1.0
    monotone: Annotated[
        bool,
        Field(
            description="one more record never makes a score lower (as of counts): half the noise"
        ),
    ] = False

    @property
    def slope(self) -> Fraction:
        """What a score is multiplied by, exactly."""
        slope = Fraction(self.epsilon) / Fraction(self.sensitivity)
        if slope > _STEEPEST:
            raise ParameterError(
                f"The epsilon of {self.name} must be at most 2^900 sensitivities; lower it."
            )
        return slope if self.monotone else slope / 2

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        caveat = "It holds for scores that are monotone." if self.monotone else ""
        return proved(self.epsilon, caveat=caveat)

    def check(self, x: object) -> Array:
        """Take scores: finite numbers in a row, one for each candidate."""
        given = numeric(x, self.name)
        if given.ndim != 1 or not given.size:
            raise InputError(f"{self.name} takes scores in a row, one for each candidate.")
        if np.issubdtype(given.dtype, np.integer) or given.dtype == object:
            return whole(given, self.name)
        return real(given, self.name)

    @abstractmethod
    def probabilities(self, scores: Array) -> Floats:
        """Return the exact probability of every candidate."""

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the probabilities of candidates, by position."""
        chosen = np.atleast_1d(numeric(outputs, "A law"))
        if not np.issubdtype(chosen.dtype, np.integer) or chosen.ndim != 1:
            raise InputError(f"The outputs of {self.name} are positions of candidates, from 0.")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= len(x)):
            raise InputError(
                f"The outputs of {self.name} are positions from 0 to one below the number of"
                " scores."
            )
        found: Floats = self.probabilities(x)[chosen]
        return found

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Raise a score and lower the other, from a gap that makes the raised one rare."""
        step = self.sensitivity
        return [
            ([0.0, gap * step], [step, gap * step if self.monotone else (gap - 1) * step])
            for gap in (_GAP, 0)
        ]

    def exponents(self, scores: Array) -> Floats:
        """Return what scores are below the best one, times the slope, nearly."""
        with np.errstate(over="ignore"):  # e^-inf is what it should be
            exponents: Floats = gaps(scores) * float(self.slope)
        return exponents

    def exponent(self, scores: Array, candidate: int) -> Fraction:
        """Return the same of one candidate, exactly."""
        return self.slope * (_exact(scores.max()) - _exact(scores[candidate]))


def gaps(scores: Array) -> Floats:
    """Return what scores are below the best one, each rounded once."""
    if scores.dtype == np.int64:
        apart: Ids = np.subtract(scores.max(keepdims=True), scores)
        return apart.view(np.uint64).astype(np.float64)  # below 2^64, also where int64 is not
    with np.errstate(over="ignore"):
        below: Floats = np.subtract(scores.max(keepdims=True), scores)
    return below


def _exact(score: np.generic) -> Fraction:
    return Fraction(score.item())
