"""Move points to the centre of a cell, or to the edge of their Voronoi cell."""

import math
from collections.abc import Callable
from typing import Annotated, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.places.crs import from_lonlat
from veil.places.mechanism import UNIT, Mechanism
from veil.places.neighbours import tree
from veil.places.points import Points
from veil.places.projection import Surface, degrees, pairs


class Cell(Mechanism):
    r"""Move each point to the centre of its square cell in a lattice anchored at 0.

    .. math:: z = (\lfloor x / s \rfloor + 1/2) \, s

    Nothing is proved. The true point is in the cell, so a person who lives alone in it is found.
    On the sphere, cells are `size` metres high, and as wide in the middle of their row.
    """

    name: ClassVar[str] = "cell"
    presets: ClassVar[Callable[[int], str] | None] = lambda metres: f"cell(size={metres})"
    family: ClassVar[str] = "Aggregation"
    lawful: ClassVar[bool] = True
    random: ClassVar[bool] = False
    size: Annotated[
        float,
        Field(gt=0, description="side, metres", examples=[200.0], json_schema_extra=PRIVATE),
    ]

    @property
    @override
    def guarantee(self) -> Guarantee:
        caveat = "No bound; an attacker with a register finds the only address of a cell."
        return Guarantee("none", unit=UNIT, caveat=caveat)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del rng, population
        return on.lattice(xy, self.size, 0.5)

    def log_density(
        self, released: Floats, candidates: Floats, on: Surface, population: Points | None = None
    ) -> Floats:
        """Return the density as if each output were uniform on its cell."""
        del population
        centres = on.embed(on.lattice(candidates, self.size, 0.5))
        same = pairs(on, on.embed(released), centres) <= self.size / 100
        return np.where(same, -math.log(self.size**2), -np.inf)


class Voronoi(Mechanism):
    r"""Move each point to the nearest point of the edges of its Voronoi cell.

    It is the midpoint m of the point x and its nearest neighbour y. For any other point w of the
    data the triangle inequality gives

    .. math:: |m - w| \ge |x - w| - |x - m| \ge |x - y| - |x - y|/2 = |m - x|

    so m is only in the cells of x and y. Points at one place move together. Nothing is proved. An
    attacker who knows one of two neighbours finds the other.

    References
    ----------
    Seidl, Paulus, Jankowski, Regenfelder. Spatial obfuscation methods for privacy protection of
    household-level data. Applied Geography 63, 2015. doi:10.1016/j.apgeog.2015.07.001
    (cited from memory)
    """

    name: ClassVar[str] = "voronoi"
    family: ClassVar[str] = "Aggregation"
    random: ClassVar[bool] = False

    @property
    @override
    def guarantee(self) -> Guarantee:
        caveat = "No bound; an attacker who knows one of two neighbours finds the other."
        return Guarantee("none", unit=UNIT, caveat=caveat)

    @override
    def draw(
        self, xy: Floats, on: Surface, rng: Generator, population: Points | None = None
    ) -> Floats:
        del rng, population
        sites, which = np.unique(xy, axis=0, return_inverse=True)
        if len(sites) < 2:
            raise InputError("voronoi needs points at two or more places. Got one place.")
        here = on.embed(sites)
        _, rows = tree(here).query(here, k=2)
        own = rows[:, 0] == np.arange(len(sites))
        middle = (here + here[np.where(own, rows[:, 1], rows[:, 0])]) / 2
        halfway = middle if on.crs is None else from_lonlat(degrees(middle), on.crs)
        moved: Floats = halfway[which.reshape(-1)]
        return moved
