"""What leaves of a table of cells, and what is proved of it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.tables.counts.axis import Axis, interior

Mask = NDArray[np.bool_]


class Bounds(NamedTuple):
    """The least and the most that each cell can be, over the full table."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class CellRelease:
    """A published table of cells; all arrays but `values` are of the full table, with sums.

    Attributes
    ----------
    margins
        What is published: the last place of every axis is its total, nan is suppressed.
    axes
        The axes, with labels.
    primary
        Which cells are sensitive themselves. Never written to a file: a reader of a suppressed
        cell must not know whether it is one.
    bounds
        What a reader may conclude of each cell alone, without the sums.
    method
        Spec of what made it.
    guarantee
        What is proved of it: nothing that is a bound on inference by any attacker.
    seeded
        Whether who knows the seed can repeat the draws: **not private**.
    whole
        Whether the true cells are whole numbers.
    additive
        Whether the published sums are the sums of what is published.
    maps
        Per axis, what each category of the original became by roll-ups; empty without any.
    """

    margins: Floats
    axes: tuple[Axis, ...]
    primary: Mask
    bounds: Bounds
    method: str
    guarantee: Guarantee
    seeded: bool = False
    whole: bool = True
    additive: bool = True
    maps: tuple[Ids, ...] = ()

    @property
    def values(self) -> Floats:
        """The published cells without sums; nan is suppressed."""
        return self.margins[interior(self.axes)]

    @cached_property
    def suppressed(self) -> Mask:
        """Which cells of the full table are not published."""
        return np.isnan(self.margins)

    @property
    def by(self) -> tuple[str, ...]:
        """Names of the axes."""
        return tuple(axis.name for axis in self.axes)

    @property
    def categories(self) -> tuple[tuple[str, ...], ...]:
        """Per axis, the values it has."""
        return tuple(axis.categories for axis in self.axes)

    @property
    def mechanism(self) -> str:
        """Spec of what made it, as releases of all kinds have it."""
        return self.method

    @property
    def cost(self) -> Guarantee:
        """What is proved of it, as releases of all kinds have it."""
        return self.guarantee

    def to_csv(self, path: str | Path, *, excel_safe: bool = False) -> None:
        """Write a line for each cell and each sum, owner-only, whole or not at all."""
        from veil.tables.counts.formats import write_cells

        write_cells(self, Path(path), excel_safe=excel_safe)
