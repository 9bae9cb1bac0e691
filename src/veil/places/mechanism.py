"""The contract of place mechanisms: how they move points, their density, and their guarantee."""

import weakref
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.random import Generator
from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError
from typing_extensions import override

from veil.core.component import Component
from veil.core.errors import InputError, LawError, MissingExtraError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.points import Points
from veil.places.projection import Surface, pairs


def special() -> Any:  # noqa: ANN401 - scipy has no types
    """Return the module scipy.special, or raise if scipy is missing."""
    try:
        from scipy import special
    except ImportError:
        raise MissingExtraError(
            "This mechanism needs scipy: pip install 'veil[places]'."
        ) from None
    return special


T = TypeVar("T")


class Remembered(Generic[T]):
    """A cache of one result, for candidates (m, 2) and the other objects it depends on.

    The result is reused if all objects are identical to those of the last call and the candidates
    are read-only, as in `Points`. The cache only has weak references to them.
    """

    def __init__(self) -> None:
        self._last: tuple[tuple[weakref.ref[object], ...], T] | None = None

    def of(self, candidates: Floats, others: tuple[object, ...], work: Callable[[], T]) -> T:
        """Return the result, computed by `work` unless it is cached."""
        objects = (candidates, *others)
        last = self._last
        if last is not None and tuple(map(id, objects)) == tuple(id(ref()) for ref in last[0]):
            return last[1]
        result = work()
        if not candidates.flags.writeable:
            self._last = (tuple(weakref.ref(thing) for thing in objects), result)
        return result


UNIT = "point"
_ROWS = 2**15  # points per block, which fits the processor's cache
AVERAGED = "No bound; repeated releases average out."


@dataclass(frozen=True)
class Displacement:
    """The distance in metres by which a mechanism moves a point, in closed form."""

    mean: float
    rms: float
    inverse: Callable[[float], float]

    @property
    def median(self) -> float:
        """The median displacement."""
        return self.quantile(0.5)

    def quantile(self, p: float) -> float:
        """Return the p-quantile of the displacement."""
        if not 0 <= p <= 1:
            raise ParameterError(f"The 'p' argument must be from 0 to 1. Got {p!r} instead.")
        return float(self.inverse(p))


class Mechanism(Component):
    """Moves points.

    Attributes
    ----------
    family
        Group of similar mechanisms in reports.
    needs
        Required inputs: "population" (Points), "users" (of the points).
    lawful
        Whether the density of an output is known, so that attacks and k can use it.
    random
        Whether the output is random.
    conditioned
        Whether points outside a region are redrawn. If that would break the guarantee, they are
        projected to the region instead.
    presets
        Return the spec for a distance in metres; larger distances protect more. Pages offer every
        mechanism that has presets, and attack it by its density. Requests can set any of its
        parameters, so no parameter may be a path or address to open.
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
        """The guarantee for one release of one point on a plane."""

    def promise(self, on: Surface) -> Guarantee:
        """Return the guarantee for one release of one point on a surface."""
        del on
        return self.guarantee

    @abstractmethod
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        """Return the moved points (n, 2)."""

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Return log f(z|y) (n, m), per square metre, of z (n, 2) for candidates y (m, 2).

        It is -inf if y cannot have become z. For more than a few thousand pairs, call it in blocks
        of z (`veil.places.projection.blocks`).
        """
        del released, candidates, on, population
        raise self.lawless()

    def blurred(self, metres: float) -> "Mechanism":
        """Return the mechanism followed by rounding of up to so many metres.

        Only densities with an edge change: it moves outwards, so that no true place is ruled out.
        """
        del metres
        return self

    @property
    def displacement(self) -> Displacement:
        """The distribution of the displacement, in closed form."""
        raise LawError(f"{self.name} has no closed-form distribution of its displacement.")

    def lawless(self) -> LawError:
        """Return the error for a mechanism without a density."""
        return LawError(f"{self.name} has no closed-form density. Use an attack that needs none.")

    def people(self, population: Points | None) -> Points:
        """Return the population, or raise if it is missing."""
        if population is None:
            raise InputError(f"{self.name} needs a population. Pass Points, or --population.")
        return population


class Radial(Mechanism):
    """Moves each point by a random distance in a uniformly random direction.

    Distance and direction are independent. `uniforms` is the number of uniform numbers per
    distance. It is fixed, so that a seeded result does not depend on blocks.
    """

    lawful: ClassVar[bool] = True
    uniforms: ClassVar[int] = 1

    @abstractmethod
    def radii(self, uniform: Floats) -> Floats:
        """Return distances (n,) in metres from uniform numbers (n, uniforms) in [0, 1)."""

    @abstractmethod
    def log_per_area(self, metres: Floats) -> Floats:
        """Return the log density per square metre at these distances from the true point."""

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
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
        """Return the density at the distances of all pairs.

        On the sphere the area is that of the tangent plane. The factor (r/R)/sin(r/R), which is
        below 1 + 1e-6 up to 15 km, is left out so that uniform densities tie.
        """
        del population
        return self.log_per_area(pairs(on, on.embed(released), on.embed(candidates)))


def inside(metres: Floats, low: float, high: float, tolerance: float = 1e-9) -> Floats:
    """Return 0 for low <= r <= high, else -inf."""
    within = (metres >= low * (1 - tolerance)) & (metres <= high * (1 + tolerance))
    return np.where(within, 0.0, -np.inf)


def above_low(high: float, info: ValidationInfo) -> float:
    """Check that a parameter is above the parameter 'low', in fields of mechanisms."""
    low = info.data.get("low")
    if low is not None and not low < high:
        raise PydanticCustomError("order", "must be above 'low', which is {low}", {"low": low})
    return high
