"""Draw one release: by the method, then to the prior, the region and the nodes."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.places.method import Method
from veil.places.methods.predictive import Predictive
from veil.places.numbered import numbered
from veil.places.points import Points
from veil.places.projection import Surface
from veil.places.region import Region
from veil.places.release import Steps
from veil.places.remap import remap
from veil.places.trees import tree

_ROUNDS = 1_000
_STILL = 1e-6  # metres
_LOOKED = 1_000  # points looked at together
_COUNTED = 2**15  # points compared together


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a release is drawn with; `nodes` (m, 2) are those inside the region."""

    method: Method
    on: Surface
    population: Points | None = None
    region: Region | None = None
    prior: Points | None = None
    nodes: Floats | None = None

    def draw(self, points: Points, rng: Generator) -> tuple[Floats, Steps | None]:
        """Return one release (n, 2), or raise if any point finds no place."""
        steps = None
        if isinstance(self.method, Predictive):
            moved, steps = self.method.follow(points, self.on, rng)
        else:
            moved = self.method.draw(points.xy, self.on, rng, self.population)
            self._check(moved, points)
        if self.prior is not None:
            moved = remap(moved, self.method, self.prior, self.on)
        if self.region is not None:
            moved = self._within(self.region, moved, points, rng)
        if self.nodes is not None:
            _, nearest = tree(self.on.embed(self.nodes)).query(self.on.embed(moved))
            moved = self.nodes[nearest]
        return moved, steps

    def _check(self, moved: Floats, points: Points) -> None:
        """Raise if no point moved at all; where something is proved, a look would break that."""
        if self.method.guarantee.kind != "none":
            return
        for start in range(0, len(moved), _LOOKED):
            rows = slice(start, start + _LOOKED)
            if (self._metres(moved[rows], points.xy[rows]) >= _STILL).any():
                return
        raise InputError(
            f"{self.method.name} moved no point by a micrometre; choose larger distances."
            " Nothing is released."
        )

    def still(self, moved: Floats, points: Points) -> int:
        """Count the points that a release (n, 2) leaves where they were, after the nodes, too.

        Where something is proved nothing is counted: a look would break that.
        """
        if self.method.guarantee.kind != "none":
            return 0
        count = 0
        for start in range(0, len(moved), _COUNTED):
            rows = slice(start, start + _COUNTED)
            count += int((self._metres(moved[rows], points.xy[rows]) < _STILL).sum())
        return count

    def _metres(self, one: Floats, other: Floats) -> Floats:
        """Return metres (n,) between the rows of two arrays (n, 2)."""
        apart = self.on.embed(one) - self.on.embed(other)
        return self.on.metres(np.sqrt((apart**2).sum(axis=1)))

    def _within(self, region: Region, moved: Floats, points: Points, rng: Generator) -> Floats:
        """Project what a proof stands on; draw everything else again, all points at once."""
        if not self.method.conditioned:
            return region.nearest(moved)
        left = np.flatnonzero(~region.holds(moved))
        for _ in range(_ROUNDS - 1 if self.method.random else 0):
            if not len(left):
                break
            fresh = self.method.draw(points.xy[left], self.on, rng, self.population)
            inside = region.holds(fresh)
            moved[left[inside]] = fresh[inside]
            left = left[~inside]
        if len(left):
            raise InputError(
                f"{numbered(left)} found no place inside the region; enlarge it, or the"
                " distances of the method. Nothing is released."
            )
        return moved


def nodes_within(snap: Points, region: Region | None) -> Floats:
    """Return the nodes (m, 2) that lie inside the region; there must be any."""
    nodes: Floats = snap.xy if region is None else snap.xy[region.holds(snap.xy)]
    if not len(nodes):
        raise InputError("Some node to snap to must lie inside the region; enlarge it.")
    return nodes
