"""Rules for sensitive cells."""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import product
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.component import PRIVATE, Component
from veil.core.errors import InputError
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Axis, Cells, Contributions
from veil.tables.cells.release import Mask


def largest(cells: Cells, n: int) -> Floats:
    """Return the `n` largest contributions to each cell of the full table (n, ...).

    Contributions of a unit to several cells of a sum are added.
    """
    contributions = cells.contributions
    if contributions is None:
        raise InputError("Only a table of sums has contributions. Try tabulate(..., value='...').")
    full = np.zeros((n, *cells.margins.shape))
    for nodes in product(*map(_layers, cells.axes)):
        _fill(full, contributions, nodes)
    return full


def contributors(cells: Cells) -> Floats:
    """Return the number of contributing units of each cell of the full table of sums."""
    contributions = cells.contributions
    full = np.zeros(cells.margins.shape)
    if contributions is None:
        return cells.margins
    span = int(contributions.units.max(initial=0)) + 1
    for nodes in product(*map(_layers, cells.axes)):
        at = np.stack(
            [nodes[axis][contributions.places[:, axis]] for axis in range(len(nodes))], axis=1
        )
        counted = (at >= 0).all(axis=1) & (contributions.amounts > 0)
        flat = np.ravel_multi_index(tuple(at[counted].T), full.shape)
        cells_of_units = np.unique(contributions.units[counted] + span * flat) // span
        full.ravel()[:] += np.bincount(cells_of_units, minlength=full.size)
    return full


def _layers(axis: Axis) -> list[Ids]:
    """Return maps from categories to nodes (-1: none) that together reach every node once."""
    count = len(axis.categories)
    layers = [np.arange(count)]
    for at, (_, members) in enumerate(axis.groups):
        layer = np.full(count, -1, dtype=np.int64)
        layer[list(members)] = count + at
        layers.append(layer)
    return [*layers, np.full(count, axis.nodes - 1, dtype=np.int64)]


