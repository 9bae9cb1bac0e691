"""Quantiles, by the exponential mechanism over a range of integers."""

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
    r"""Select an integer at or near the q-quantile of the values.

    .. math:: \Pr[M(x) = r] \propto e^{\frac{\varepsilon}{2\Delta}\,u(r)}, \quad
       u(r) = \min(\#\{i : x_i \le r\} - qn,\; qn - \#\{i : x_i < r\}), \quad
       \Delta = \max(q, 1 - q), \quad r = \text{low}, \dots, \text{high}

    A number is a q-quantile if at most qn values are below it and at least qn are not above it;
    its score is non-negative exactly then. Values are clipped to the range. Without values, every
    number is equally likely.

    Proved: epsilon-DP, under adding or removing one record. One record more changes
    #{x <= r} - qn by 1 - q (if it is not above r) or by -q, and qn - #{x < r} by q (if it is not
    below r) or by -(1 - q). Both change by at most max(q, 1 - q), and so does their minimum.

    References
    ----------
    Smith. Privacy-Preserving Statistical Estimation with Optimal Convergence Rates. STOC 2011,
    Section 3. doi:10.1145/1993636.1993743
    McSherry, Talwar. Mechanism Design via Differential Privacy. FOCS 2007, Theorem 6.

    Notes
    -----
    The common score -abs(#{x < r} - qn) never finds a value that more than half of the records
    have. Clipping the score at 0 would keep the proof, but lose the difference between a quantile
    that one record could change and one that needs hundreds: the median age of 1,000 people is
    then three times as far off, at an epsilon of 0.1.

    Numbers between two values have the same score: a run of them is drawn, weighted by its length,
    and then a uniform number from the run. The work grows with the values, not with the range.
    """

    name: ClassVar[str] = "quantile"
    family: ClassVar[str] = "Selection"
    rows: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of a release", examples=[1.0])]
    q: Annotated[
        float, Field(ge=0, le=1, description="which quantile: 0.5 is the median",
                     examples=[0.5])
    ]  # fmt: skip
    low: Annotated[int, Field(description="smallest integer", examples=[0])]
    high: Annotated[int, Field(description="largest integer", examples=[100])]

    @field_validator("low", "high")
    @classmethod
    def _within(cls, end: int) -> int:
        if abs(end) > _MOST:
            raise PydanticCustomError("size", "must be at most 2^62")
        return end

    @field_validator("high")
    @classmethod
    def _above(cls, high: int, info: ValidationInfo) -> int:
        low = info.data.get("low")
        if low is not None and high < low:
            raise PydanticCustomError("order", "must be at least 'low', which is {low}",
                                      {"low": low})  # fmt: skip
        return high

    @property
    def guarantee(self) -> Guarantee:
        """Pure DP."""
        return pure_guarantee(self.epsilon)

    def check(self, x: object) -> Array:
        """Return the input as finite numbers; an empty list is valid."""
        array = numeric(x, self.name)
        if array.ndim != 1:
            raise InputError(f"{self.name} takes a list of values.")
        if not array.size:
            return np.empty(0, dtype=np.int64)
        if np.issubdtype(array.dtype, np.integer) or array.dtype == object:
            return whole(array, self.name)
        return real(array, self.name)

    def draw(self, x: Array, size: int, rng: Generator) -> Ids:
        """Draw a run, and a number of it."""
        runs = self._runs(x)
        at = choose(runs.weights, runs.law, size, rng)
        return rng.integers(runs.first[at], runs.last[at], endpoint=True)

    def law(self, x: Array, outputs: object) -> Floats:
        """Return the share of the run of each number, divided by its length."""
        numbers = np.atleast_1d(numeric(outputs, "A law"))
        if not np.issubdtype(numbers.dtype, np.integer):
            raise InputError(f"The outputs of {self.name} are integers.")
        runs = self._runs(x)
        within = (numbers >= self.low) & (numbers <= self.high)
        clipped = np.clip(numbers, self.low, self.high)
        at = np.searchsorted(runs.first, clipped, side="right") - 1
        shares = runs.weights / runs.weights.sum()
        return np.where(within, shares[at] / runs.lengths[at], 0.0)

    def outcomes(self, x: Array) -> Sequence[int]:
        """Return the integers from low to high."""
        del x
        return range(self.low, self.high + 1)

    def pairs(self) -> Sequence[tuple[object, object]]:
        """Add a value below, above, to none, or on the other side of all others."""
        middle, low, high = (self.low + self.high) // 2, self.low, self.high
        return [
            *(([middle], [middle, end]) for end in (low, high)),
            ([], [middle]),
            ([low] * 4, [*[low] * 4, high]),
            ([high] * 4, [*[high] * 4, low]),
        ]

    def _runs(self, x: Array) -> "_Runs":
        """Split the range at each change in the number of values below, or not above."""
        x = np.clip(x, -_MOST, _MOST)
        sides = (x, x) if x.dtype == np.int64 else (np.floor(x), np.ceil(x))
        floors, ceilings = (
            np.sort(np.clip(part.astype(np.int64), self.low, self.high)) for part in sides
        )
        after = floors[floors < self.high] + 1  # the first number above each value
        first = np.unique(np.concatenate([[self.low], ceilings, after])).astype(np.int64)
        last = np.append(first[1:] - 1, self.high).astype(np.int64)
        below = np.searchsorted(floors, first, side="left").astype(np.int64)
        upto = np.searchsorted(ceilings, first, side="right").astype(np.int64)
        q = Fraction(self.q)
        slope = Fraction(self.epsilon) / (2 * max(q, 1 - q))
        return _Runs(first, last, below, upto, q * len(x), slope)


