"""Move points to the place of somebody else."""

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.places.crs import row_numbers
from veil.places.mechanism import AVERAGED, UNIT, Mechanism, Remembered, above_low, inside
from veil.places.neighbours import tree
from veil.places.points import Points
from veil.places.projection import Surface, pairs

_ROWS = 2**12  # points whose neighbours are listed at a time
_COUNTS: Remembered[Floats] = Remembered()


class Swap(Mechanism):
    r"""Move each point to a place of the population, drawn evenly from a ring around it.

    .. math:: P(z|x) = 1 / |\{y : low \le |x - y| \le high\}|

    Nothing is proved. A point that has nobody in its ring is not released, nor is any other.
    """

    name: ClassVar[str] = "swap"
    family: ClassVar[str] = "Aggregation"
    needs: ClassVar[frozenset[str]] = frozenset({"population"})
    lawful: ClassVar[bool] = True
    low: Annotated[
        float,
        Field(ge=0, description="least metres", examples=[50.0], json_schema_extra=PRIVATE),
    ]
    high: Annotated[
        float,
        Field(gt=0, description="most metres", examples=[500.0], json_schema_extra=PRIVATE),
        AfterValidator(above_low),
    ]

    @property
    def guarantee(self) -> Guarantee:
        """Nothing is proved."""
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Draw one of those in the ring of each point."""
        people = self.people(population)
        index, here = tree(on.embed(people.xy)), on.embed(xy)
        uniform, chosen = rng.random(len(xy)), np.full(len(xy), -1)
        for start in range(0, len(xy), _ROWS):
            block = slice(start, start + _ROWS)
            chosen[block] = self._drawn(index, here[block], uniform[block], on)
        alone = np.flatnonzero(chosen < 0)
        if len(alone):
            raise InputError(
                f"{row_numbers(alone)} must have somebody between {self.low:g} and {self.high:g} m"
                " away; enlarge the ring or the population. Nothing is released."
            )
        moved: Floats = people.xy[chosen]
        return moved

    def _drawn(self, index: Any, here: Floats, uniform: Floats, on: Surface) -> Ids:  # noqa: ANN401
        """Return who is drawn (n,), -1 for nobody."""
        rows = index.query_ball_point(here, self._chord(self.high, on), return_sorted=True)
        drawn = np.full(len(here), -1)
        for point, near in enumerate(rows):
            apart = np.sqrt(((index.data[near] - here[point]) ** 2).sum(axis=1))
            ring = np.asarray(near, dtype=np.int64)[apart >= self._chord(self.low, on, -1)]
            if len(ring):
                drawn[point] = ring[int(uniform[point] * len(ring))]
        return drawn

    @staticmethod
    def _chord(metres: float, on: Surface, side: int = 1) -> float:
        return float(on.chord(np.asarray(metres))) * (1 + side * 1e-9)

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Return one over the number of those in the ring of a candidate."""
        people = self.people(population)
        law = _COUNTS.of(
            candidates, (people, self), lambda: self._law(people, on.embed(candidates), on)
        )
        metres = pairs(on, on.embed(released), on.embed(candidates))
        density: Floats = inside(metres, self.low, self.high) + law
        return density

    def blurred(self, metres: float) -> "Swap":
        """Widen the ring."""
        wide = {"low": max(0.0, self.low - metres), "high": self.high + metres}
        return self.model_copy(update=wide)

    def _law(self, people: Points, here: Floats, on: Surface) -> Floats:
        """Return minus the logarithm of how many are in the ring of each candidate."""
        index = tree(on.embed(people.xy))
        counts = index.query_ball_point(here, self._chord(self.high, on), return_length=True)
        if self.low:
            low = self._chord(self.low, on, -1)
            counts = counts - index.query_ball_point(here, low, return_length=True)
        alone = counts <= 0  # who has nobody around becomes nobody
        return np.where(alone, -np.inf, -np.log(np.where(alone, 1, counts)))