def _fill(full: Floats, contributions: Contributions, nodes: tuple[Ids, ...]) -> None:
    at = np.stack(
        [nodes[axis][contributions.places[:, axis]] for axis in range(len(nodes))], axis=1
    )
    counted = (at >= 0).all(axis=1)
    if not counted.any():
        return
    flat = np.ravel_multi_index(tuple(at[counted].T), full.shape[1:])
    span = int(contributions.units.max()) + 1
    keys, places = np.unique(flat * span + contributions.units[counted], return_inverse=True)
    sums = np.bincount(places, contributions.amounts[counted])
    order = np.lexsort((-sums, keys // span))
    cell, amount = keys[order] // span, sums[order]
    starts = np.r_[0, np.flatnonzero(np.diff(cell)) + 1]
    rank = np.arange(len(cell)) - np.repeat(starts, np.diff(np.r_[starts, len(cell)]))
    top = rank < full.shape[0]
    full.reshape(full.shape[0], -1)[rank[top], cell[top]] = amount[top]


class Sensitive(NamedTuple):
    """For the full table: which cells are sensitive, and the protection that each needs."""

    cells: Mask
    protection: Floats


class Rule(Component):
    """Decides which cells and sums of a table must not be published."""

    family: ClassVar[str] = "Rules"

    @abstractmethod
    def sensitive(self, cells: Cells) -> Sensitive:
        """Return the sensitive cells of the full table; zeros are not sensitive."""

    def lacking(self, gifts: Floats) -> float:  # noqa: ARG002 - for rules without sums
        """Return the protection that a sum lacks, or 0, given the contribution of each unit.

        `gifts` is in descending order. Used for sums of several cells that readers can work out.
        """
        return 0.0


SUM_ROOM = (
    0.3  # protection of a sum with too few contributors, as a share, if nothing else sets it
)


class Threshold(Rule):
    """Counts below `threshold`, and sums with fewer contributors, are sensitive.

    Zeros are not. Protection is `threshold` for counts, and 30 % of the amount for sums.
    """

    name: ClassVar[str] = "threshold"
    threshold: int = Field(
        default=5, ge=1, description="smallest count to publish", json_schema_extra=PRIVATE
    )

    @override
    def sensitive(self, cells: Cells) -> Sensitive:
        if cells.contributions is not None:
            few = (contributors(cells) < self.threshold) & (cells.margins > 0)
            return Sensitive(few, np.where(few, SUM_ROOM * cells.margins, 0.0))
        counts = require_counts(cells)
        few = (counts > 0) & (counts < self.threshold)
        return Sensitive(few, np.where(few, float(self.threshold), 0.0))

    @override
    def lacking(self, gifts: Floats) -> float:
        few = 0 < np.count_nonzero(gifts) < self.threshold
        return SUM_ROOM * float(gifts.sum()) if few else 0.0


class Dominance(Rule):
    """Sums are sensitive if their `n` largest contributions exceed a `share`.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "dominance"
    n: int = Field(default=2, ge=1, description="number of largest contributions")
    share: float = Field(
        default=0.85, gt=0, lt=1, description="largest share of the sum that they may have"
    )

    def sensitive(self, cells: Cells) -> Sensitive:
        """x1 + ... + xn > share T; protected by (x1 + ... + xn) / share - T."""
        top = largest(cells, self.n).sum(0)
        sensitive = (cells.margins > 0) & (top > self.share * cells.margins)
        return Sensitive(sensitive, np.where(sensitive, top / self.share - cells.margins, 0.0))

    def lacking(self, gifts: Floats) -> float:
        """(x1 + ... + xn) / share - T, where that is positive."""
        return max(0.0, float(gifts[: self.n].sum() / self.share - gifts.sum()))


class PPercent(Rule):
    """Sums are sensitive if the second largest contributor can infer the largest to p percent.

    References
    ----------
    Hundepool et al. Statistical Disclosure Control. Wiley 2012, chapter 4.
    """

    name: ClassVar[str] = "p_percent"
    p: float = Field(default=10.0, gt=0, description="percent", json_schema_extra=PRIVATE)

    def sensitive(self, cells: Cells) -> Sensitive:
        """T - x1 - x2 < p/100 x1; the protection is the shortfall."""
        first, second = largest(cells, 2)
        lacking = self.p / 100 * first - (cells.margins - first - second)
        sensitive = (cells.margins > 0) & (lacking > 1e-12 * cells.margins)
        return Sensitive(sensitive, np.where(sensitive, lacking, 0.0))

    def lacking(self, gifts: Floats) -> float:
        """p/100 x1 - (T - x1 - x2), where that is positive."""
        total = float(gifts.sum())
        lacking = self.p / 100 * float(gifts[:1].sum()) - (total - float(gifts[:2].sum()))
        return lacking if lacking > 1e-12 * total else 0.0


class Holdings:
    """Contributions of units to the cells of the full table, flat; largest first in each cell."""

    def __init__(self, cells: Cells) -> None:
        contributions = cells.contributions
        if contributions is None:
            raise InputError("Only a table of sums has contributions.")
        span, shape = int(contributions.units.max(initial=0)) + 1, cells.margins.shape
        keys, amounts = [], []
        for nodes in product(*map(_layers, cells.axes)):
            at = np.stack(
                [nodes[i][contributions.places[:, i]] for i in range(len(nodes))], axis=1
            )
            counted = (at >= 0).all(axis=1) & (contributions.amounts > 0)
            keys.append(
                np.ravel_multi_index(tuple(at[counted].T), shape) * span
                + contributions.units[counted]
            )
            amounts.append(contributions.amounts[counted])
        entries, places = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.bincount(places, np.concatenate(amounts), minlength=len(entries))
        order = np.lexsort((-sums, entries // span))
        self.cells, self.units = (np.asarray(values) for values in np.divmod(entries[order], span))
        self.amounts: Floats = sums[order].astype(np.float64)
        self.size = cells.margins.size
        self._starts = np.searchsorted(self.cells, np.arange(self.size + 1))
        self._by_unit = np.argsort(self.units, kind="stable")
        self._sorted_units = self.units[self._by_unit]

    def pool(self, cells: Ids) -> tuple[Floats, Ids]:
        """Return the total contributions of units to these cells, largest first, and the units."""
        rows = np.concatenate([np.arange(*self._starts[cell : cell + 2]) for cell in cells])
        units, places = np.unique(self.units[rows.astype(np.int64)], return_inverse=True)
        sums = np.bincount(places, self.amounts[rows.astype(np.int64)], minlength=len(units))
        order = np.argsort(-sums, kind="stable")
        gifts: Floats = sums[order].astype(np.float64)
        return gifts, units[order]

    def of(self, unit: int) -> tuple[Ids, Floats, Mask]:
        """Return the cells of a unit, its amounts, and whether it is their only contributor."""
        first, last = np.searchsorted(self._sorted_units, [unit, unit + 1])
        rows = self._by_unit[first:last]
        cells: Ids = self.cells[rows]
        only: Mask = np.diff(self._starts)[cells] == 1
        return cells, self.amounts[rows], only

    def leaders(self, hidden: Ids, lines: Iterable[Ids]) -> list[int]:
        """Return the two largest contributors of each hidden cell, and of all of each line."""
        leading: dict[int, None] = {}
        for cells in (*(hidden[i : i + 1] for i in range(len(hidden))), *lines):
            leading |= dict.fromkeys(self.pool(cells)[1][:2].tolist())
        return list(leading)


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
            "This mechanism needs counts, and these cells are sums. Use suppress with"
            " rule='p_percent(p=10)' or rule='dominance(n=2, share=0.85)'."
        )
    if not cells.whole:
        raise InputError("A threshold needs counts, and these cells are not integers.")
    return cells.margins
