"""Move points to the places of other people."""

from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import AfterValidator, Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.places.crs import row_numbers
from veil.places.mechanism import AVERAGED, UNIT, Mechanism, Remembered, above_low, inside
from veil.places.neighbours import tree
from veil.places.points import Points
from veil.places.projection import Surface, pairs

_ROWS = 2**12  # points per query
_COUNTS: Remembered[Floats] = Remembered()


class Swap(Mechanism):
    r"""Move each point to a place of the population, drawn uniformly from a ring around it.

    .. math:: P(z|x) = 1 / |\{y : low \le |x - y| \le high\}|

    Nothing is proved. If the ring of any point is empty, no point is released.
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
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee("none", unit=UNIT, caveat=AVERAGED)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        people = self.people(population)
        index, here = tree(on.embed(people.xy)), on.embed(xy)
        uniform, partners = rng.random(len(xy)), np.full(len(xy), -1)
        for start in range(0, len(xy), _ROWS):
            block = slice(start, start + _ROWS)
            partners[block] = self._partners(index, here[block], uniform[block], on)
        isolated = np.flatnonzero(partners < 0)
        if len(isolated):
            raise InputError(
                f"{row_numbers(isolated)} must have someone between {self.low:g} and"
                f" {self.high:g} m away. Nothing is released. Enlarge the ring or the population."
            )
        moved: Floats = people.xy[partners]
        return moved

    def _partners(self, index: Any, here: Floats, uniform: Floats, on: Surface) -> Ids:  # noqa: ANN401
        """Return the rows (n,) of the sampled people, -1 for an empty ring."""
        rows = index.query_ball_point(here, self._chord(self.high, on), return_sorted=True)
        partners = np.full(len(here), -1)
        for point, near in enumerate(rows):
            gaps = np.sqrt(((index.data[near] - here[point]) ** 2).sum(axis=1))
            ring = np.asarray(near, dtype=np.int64)[gaps >= self._chord(self.low, on, -1)]
            if len(ring):
                partners[point] = ring[int(uniform[point] * len(ring))]
        return partners

    @staticmethod
    def _chord(metres: float, on: Surface, side: int = 1) -> float:
        return float(on.chord(np.asarray(metres))) * (1 + side * 1e-9)

    @override
    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        people = self.people(population)
        law = _COUNTS.of(
            candidates, (people, self), lambda: self._law(people, on.embed(candidates), on)
        )
        metres = pairs(on, on.embed(released), on.embed(candidates))
        density: Floats = inside(metres, self.low, self.high) + law
        return density

    @override
    def blurred(self, metres: float) -> "Swap":
        wide = {"low": max(0.0, self.low - metres), "high": self.high + metres}
        return self.model_copy(update=wide)

    def _law(self, people: Points, here: Floats, on: Surface) -> Floats:
        """Return minus the logarithm of the number of people in the ring of each candidate."""
        index = tree(on.embed(people.xy))
        counts = index.query_ball_point(here, self._chord(self.high, on), return_length=True)
        if self.low:
            low = self._chord(self.low, on, -1)
            counts = counts - index.query_ball_point(here, low, return_length=True)
        empty = counts <= 0  # such a candidate is never released
        return np.where(empty, -np.inf, -np.log(np.where(empty, 1, counts)))
