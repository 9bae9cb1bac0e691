"""The contract of methods: how they move points, their law, and what is proved."""

import weakref
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.random import Generator
from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from veil.core.component import Component
from veil.core.errors import InputError, LawError, MissingExtraError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.points import Points
from veil.places.projection import Surface, pairs


def special() -> Any:  # noqa: ANN401 - scipy has no types
    """Return the module scipy.special, or say how to get it."""
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError("This method needs scipy: pip install 'veil[places]'.") from None
    return special


T = TypeVar("T")


class Remembered(Generic[T]):
    """The last result for candidates (m, 2) and what else it depends on.

    It is used again when all are the very objects of the last time, and the candidates cannot be
    written to (as those of `Points`); only weak references to them are held.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[weakref.ref[object], ...], T] | None = None

    def of(self, candidates: Floats, others: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return the result, and work for it if need be."""
        objects = (candidates, *others)
        last = self._last
        if last is not None and tuple(map(id, objects)) == tuple(id(ref()) for ref in last[0]):
            return last[1]
        result = work()
        if not candidates.flags.writeable:
            self._last = (tuple(weakref.ref(thing) for thing in objects), result)
        return result


UNIT = "point"
_ROWS = 2**15  # points drawn at a time: they stay in the cache
AVERAGED = "No bound; repeated releases average out."


@dataclass(frozen=True)
class Displacement:
    """How far a method moves a point, in metres, in closed form."""

    mean: float
    rms: float
    inverse: Callable[[float], float]

    @property
    def median(self) -> float:
        """Half of all points move less."""
        return self.quantile(0.5)

    def quantile(self, p: float) -> float:
        """Return the metres that a share p of all points does not exceed."""
        if not 0 <= p <= 1:
            raise ParameterError(f"The 'p' argument must be from 0 to 1. Got {p!r} instead.")
        return float(self.inverse(p))


class Mechanism(Component):
    """Moves points.

    `family` groups methods that work alike, in reports. `needs` says what must be handed in:
    "population" (Points), "users" (of the points themselves). `lawful` says whether the density
    of an output is known, so that attackers and k can use it. `random` says whether anything is
    drawn. `conditioned` says that a region is kept to by drawing again; where a proof forbids
    that, by projection.

    `presets` returns the spec for a distance in metres; larger distances protect more. A mechanism
    that has it is offered on pages: a request can then name it with any of its parameters, so none
    of these may name something to open. The page attacks by its law.
    """

    family: ClassVar[str] = "Other"
    needs: ClassVar[frozenset[str]] = frozenset()
    lawful: ClassVar[bool] = False
    random: ClassVar[bool] = True
    conditioned: ClassVar[bool] = True
    presets: ClassVar[Callable[[int], str] | None] = None

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is proved for one release of one point on a plane."""

    def promise(self, on: Surface) -> Guarantee:
        """Return what is proved for one release of one point on that surface."""
        del on
        return self.guarantee

    @abstractmethod
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Move points (n, 2), all at once."""

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Return log f(z|y), per square metre, (n, m), of z (n, 2) for candidates y (m, 2).

        It is -inf where y cannot have become z. For more than a few thousand pairs call it in
        blocks of z (`veil.places.projection.blocks`).
        """
        del released, candidates, on, population
        raise self.lawless()

    def blurred(self, metres: float) -> "Mechanism":
        """Return the method as one who sees coordinates rounded by up to so many metres has it.

        Only laws with an edge change: it is moved outwards, so that no true place is ruled out.
        """
        del metres
        return self

    @property
    def displacement(self) -> Displacement:
        """How far points move, in closed form."""
        raise LawError(f"{self.name} has no law of its displacement in closed form.")

    def lawless(self) -> LawError:
        """Say that there is no density."""
        return LawError(
            f"{self.name} has no density in closed form; use an attacker that needs none."
        )

    def people(self, population: Points | None) -> Points:
        """Return the population, or say that it is missing."""
        if population is None:
            raise InputError(f"{self.name} needs a population: hand in Points, or --population.")
        return population


class Radial(Mechanism):
    """Moves each point by a distance of its own law in a direction drawn uniformly.

    Distance and direction are independent. `uniforms` is how many uniform numbers a distance
    takes: a fixed number for each point, so that a seeded result does not depend on blocks.
    """

    lawful: ClassVar[bool] = True
    uniforms: ClassVar[int] = 1

    @abstractmethod
    def radii(self, uniform: Floats) -> Floats:
        """Turn uniform numbers (n, uniforms) in [0, 1) into metres (n,)."""

    @abstractmethod
    def log_per_area(self, metres: Floats) -> Floats:
        """Return the log density per square metre at some distances from the true point."""

    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Draw distances and directions."""
        del population
        moved = np.empty_like(xy)
        for start in range(0, len(xy), _ROWS):
            block = xy[start : start + _ROWS]
            uniform = rng.random((len(block), self.uniforms + 1))
            azimuth = 2 * np.pi * uniform[:, -1]
            moved[start : start + _ROWS] = on.move(block, self.radii(uniform), azimuth)
        return moved

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Return the law at the distances of all pairs.

        On the sphere the area is that of the tangent plane: the factor (r/R)/sin(r/R), which is
        below 1 + 1e-6 up to 15 km, is left out, so that uniform laws tie there, too.
        """
        del population
        return self.log_per_area(pairs(on, on.embed(released), on.embed(candidates)))


def inside(metres: Floats, low: float, high: float, tolerance: float = 1e-9) -> Floats:
    """Return 0 where low <= r <= high, -inf elsewhere."""
    within = (metres >= low * (1 - tolerance)) & (metres <= high * (1 + tolerance))
    return np.where(within, 0.0, -np.inf)


def above_low(high: float, given: ValidationInfo) -> float:
    """Check that a parameter is above the one called 'low', for fields of methods."""
    low = given.data.get("low")
    if low is not None and not low < high:
        raise PydanticCustomError("order", "must be above 'low', which is {low}", {"low": low})
    return high
