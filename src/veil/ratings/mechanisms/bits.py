"""Randomised response on every like and every missing like."""

import math
from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.exact.coins import odds
from veil.ratings.catalogue import catalogue_notes, require_catalogue
from veil.ratings.mechanism import Mechanism, Protected, declared_scale
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import positive_of

_BLOCK = 2**24  # coins at a time


class Bits(Mechanism):
    r"""Flip at random, for each user and each item of the catalogue, whether she likes it.

    .. math:: \Pr[\text{flip}] = \frac{1}{1 + e^\varepsilon}

    A released like has the lowest integer rating that counts as a like, for any true rating.
    Items that are not liked have no row. Proved: epsilon-local DP of one bit. Draws are exact.

    References
    ----------
    Warner. Randomized Response. JASA 60(309), 1965. doi:10.1080/01621459.1965.10480775
    """

    name: ClassVar[str] = "bits"
    epsilon: Annotated[float, Field(gt=0, description="budget of one bit", examples=[4.0])]
    positive: Annotated[
        float | None,
        Field(description="lowest rating that counts as a like; by default 3/4 up the scale"),
    ] = None

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "local-dp",
            self.epsilon,
            unit="rating",
            neighbours="one item is liked or not",
            caveat="The bound is for one bit, whether a user likes one item: two users differ in"
            " up to all m items, and cost m times epsilon.",
        )

    @override
    def check(self, data: Ratings) -> None:
        declared_scale(data, self.name)
        require_catalogue(data, self.name)
        positive_of(data, self.positive)

    @override
    def notes(self, data: Ratings) -> tuple[str, ...]:
        whole = f"A user's {data.m:,} bits cost epsilon {data.m * self.epsilon:g} together."
        value = f"Every released rating is {self._value(data):g} and means a like."
        return (whole, value, *catalogue_notes(data))

    def _value(self, data: Ratings) -> float:
        """Return the rating of a released like, from the scale and never from the ratings."""
        liked = positive_of(data, self.positive)
        return float(min(math.ceil(liked), data.scale[1]))

    @override
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        likes = data.value >= positive_of(data, self.positive)
        user, item = data.user[likes], data.item[likes]
        starts = np.searchsorted(user, np.arange(data.n + 1))
        step = max(1, _BLOCK // data.m)
        blocks = []
        for first in range(0, data.n, step):
            last = min(first + step, data.n)
            rows = slice(starts[first], starts[last])
            bits = odds(Fraction(self.epsilon), (last - first) * data.m, rng)
            bits = bits.reshape(last - first, data.m)
            bits[user[rows] - first, item[rows]] ^= True
            at = np.nonzero(bits)
            blocks.append((at[0].astype(np.int32) + np.int32(first), at[1].astype(np.int32)))
        users, items = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        value = np.full(len(users), self._value(data))
        return Protected(data.like(users, items, value), np.arange(data.n))

    @override
    def log_likelihood(self, data: Ratings) -> Floats:
        del data
        flip = -np.logaddexp(0.0, self.epsilon)
        keep = -np.logaddexp(0.0, -self.epsilon)
        return np.array([[keep, flip], [flip, keep]])