@dataclass(frozen=True)
class _Runs:
    """Runs of numbers, with the counts of values `below` and `upto` (not above) each.

    The exponent of a run is the slope times max(below - target, target - upto).
    """

    first: Ids
    last: Ids
    below: Ids
    upto: Ids
    target: Fraction
    slope: Fraction

    @property
    def lengths(self) -> Floats:
        """The approximate number of numbers in each run."""
        return (self.last - self.first).view(np.uint64).astype(np.float64) + 1.0

    @property
    def weights(self) -> Floats:
        """The lengths times e^-exponent, approximately."""
        weights: Floats = self.lengths * np.exp(-self.exponents)
        return weights

    @property
    def exponents(self) -> Floats:
        """The slope times the gap of each run to the best score.

        Before the target, `upto` counts; after it, `below`. On either side the nearest run is
        exact, and others are integer steps away: only sums of two positive numbers are rounded.
        """
        split = int(np.searchsorted(self.below + self.upto, math.ceil(2 * self.target)))
        before, after = -self.upto[:split], self.below[split:]
        sides = [side for side in ((-self.target, after), (self.target, before)) if side[1].size]
        nearest = [int(counts.min()) for _, counts in sides]
        least = min(near + shift for near, (shift, _) in zip(nearest, sides, strict=True))
        parts = []
        for near, (shift, counts) in zip(nearest, sides, strict=True):
            start = min(self.slope * (near + shift - least), _FAR)
            with np.errstate(over="ignore"):  # e^-inf is 0
                parts.append(float(start) + float(self.slope) * (counts - near))
        return np.concatenate(parts[::-1])

    def law(self) -> Weighted:
        """Return the exact weights."""
        rows = list(zip(self.first.tolist(), self.last.tolist(), strict=True))
        counts = zip(self.below.tolist(), self.upto.tolist(), strict=True)
        scores = [max(below - self.target, self.target - upto) for below, upto in counts]
        best = min(scores)
        return Weighted(
            tuple(
                (Fraction(last - first + 1), self.slope * (score - best))
                for (first, last), score in zip(rows, scores, strict=True)
            )
        )
