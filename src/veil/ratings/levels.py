"""The values that a rating can have: a scale in equal steps."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.ratings.protection import declared
from veil.ratings.ratings import Ratings

MOST = 2**16


@dataclass(frozen=True)
class Levels:
    """`count` values from `low` on, each `step` above the one before."""

    low: float
    step: float
    count: int

    @classmethod
    def of(cls, data: Ratings, step: float | None, name: str) -> "Levels":
        """Return the levels of a declared scale: whole numbers, unless a step is given."""
        low, high = declared(data, name)
        width = 1.0 if step is None else step
        count = round((high - low) / width) + 1
        if abs((count - 1) * width - (high - low)) > 1e-9 * (high - low) or count < 2:
            raise ParameterError(
                f"The scale must be a whole number of steps for {name}; give such a 'step'."
            )
        if count > MOST:
            raise ParameterError(f"{name} takes at most {MOST:,} levels; give a larger 'step'.")
        return cls(low, width, count)

    @property
    def values(self) -> Floats:
        """(count,) the rating of each level."""
        return np.asarray(self.low + self.step * np.arange(self.count), dtype=np.float64)

    def positions(self, values: Floats) -> Ids:
        """Return the nearest level of each rating; of two that are as near, the higher."""
        near = np.floor((values - self.low) / self.step + 0.5).astype(np.int64)
        return np.clip(near, 0, self.count - 1)

    def require(self, data: Ratings, name: str) -> None:
        """Raise if a rating is none of the levels."""
        values = np.asarray(data.value, dtype=np.float64)
        apart = np.abs(self.values[self.positions(values)] - values)
        if apart.max(initial=0.0) > 1e-6 * self.step:
            raise InputError(
                f"{name} needs a scale of levels, and there are ratings in between; give 'step',"
                f" as in {name}(epsilon=1, step=0.5), to have them rounded first."
            )
