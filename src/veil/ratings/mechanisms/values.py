"""Mechanisms for single values: randomised response, whole noise, fewer bits."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace, finite
from veil.ratings.mechanism import Levels, Mechanism, Protected
from veil.ratings.ratings import Ratings

CAVEAT = (
    "The bound is for the value of one rating: a user with n ratings costs n times epsilon. Which"
    " items are rated is not hidden."
)


class ValueMechanism(Mechanism):
    """Draws another value for every rating, by a law that knows the true level alone."""

    epsilon: Annotated[float, Field(gt=0, description="budget of one rating", examples=[1.0])]
    step: Annotated[
        float | None, Field(gt=0, description="of the scale; else ratings must be whole numbers")
    ] = None

    @property
    def guarantee(self) -> Guarantee:
        """Local DP of one value."""
        return Guarantee(
            "local-dp",
            self.epsilon,
            unit="rating",
            neighbours="one value becomes any other on the scale",
            caveat=CAVEAT,
        )

    def levels(self, data: Ratings) -> Levels:
        """Return the values that a rating can have."""
        return Levels.of(data, self.step, self.name)

    def check(self, data: Ratings) -> None:
        """Require a declared scale, and ratings on its levels where no step is given."""
        levels = self.levels(data)
        if self.step is None:
            levels.require(data, self.name)

    def notes(self, data: Ratings) -> tuple[str, ...]:
        """Say what a whole user costs."""
        most = int(data.per_user.max())
        return (
            f"The user with the most ratings, {most:,}, costs epsilon {most * self.epsilon:g}.",
            *(("Times are left out.",) if data.time is not None else ()),
        )

    def apply(self, data: Ratings, rng: Generator) -> Protected:
        """Replace every value; who rated what stays."""
        levels = self.levels(data)
        true = levels.positions(np.asarray(data.value, dtype=np.float64))
        value = levels.values[self.draw(true, levels.count, rng)]
        return Protected(data.like(data.user, data.item, value), np.arange(data.n))

    @abstractmethod
    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Return a released level for each true one."""


class KRR(ValueMechanism):
    r"""Keep each value, or replace it by any other of the scale, all alike.

    .. math:: \Pr[y | x] = \frac{e^{\varepsilon [y = x]}}{e^\varepsilon + L - 1}

    Proved: epsilon-local DP of the value of one rating, on L levels. Draws are exact.

    References
    ----------
    Kairouz, Bonawitz, Ramage. Discrete Distribution Estimation under Local Privacy. ICML 2016,
    Equation 4.
    """

    name: ClassVar[str] = "krr"

    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Move each level by 0, or round the circle of levels by any other number of steps."""
        epsilon = Fraction(self.epsilon)
        moves = finite([(1, 0), *[(1, epsilon)] * (count - 1)]).draw(len(true), rng)
        return (true + moves) % count

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P of each released level for each true one."""
        count = self.levels(data).count
        log_total = np.logaddexp(self.epsilon, math.log(count - 1))
        return self.epsilon * np.eye(count) - float(log_total)


class DLaplace(ValueMechanism):
    r"""Add two-sided geometric noise to each value, and cut what leaves the scale.

    .. math:: \Pr[z] = \frac{1-\alpha}{1+\alpha} \alpha^{|z|}, \quad
       \alpha = e^{-\varepsilon/(L-1)}

    Proved: epsilon-local DP of the value of one rating, on L levels; values that are near are told
    apart less. To cut is post-processing. Draws are exact.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. SIAM J.
    Comput. 41(6), 2012, Definition 2.1 and Section 4 (the truncated geometric mechanism).
    doi:10.1137/09076828X
    """

    name: ClassVar[str] = "dlaplace"

    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Add noise in steps of the scale."""
        noise = discrete_laplace(Fraction(count - 1) / Fraction(self.epsilon), len(true), rng)
        return np.asarray(np.clip(true + noise, 0, count - 1), dtype=np.int64)

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P of each released level for each true one; both ends have all beyond them."""
        count = self.levels(data).count
        slope = self.epsilon / (count - 1)
        apart = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        logs = -slope * apart + np.log(-np.expm1(-slope)) - np.log1p(np.exp(-slope))
        ends = [0, count - 1]
        logs[:, ends] = -slope * apart[:, ends] - np.log1p(np.exp(-slope))
        return np.asarray(logs, dtype=np.float64)


class Compressed(Mechanism):
    """Round numbers at random to 2^bits levels, with the right mean, and keep the largest alone.

    Of ratings it is the values on their scale, and the `top` of each user that are farthest from
    the middle of it; `compress` does the same with updates or factors of a model. Nothing is
    proved: use it with a method of which something is.

    References
    ----------
    Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient
    Quantization and Encoding. NeurIPS 2017, Section 3.1.
    """

    name: ClassVar[str] = "compressed"
    bits: Annotated[int, Field(ge=1, le=32, description="of one number")] = 8
    top: Annotated[int | None, Field(ge=1, description="numbers that are kept; else all")] = None

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee(
            "none",
            unit="user",
            caveat="Fewer bits are not less information: nothing is hidden by compressing; use it"
            " with a method that protects.",
        )

    def notes(self, data: Ratings) -> tuple[str, ...]:
        """Say that times are gone."""
        return ("Times are left out.",) if data.time is not None else ()

    def apply(self, data: Ratings, rng: Generator) -> Protected:
        """Round the values of all ratings that are kept."""
        low, high = data.scale
        kept = self._kept(data)
        value = low + round_randomly(
            np.asarray(data.value[kept] - low), high - low, self.bits, rng
        )
        made = data.like(data.user[kept], data.item[kept], np.clip(value, low, high))
        return Protected(made, np.arange(data.n))

    def compress(self, vector: Floats, rng: Generator) -> Floats:
        """Return a vector with its `top` largest entries, rounded at random, and 0 elsewhere."""
        made = np.zeros_like(vector, dtype=np.float64)
        top = len(vector) if self.top is None else min(self.top, len(vector))
        kept = np.argsort(-np.abs(vector), kind="stable")[:top]
        most = float(np.abs(vector).max(initial=0.0))
        if most > 0:
            made[kept] = round_randomly(vector[kept] + most, 2 * most, self.bits, rng) - most
        return made

    def _kept(self, data: Ratings) -> Ids:
        """Return the rows of the ratings that are farthest from the middle, of each user."""
        if self.top is None:
            return np.arange(len(data))
        order = np.lexsort((data.item, -np.abs(data.value - sum(data.scale) / 2), data.user))
        place = np.arange(len(data)) - data.starts[data.user]
        return np.sort(order[place < self.top])


def round_randomly(values: Floats, width: float, bits: int, rng: Generator) -> Floats:
    """Round numbers from 0 to `width` to one of the two levels around them; the mean is right."""
    step = width / (2**bits - 1)
    levels = np.floor(values / step + rng.random(len(values)))
    return np.asarray(np.minimum(levels, 2**bits - 1) * step, dtype=np.float64)
