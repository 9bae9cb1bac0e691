"""The contract of mechanisms for cells, their registry, and their releases."""

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.registry import Registry
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Axis, Cells, interior
from veil.tables.mechanism import nothing

Mask = NDArray[np.bool_]


class Bounds(NamedTuple):
    """The least and the most that each cell can be, over the full table."""

    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False)
class CellRelease:
    """A published table of cells; all arrays but `values` are full tables, with sums.

    Attributes
    ----------
    margins
        The published numbers; the last entry of every axis is its total, nan is suppressed.
    axes
        The axes, with labels.
    primary
        Which cells are sensitive themselves. Never written to a file: readers must not know why a
        cell is suppressed.
    bounds
        What a reader can infer of each cell without using the sums.
    method
        Spec of the mechanism.
    guarantee
        What is proved: no bound on inference by arbitrary attackers.
    seeded
        Whether anyone who knows the seed can reproduce the release: **not private**.
    whole
        Whether the true cells are integers.
    additive
        Whether the published sums add up.
    maps
        Per axis, the new index of each original category after roll-ups; empty without any.
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
        """Per axis, its categories."""
        return tuple(axis.categories for axis in self.axes)

    @property
    def mechanism(self) -> str:
        """Spec of the mechanism. Releases in all domains have this property."""
        return self.method

    @property
    def cost(self) -> Guarantee:
        """What is proved about the release. Releases in all domains have this property."""
        return self.guarantee

    def to_csv(self, path: str | Path, *, excel_safe: bool = False) -> None:
        """Write a line per cell and sum atomically, readable by its owner only."""
        from veil.tables.cells.audit import write_cells

        write_cells(self, Path(path), excel_safe=excel_safe)


CAVEAT = "Attackers who know more than the table are not covered."


class CellMechanism(Component):
    """Publishes a table of cells; `random` is whether it uses randomness."""

    family: ClassVar[str] = "Cells"
    random: ClassVar[bool] = False

    @property
    def draws(self) -> bool:
        """Whether it uses randomness with these parameters."""
        return self.random

    @property
    def guarantee(self) -> Guarantee:
        """What is proved about any release: nothing."""
        return nothing(CAVEAT)

    @abstractmethod
    def publish(self, cells: Cells, rng: Generator) -> CellRelease:
        """Publish the table, or raise an error."""

    def prepare(self, cells: Cells) -> Cells:  # noqa: ARG002 - most methods cannot
        """Return the table for the next mechanism; most mechanisms can only publish."""
        raise ParameterError(
            f"Nothing can follow {self.name}. Put it last; only rollup can come before."
        )


CELL_MECHANISMS: Registry[CellMechanism] = Registry(
    noun="mechanism for cells",
    group="veil.mechanisms.cells",
    builtin={
        "cta": "veil.tables.cells.adjust:CTA",
        "rollup": "veil.tables.cells.adjust:Rollup",
        "round": "veil.tables.cells.adjust:Round",
        "sample": "veil.tables.cells.adjust:Sample",
        "suppress": "veil.tables.cells.suppress:Suppress",
    },
)
"""Mechanisms for tables of counts, with plugins: `names()`, `get(name)`, `parse(spec)`."""
_GROUPS = re.compile(r"\s*rollup\(\s*('[^']*'|\"[^\"]*\")\s*\)\s*")


def cell_method(spec: str | CellMechanism) -> CellMechanism:
    """Return a mechanism from a spec such as ``suppress(threshold=5)`` or ``rollup('a,b=c')``."""
    if isinstance(spec, CellMechanism):
        return spec
    groups = _GROUPS.fullmatch(spec) if isinstance(spec, str) else None
    return CELL_MECHANISMS.parse(spec if groups is None else f"rollup(groups={groups[1]})")


def protect_cells(
    cells: Cells,
    method: str | CellMechanism | Sequence[str | CellMechanism],
    rng: Randomness = None,
) -> CellRelease:
    """Publish a table of cells by a mechanism, or by roll-ups and a mechanism."""
    several = isinstance(method, Sequence) and not isinstance(method, str)
    steps = [cell_method(spec) for spec in (method if several else [method])]  # type: ignore[arg-type]
    if not steps:
        raise ParameterError("Name at least one mechanism.")
    draws = generator(rng)
    for step in steps[:-1]:
        cells = step.prepare(cells)
    release = steps[-1].publish(cells, draws)
    seeded = rng is not None and steps[-1].draws
    return replace(release, method=" | ".join(map(str, steps)), seeded=seeded)


def cell_utility(cells: Cells, release: CellRelease) -> float:
    r"""Return 1 - (suppressed + changed amounts) / total, over cells without sums.

    .. math:: 1 - \frac{\sum_{suppressed} v + \sum |v - v'|}{\sum v}

    and 0 if that is negative. A rolled-up cell is spread evenly over its original cells.
    """
    values, released = cells.values, _spread(cells, release)
    total = float(values.sum())
    if total == 0:
        return float(not np.isnan(released).any())
    lost = np.where(np.isnan(released), values, np.abs(values - released)).sum()
    return max(0.0, 1.0 - float(lost) / total)


def _spread(cells: Cells, release: CellRelease) -> Floats:
    released = release.values
    for at, place in enumerate(release.maps):
        if len(place) != cells.values.shape[at]:
            raise InputError(
                "The release and the table do not match: they have different categories."
            )
        front = np.moveaxis(released, at, 0)[place]
        sizes = np.bincount(place)[place].reshape(-1, *[1] * (front.ndim - 1))
        released = np.moveaxis(front / sizes, 0, at)
    if released.shape != cells.values.shape:
        raise InputError("The release and the table do not match: they have different cells.")
    return released
