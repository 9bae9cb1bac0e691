"""Quantiles, by the exponential mechanism over a range of whole numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import Weighted
from veil.dp.mechanism import Array, Mechanism, numeric, pure_guarantee, real, whole
from veil.dp.mechanisms.selection import choose

_MOST = 2**62
_FAR = Fraction(2**1000)  # an exponent beyond all floats


class Quantile(Mechanism):
    r"""Select a whole number below which about a share q of the values lies.

    .. math:: \Pr[M(x) = r] \propto e^{-\frac{\varepsilon}{2}\,\lvert \#\{i : x_i < r\} - qn
       \rvert}, \quad r = \text{low}, \dots, \text{high}

    Values outside the range are moved to its ends. Without any value every number is as likely.

    Proved: epsilon-DP. One record more moves the count by 0 or 1 and qn by q, hence the score by
    at most 1.

    References
    ----------
    Smith. Privacy-Preserving Statistical Estimation with Optimal Convergence Rates. STOC 2011,
    Section 3. doi:10.1145/1993636.1993743
    McSherry, Talwar. Mechanism Design via Differential Privacy. FOCS 2007, Theorem 6.

    Notes
    -----
    Numbers between two values have the same score: a run of them is drawn, weighted by its
    length, and a uniform number of that run. The work grows with the values, not with the range.
    """

    name: ClassVar[str] = "quantile"
    family: ClassVar[str] = "Selection"
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[1.0])]
    q: Annotated[
        float, Field(ge=0, le=1, description="share of the values below; 0.5 is the median",
                     examples=[0.5])
    ]  # fmt: skip
    low: Annotated[int, Field(description="least whole number", examples=[0])]
    high: Annotated[int, Field(description="largest whole number", examples=[100])]

    @field_validator("low", "high")
    @classmethod
    def _within(cls, end: int) -> int:
        if abs(end) > _MOST:
            raise PydanticCustomError("size", "must be at most 2^62")
        return end

    @field_validator("high")
    @classmethod
    def _above(cls, high: int, given: ValidationInfo) -> int:
        low = given.data.get("low")
        if low is not None and high < low:
            raise PydanticCustomError("order", "must be at least 'low', which is {low}",
                                      {"low": low})  # fmt: skip
        return high

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        return pure_guarantee(self.epsilon)

    def check(self, x: object) -> Array:
        """Take finite numbers, also none at all."""
        given = numeric(x, self.name)
        if given.ndim != 1:
            raise InputError(f"{self.name} takes values in a row.")
        if not given.size:
            return np.empty(0, dtype=np.int64)
        if np.issubdtype(given.dtype, np.integer) or given.dtype == object:
            return whole(given, self.name)
        return real(given, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw a run, and a number of it."""
        runs = self._runs(x)
        at = choose(runs.weights, runs.law, size, rng)
        return rng.integers(runs.first[at], runs.last[at], endpoint=True)

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the share of the run of each number, divided by its length."""
        given = np.atleast_1d(numeric(outputs, "A law"))
        if not np.issubdtype(given.dtype, np.integer):
            raise InputError(f"The outputs of {self.name} are whole numbers.")
        runs = self._runs(x)
        within = (given >= self.low) & (given <= self.high)
        clipped = np.clip(given, self.low, self.high)
        at = np.searchsorted(runs.first, clipped, side="right") - 1
        shares = runs.weights / runs.weights.sum()
        return np.where(within, shares[at] / runs.lengths[at], 0.0)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Add a value below, above, or to none."""
        middle = (self.low + self.high) // 2
        return [([middle], [middle, end]) for end in (self.low, self.high)] + [([], [middle])]

    def _runs(self, x: Array) -> "_Runs":
        """Split the range where the number of values below changes."""
        floors = np.floor(np.clip(x, -_MOST, _MOST)).astype(np.int64)
        after = np.clip(floors, self.low, self.high) + 1  # the first number above each value
        starts, counts = np.unique(after[after <= self.high], return_counts=True)
        first = np.concatenate([[self.low], starts]).astype(np.int64)
        last = np.concatenate([starts - 1, [self.high]]).astype(np.int64)
        below = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        target, slope = Fraction(self.q) * len(x), Fraction(self.epsilon) / 2
        return _Runs(first, last, below, target, slope)


@dataclass(frozen=True)
class _Runs:
    """Runs of numbers with so many values `below`; the closer to `target`, the likelier."""

    first: Ids
    last: Ids
    below: Ids
    target: Fraction
    slope: Fraction

    @property
    def lengths(self) -> Floats:
        """Return how many numbers each run has, nearly."""
        return (self.last - self.first).view(np.uint64).astype(np.float64) + 1.0

    @property
    def weights(self) -> Floats:
        """Return the lengths times e^-exponent, nearly."""
        weights: Floats = self.lengths * np.exp(-self.exponents)
        return weights

    @property
    def exponents(self) -> Floats:
        """Return the slope times what runs are farther from the target than the nearest one.

        On either side of the target the nearest run is exact, and others are whole steps farther:
        only sums of two positive numbers are rounded.
        """
        most = math.floor(self.target)
        split = int(np.searchsorted(self.below, most, side="right"))  # `below` is sorted
        sides = [part for part in (slice(0, split), slice(split, None)) if self.below[part].size]
        nearest = [int(self.below[split - 1 if side.start == 0 else split]) for side in sides]
        least = min(abs(near - self.target) for near in nearest)
        found = np.zeros(len(self.below))
        for side, near in zip(sides, nearest, strict=True):
            start = min(self.slope * (abs(near - self.target) - least), _FAR)
            with np.errstate(over="ignore"):  # e^-inf is what it should be
                found[side] = float(start) + float(self.slope) * np.abs(self.below[side] - near)
        return found

    def law(self) -> Weighted:
        """Return the same, exactly."""
        rows = zip(self.first.tolist(), self.last.tolist(), self.below.tolist(), strict=True)
        return Weighted(
            tuple(
                (Fraction(last - first + 1), self.slope * abs(below - self.target))
                for first, last, below in rows
            )
        )
