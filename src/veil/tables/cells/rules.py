"""Which cells are sensitive."""

from abc import abstractmethod
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE, Component
from veil.core.errors import InputError
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Axis, Cells, Contributions
from veil.tables.cells.release import Mask


def largest(cells: Cells, n: int) -> Floats:
    """Return the `n` largest contributions to each cell of the full table (n, ...).

    What one unit gave to several cells of a sum counts together.
    """
    given = cells.contributions
    if given is None:
        raise InputError(
            "Only a table of sums has contributions; make one by tabulate(..., value='...')."
        )
    full = np.zeros((n, *cells.margins.shape))
    for nodes in product(*map(_layers, cells.axes)):
        _fill(full, given, nodes)
    return full


def _layers(axis: Axis) -> list[Ids]:
    """Return maps from categories to nodes (-1: none) that reach every node once."""
    count = len(axis.categories)
    layers = [np.arange(count)]
    for at, (_, members) in enumerate(axis.groups):
        layer = np.full(count, -1, dtype=np.int64)
        layer[list(members)] = count + at
        layers.append(layer)
    return [*layers, np.full(count, axis.nodes - 1, dtype=np.int64)]


def _fill(full: Floats, given: Contributions, nodes: tuple[Ids, ...]) -> None:
    at = np.stack([nodes[axis][given.places[:, axis]] for axis in range(len(nodes))], axis=1)
    kept = (at >= 0).all(axis=1)
    if not kept.any():
        return
    flat = np.ravel_multi_index(tuple(at[kept].T), full.shape[1:])
    span = int(given.units.max()) + 1
    held, places = np.unique(flat * span + given.units[kept], return_inverse=True)
    sums = np.bincount(places, given.amounts[kept])
    order = np.lexsort((-sums, held // span))
    cell, amount = held[order] // span, sums[order]
    starts = np.r_[0, np.flatnonzero(np.diff(cell)) + 1]
    rank = np.arange(len(cell)) - np.repeat(starts, np.diff(np.r_[starts, len(cell)]))
    top = rank < full.shape[0]
    full.reshape(full.shape[0], -1)[rank[top], cell[top]] = amount[top]


class Sensitive(NamedTuple):
    """Over the full table: which cells are sensitive, and how far each must be out of sight."""

    cells: Mask
    protection: Floats


class Rule(Component):
    """Says which cells of a table, and which sums, must not be published."""

    family: ClassVar[str] = "Rules"

    @abstractmethod
    def sensitive(self, cells: Cells) -> Sensitive:
        """Judge every cell of the full table; a zero is not sensitive."""


class Threshold(Rule):
    """Counts of fewer than `threshold` records are sensitive."""

    name: ClassVar[str] = "threshold"
    threshold: int = Field(
        default=5, ge=1, description="least count to publish", json_schema_extra=PRIVATE
    )

    def sensitive(self, cells: Cells) -> Sensitive:
        """Judge by 0 < v < threshold; what lies within `threshold` of it stays possible."""
        counts = require_counts(cells)
        few = (counts > 0) & (counts < self.threshold)
        return Sensitive(few, np.where(few, float(self.threshold), 0.0))


class Dominance(Rule):
    """Sums are sensitive of which the `n` largest gave more than a `share`.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "dominance"
    n: int = Field(default=2, ge=1, description="how many of the largest are added")
    share: float = Field(default=0.85, gt=0, lt=1, description="of the sum, that they may have")

    def sensitive(self, cells: Cells) -> Sensitive:
        """x1 + ... + xn > share T; protected by (x1 + ... + xn) / share - T."""
        top = largest(cells, self.n).sum(0)
        held = (cells.margins > 0) & (top > self.share * cells.margins)
        return Sensitive(held, np.where(held, top / self.share - cells.margins, 0.0))


class PPercent(Rule):
    """Sums are sensitive that tell the second largest what the largest gave, to p percent.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "p_percent"
    p: float = Field(default=10.0, gt=0, description="percent", json_schema_extra=PRIVATE)

    def sensitive(self, cells: Cells) -> Sensitive:
        """T - x1 - x2 < p/100 x1; protected by what is lacking."""
        first, second = largest(cells, 2)
        lacking = self.p / 100 * first - (cells.margins - first - second)
        held = (cells.margins > 0) & (lacking > 1e-12 * cells.margins)
        return Sensitive(held, np.where(held, lacking, 0.0))


RULES: Registry[Rule] = Registry(
    noun="rule for cells",
    group="veil.rules.cells",
    builtin={
        "dominance": "veil.tables.cells.rules:Dominance",
        "p_percent": "veil.tables.cells.rules:PPercent",
        "threshold": "veil.tables.cells.rules:Threshold",
    },
)


def require_counts(cells: Cells) -> Floats:
    """Return the full table if its cells are counts."""
    if cells.contributions is not None:
        raise InputError(
            "A threshold is for counts, and these cells are sums; use rule='p_percent(p=10)' or"
            " rule='dominance(n=2, share=0.85)'."
        )
    if not cells.whole:
        raise InputError("A threshold is for counts, and these cells are not whole numbers.")
    return cells.margins
