"""Fewer, larger categories: cells are added up along an axis."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field

from veil.core.errors import InputError, ParameterError
from veil.core.types import Ids
from veil.tables.counts.cells import Cells, Contributions
from veil.tables.counts.method import CellMethod
from veil.tables.counts.release import Bounds, CellRelease


class Rollup(CellMethod):
    """Add categories of an axis up, as named or by a level of its hierarchy.

    ``rollup(groups='Bachelors,Masters=Higher;9th,10th=School')`` names them; the axis is the one
    that has these categories, or `by`. ``rollup(by='education', level=1)`` takes the labels of
    that level. What is left is published as it is: put another method after it for the rest.
    """

    name: ClassVar[str] = "rollup"
    groups: str = Field(
        default="", description="categories=label; more after ';'", examples=["1,2=low"]
    )
    by: str = Field(default="", description="axis to roll up")
    level: int = Field(default=0, ge=0, description="level of its hierarchy")

    def publish(self, cells: Cells, rng: Generator) -> CellRelease:  # noqa: ARG002 - no draw
        """Publish the rolled-up table as it is."""
        rolled = self.prepare(cells)
        full = rolled.margins
        return CellRelease(
            full,
            rolled.axes,
            np.zeros(full.shape, dtype=np.bool_),
            Bounds(full, full),
            str(self),
            self.guarantee,
            whole=rolled.whole,
            maps=rolled.maps,
        )

    def prepare(self, cells: Cells) -> Cells:
        """Return the table with fewer categories."""
        if bool(self.groups) == bool(self.level):
            raise ParameterError("rollup needs either groups='a,b=c;...' or by='...', level=1.")
        named = _read(self.groups) if self.groups else {}
        at = self._axis(cells, list(named))
        if not self.groups:
            named = self._labels(cells, at)
        return rolled_up(cells, at, named)

    def _axis(self, cells: Cells, categories: list[str]) -> int:
        if self.by:
            if self.by not in cells.by:
                raise InputError(
                    f"There is no axis '{self.by}'; the table has: {', '.join(cells.by)}."
                )
            return cells.by.index(self.by)
        fitting = [i for i, held in enumerate(cells.categories) if set(categories) <= set(held)]
        if len(fitting) != 1 or not categories:
            raise InputError(
                "One axis must have all the categories to roll up; name it: by='...'."
            )
        return fitting[0]

    def _labels(self, cells: Cells, at: int) -> dict[str, str]:
        hierarchy = cells.hierarchies.get(cells.by[at])
        if hierarchy is None:
            raise InputError(f"The axis '{cells.by[at]}' has no hierarchy; name groups='a,b=c'.")
        if self.level > hierarchy.height:
            raise InputError(
                f"The hierarchy of '{cells.by[at]}' has {hierarchy.height} levels; level"
                f" {self.level} is above it."
            )
        codes, labels = hierarchy.codes[self.level], hierarchy.labels[self.level]
        held = (one for one in cells.categories[at] if one in hierarchy.place)
        return {one: labels[int(codes[hierarchy.place[one]])] for one in held}


def _read(groups: str) -> dict[str, str]:
    """Read ``a,b=c;d,e=f``: what each category becomes."""
    made: dict[str, str] = {}
    for part in groups.split(";"):
        left, equals, label = part.rpartition("=")
        categories = [one.strip() for one in left.split(",") if one.strip()]
        if not equals or not label.strip() or not categories or set(categories) & set(made):
            raise ParameterError(
                "The 'groups' parameter of rollup must look like 'a,b=c;d,e=f', each category"
                " once."
            )
        made |= dict.fromkeys(categories, label.strip())
    return made


def rolled_up(cells: Cells, at: int, named: dict[str, str]) -> Cells:
    """Give categories of an axis new labels, and add up those that share one."""
    absent = sum(category not in cells.categories[at] for category in named)
    if absent:
        raise InputError(f"The axis '{cells.by[at]}' lacks {absent:,} of the named categories.")
    seen: dict[str, int] = {}
    codes = [seen.setdefault(named.get(one, one), len(seen)) for one in cells.categories[at]]
    place = np.array(codes, dtype=np.int64)
    shape = list(cells.values.shape)
    shape[at] = len(seen)
    values = np.zeros(shape)
    np.add.at(np.moveaxis(values, at, 0), place, np.moveaxis(cells.values, at, 0))
    maps = list(cells.maps or (np.arange(size) for size in cells.values.shape))
    maps[at] = place[maps[at]]
    groups = list(cells.groups or ((),) * len(cells.by))
    groups[at] = ()
    labels = list(cells.categories)
    labels[at] = tuple(seen)
    return replace(
        cells,
        values=values,
        categories=tuple(labels),
        contributions=_placed(cells.contributions, at, place),
        groups=tuple(groups),
        hierarchies={name: one for name, one in cells.hierarchies.items() if name != cells.by[at]},
        maps=tuple(maps),
    )


def _placed(given: Contributions | None, at: int, place: Ids) -> Contributions | None:
    if given is None:
        return None
    places = given.places.copy()
    places[:, at] = place[places[:, at]]
    return replace(given, places=places)
