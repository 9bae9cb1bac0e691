"""What protections of single values have in common: levels, bound, and what is not hidden."""

from abc import abstractmethod
from typing import Annotated

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Ids
from veil.ratings.levels import Levels
from veil.ratings.protection import Protected, Protection
from veil.ratings.ratings import Ratings

CAVEAT = (
    "The bound is for the value of one rating: a user with n ratings costs n times epsilon. Which"
    " items are rated is not hidden."
)


class ValueProtection(Protection):
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
