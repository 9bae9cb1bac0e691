"""The contract of mechanisms for ratings, and the levels of a scale."""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.component import Component
from veil.core.errors import InputError, LawError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Ratings


@dataclass(frozen=True, eq=False, repr=False)
class Protected:
    """Ratings from a mechanism, and the position (n',) of the user behind each released user."""

    data: Ratings
    rows: Ids


class Mechanism(Component):
    """Maps ratings to ratings; `guarantee` is for one privacy unit, `cost` for a data set."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """Guarantee for one privacy unit."""

    def check(self, data: Ratings) -> None:
        """Raise if the guarantee cannot hold for `data`, before anything is drawn."""
        del data

    def cost(self, data: Ratings) -> Guarantee:
        """Return the guarantee for a release of `data`."""
        del data
        return self.guarantee

    def notes(self, data: Ratings) -> tuple[str, ...]:
        """Return limits that readers of the release must know."""
        del data
        return ()

    @abstractmethod
    def apply(self, data: Ratings, rng: Generator) -> Protected:
        """Return protected ratings; users keep their positions, and `protect` renames them."""

    def log_likelihood(self, data: Ratings) -> Floats:
        """Return ln P(released | true) as (L, L), a row for each true level.

        The distribution is public, and all that an attack needs. For krr and dlaplace the levels
        are those of the scale, from the lowest (see `Levels`), and only the scale of `data` is
        read. For bits the levels are no like and like, for each user and item. A mechanism without
        a distribution in closed form raises `LawError`.
        """
        del data
        raise LawError(f"{self.name} has no output distribution in closed form.")


def declared_scale(data: Ratings, name: str) -> tuple[float, float]:
    """Return the declared scale, or raise, since observed bounds are private data."""
    if not data.declared:
        raise InputError(
            f"{name} needs a declared scale, since observed bounds are private data. Declare it"
            " (scale=(low, high), --scale LOW HIGH)."
        )
    return data.scale


MOST = 2**16


@dataclass(frozen=True)
class Levels:
    """`count` values from `low` up, in steps of `step`."""

    low: float
    step: float
    count: int

    @classmethod
    def of(cls, data: Ratings, step: float | None, name: str) -> "Levels":
        """Return the levels of a declared scale: integers, unless there is a step."""
        low, high = declared_scale(data, name)
        width = 1.0 if step is None else step
        count = round((high - low) / width) + 1
        if abs((count - 1) * width - (high - low)) > 1e-9 * (high - low) or count < 2:
            raise ParameterError(
                f"The scale must be an integer number of steps for {name}. Set such a 'step'."
            )
        if count > MOST:
            raise ParameterError(f"{name} takes at most {MOST:,} levels. Use a larger 'step'.")
        return cls(low, width, count)

    @property
    def values(self) -> Floats:
        """(count,) the rating of each level."""
        return np.asarray(self.low + self.step * np.arange(self.count), dtype=np.float64)

    def positions(self, values: Floats) -> Ids:
        """Return the nearest level of each rating; ties go to the higher one."""
        near = np.floor((values - self.low) / self.step + 0.5).astype(np.int64)
        return np.clip(near, 0, self.count - 1)

    def require(self, data: Ratings, name: str) -> None:
        """Raise if a rating is not one of the levels."""
        values = np.asarray(data.value, dtype=np.float64)
        distances = np.abs(self.values[self.positions(values)] - values)
        if distances.max(initial=0.0) > 1e-6 * self.step:
            raise InputError(
                f"{name} needs ratings on levels of the scale. Got some in between. Set 'step',"
                f" such as {name}(epsilon=1, step=0.5), to round them first."
            )
