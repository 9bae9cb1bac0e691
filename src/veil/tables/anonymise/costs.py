"""What a lattice search minimises: how much a node, with the rows it suppresses, loses."""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.anonymise.counter import Counter, Tallies
from veil.tables.anonymise.ladder import Ladder
from veil.tables.criteria.classes import Classes
from veil.tables.criteria.criterion import Bools
from veil.tables.table import Table

Minimise = Literal["dm", "precision", "entropy", "ncp"]


class Discernibility:
    """The sum of squared class sizes, and n for each row that is suppressed.

    References
    ----------
    Bayardo, Agrawal. Data privacy through optimal k-anonymization. ICDE 2005, section 3.
    doi:10.1109/ICDE.2005.42
    """

    slack = 0.0

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def all(self, tallies: Tallies, classes: Classes) -> float:
        """Return what all rows cost at a node, none suppressed; no node above it costs less."""
        del tallies
        return int(np.dot(classes.sizes, classes.sizes))

    def more(self, tallies: Tallies, classes: Classes, failing: Bools) -> float:
        """Return what it costs more to suppress the classes that fail."""
        del tallies
        sizes = classes.sizes[failing]
        return int(self._rows * sizes.sum() - np.dot(sizes, sizes))


class CellCost:
    """The sum over cells of what their labels cost more than values do; `top` if suppressed."""

    slack = 1e-9  # of a loss, below which two are equal: sums are rounded

    def __init__(
        self,
        counter: Counter,
        counts: Sequence[Sequence[Floats]],
        costs: Sequence[Sequence[Floats]],
        top: float,
        scale: float,
    ) -> None:
        self._counter, self._costs, self._top, self._scale = counter, costs, top, scale
        self._sums = [
            [float(np.dot(count, cost)) for count, cost in zip(*column, strict=True)]
            for column in zip(counts, costs, strict=True)
        ]

    def all(self, tallies: Tallies, classes: Classes) -> float:
        """Return what all rows cost at a node, none suppressed; no node above it costs less."""
        del classes
        pairs = zip(self._sums, tallies[0].node, strict=True)
        return sum(sums[level] - sums[0] for sums, level in pairs) * self._scale

    def more(self, tallies: Tallies, classes: Classes, failing: Bools) -> float:
        """Return what it costs more to suppress the classes that fail."""
        sizes = classes.sizes[failing].astype(np.float64)
        total = 0.0
        for column, labels in self._counter.labels(tallies, failing):
            cost = self._costs[column][tallies[0].node[column]]
            total += float(np.dot(sizes, self._top - cost[labels]))
        return total * self._scale


Cost = Discernibility | CellCost


def cost(
    minimise: Minimise,
    table: Table,
    columns: Sequence[str],
    counter: Counter,
    counts_of_rows: Ids | None = None,
) -> Cost:
    """Return what is minimised: a sum over classes, or over cells."""
    rows = len(table) if counts_of_rows is None else int(counts_of_rows.sum())
    if minimise == "dm":
        return Discernibility(rows)
    counts: list[list[Floats]] = []
    costs: list[list[Floats]] = []
    for name, ladder in zip(columns, counter.ladders, strict=True):
        leaf = ladder.codes[0][table.column(name).codes]
        bottom = np.bincount(leaf, counts_of_rows).astype(np.float64)
        maps = [ladder.map(0, level) for level in range(ladder.height + 1)]
        rows_of = [np.bincount(above, bottom).astype(np.float64) for above in maps]
        counts.append(rows_of)
        costs.append(
            [_label_costs(minimise, ladder, level, some) for level, some in enumerate(rows_of)]
        )
    if minimise == "entropy":
        return CellCost(counter, counts, costs, float(np.log2(rows)), 1.0)
    return CellCost(counter, counts, costs, 1.0, 1.0 / (rows * len(columns)))


def _label_costs(minimise: Minimise, ladder: Ladder, level: int, rows: Floats) -> Floats:
    """Return what a row with each label of a level costs."""
    if minimise == "entropy":
        return np.log2(rows)
    if minimise == "precision":
        return np.full(len(ladder.labels[level]), level / max(1, ladder.height))
    share = ladder.leaves[level] / ladder.domain
    return np.where(ladder.leaves[level] > 1, share, 0.0)
