"""Mechanisms for single values: randomised response, integer noise, fewer bits."""

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace, finite
from veil.ratings.mechanism import Levels, Mechanism, Protected
from veil.ratings.ratings import Ratings

CAVEAT = (
    "The bound is for the value of one rating: a user with n ratings costs n times epsilon. It"
    " does not hide which items are rated."
)


class ValueMechanism(Mechanism):
    """Replaces every rating at random, with a distribution that depends only on its true level."""

    epsilon: Annotated[float, Field(gt=0, description="budget of one rating", examples=[1.0])]
    step: Annotated[
        float | None,
        Field(gt=0, description="step of the scale; without it, ratings must be integers"),
    ] = None

    @property
    @override
    def guarantee(self) -> Guarantee:
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

    @override
    def check(self, data: Ratings) -> None:
        levels = self.levels(data)
        if self.step is None:
            levels.require(data, self.name)

    @override
    def notes(self, data: Ratings) -> tuple[str, ...]:
        most = int(data.per_user.max())
        return (
            f"The user with the most ratings, {most:,}, costs epsilon {most * self.epsilon:g}.",
            *(("Times are left out.",) if data.time is not None else ()),
        )

    @override
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        levels = self.levels(data)
        true = levels.positions(np.asarray(data.value, dtype=np.float64))
        value = levels.values[self.draw(true, levels.count, rng)]
        return Protected(data.like(data.user, data.item, value), np.arange(data.n))

    @abstractmethod
    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        """Return a released level for each true level."""


class KRR(ValueMechanism):
    r"""Keep each value, or replace it by any other value of the scale with equal probability.

    .. math:: \Pr[y | x] = \frac{e^{\varepsilon [y = x]}}{e^\varepsilon + L - 1}

    Proved: epsilon-local DP of the value of one rating, on L levels. Draws are exact.

    References
    ----------
    Kairouz, Bonawitz, Ramage. Discrete Distribution Estimation under Local Privacy. ICML 2016,
    Equation 4.
    """

    name: ClassVar[str] = "krr"

    @override
    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        epsilon = Fraction(self.epsilon)
        moves = finite([(1, 0), *[(1, epsilon)] * (count - 1)]).draw(len(true), rng)
        return (true + moves) % count

    @override
    def log_likelihood(self, data: Ratings) -> Floats:
        count = self.levels(data).count
        log_total = np.logaddexp(self.epsilon, math.log(count - 1))
        return self.epsilon * np.eye(count) - float(log_total)


class DLaplace(ValueMechanism):
    r"""Add two-sided geometric noise to each value, and clip to the scale.

    .. math:: \Pr[z] = \frac{1-\alpha}{1+\alpha} \alpha^{|z|}, \quad
       \alpha = e^{-\varepsilon/(L-1)}

    Proved: epsilon-local DP of the value of one rating, on L levels; near values are told apart
    less. Clipping is post-processing. Draws are exact.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. SIAM J.
    Comput. 41(6), 2012, Definition 2.1 and Section 4 (the truncated geometric mechanism).
    doi:10.1137/09076828X
    """

    name: ClassVar[str] = "dlaplace"

    @override
    def draw(self, true: Ids, count: int, rng: Generator) -> Ids:
        noise = discrete_laplace(Fraction(count - 1) / Fraction(self.epsilon), len(true), rng)
        return np.asarray(np.clip(true + noise, 0, count - 1), dtype=np.int64)

    @override
    def log_likelihood(self, data: Ratings) -> Floats:
        count = self.levels(data).count
        slope = self.epsilon / (count - 1)
        distance = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
        logs = -slope * distance + np.log(-np.expm1(-slope)) - np.log1p(np.exp(-slope))
        ends = [0, count - 1]
        logs[:, ends] = -slope * distance[:, ends] - np.log1p(np.exp(-slope))
        return np.asarray(logs, dtype=np.float64)


class Compressed(Mechanism):
    """Round numbers to 2^bits levels at random, with the right mean, and keep only the largest.

    For ratings, it rounds values on their scale and keeps the `top` ratings of each user that are
    farthest from the middle of the scale; `compress` does the same with updates or factors of a
    model. Nothing is proved: combine it with a mechanism that has a guarantee.

    References
    ----------
    Alistarh, Grubic, Li, Tomioka, Vojnovic. QSGD: Communication-Efficient SGD via Gradient
    Quantization and Encoding. NeurIPS 2017, Section 3.1.
    """

    name: ClassVar[str] = "compressed"
    bits: Annotated[int, Field(ge=1, le=32, description="bits of a number")] = 8
    top: Annotated[
        int | None, Field(ge=1, description="number of kept values; by default all")
    ] = None

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="user",
            caveat="Fewer bits do not hide information. Combine compression with a mechanism that"
            " has a guarantee.",
        )

    @override
    def notes(self, data: Ratings) -> tuple[str, ...]:
        return ("Times are left out.",) if data.time is not None else ()

    @override
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        low, high = data.scale
        rows = self._largest_rows(data)
        value = low + round_randomly(
            np.asarray(data.value[rows] - low), high - low, self.bits, rng
        )
        released = data.like(data.user[rows], data.item[rows], np.clip(value, low, high))
        return Protected(released, np.arange(data.n))

    def compress(self, vector: Floats, rng: Generator) -> Floats:
        """Return `vector` with only its `top` largest entries, rounded at random."""
        rounded = np.zeros_like(vector, dtype=np.float64)
        top = len(vector) if self.top is None else min(self.top, len(vector))
        largest = np.argsort(-np.abs(vector), kind="stable")[:top]
        most = float(np.abs(vector).max(initial=0.0))
        if most > 0:
            rounded[largest] = (
                round_randomly(vector[largest] + most, 2 * most, self.bits, rng) - most
            )
        return rounded

    def _largest_rows(self, data: Ratings) -> Ids:
        """Return the rows of each user's ratings that are farthest from the middle."""
        if self.top is None:
            return np.arange(len(data))
        order = np.lexsort((data.item, -np.abs(data.value - sum(data.scale) / 2), data.user))
        place = np.arange(len(data)) - data.starts[data.user]
        return np.sort(order[place < self.top])


def round_randomly(values: Floats, width: float, bits: int, rng: Generator) -> Floats:
    """Round numbers from 0 to `width` to a neighbouring level at random, with the right mean."""
    step = width / (2**bits - 1)
    levels = np.floor(values / step + rng.random(len(values)))
    return np.asarray(np.minimum(levels, 2**bits - 1) * step, dtype=np.float64)
