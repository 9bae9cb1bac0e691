"""Fewer bits, which is not less information."""

from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.protection import Protected, Protection
from veil.ratings.ratings import Ratings


class Compressed(Protection):
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
        value = low + rounded(np.asarray(data.value[kept] - low), high - low, self.bits, rng)
        made = data.like(data.user[kept], data.item[kept], np.clip(value, low, high))
        return Protected(made, np.arange(data.n))

    def compress(self, vector: Floats, rng: Generator) -> Floats:
        """Return a vector with its `top` largest entries, rounded at random, and 0 elsewhere."""
        made = np.zeros_like(vector, dtype=np.float64)
        top = len(vector) if self.top is None else min(self.top, len(vector))
        kept = np.argsort(-np.abs(vector), kind="stable")[:top]
        most = float(np.abs(vector).max(initial=0.0))
        if most > 0:
            made[kept] = rounded(vector[kept] + most, 2 * most, self.bits, rng) - most
        return made

    def _kept(self, data: Ratings) -> Ids:
        """Return the rows of the ratings that are farthest from the middle, of each user."""
        if self.top is None:
            return np.arange(len(data))
        order = np.lexsort((data.item, -np.abs(data.value - sum(data.scale) / 2), data.user))
        place = np.arange(len(data)) - data.starts[data.user]
        return np.sort(order[place < self.top])


def rounded(values: Floats, width: float, bits: int, rng: Generator) -> Floats:
    """Round numbers from 0 to `width` to one of the two levels around them; the mean is right."""
    step = width / (2**bits - 1)
    levels = np.floor(values / step + rng.random(len(values)))
    return np.asarray(np.minimum(levels, 2**bits - 1) * step, dtype=np.float64)
