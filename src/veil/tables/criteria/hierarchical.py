"""t-closeness where values are as far apart as the level at which a hierarchy joins them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import SLACK, Bools
from veil.tables.criteria.equal import variation
from veil.tables.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Hierarchical:
    r"""Two values are at distance level of their lowest common ancestor / height H.

    The earth mover's distance is then :math:`\frac1H \sum_{h<H} D_h`, with :math:`D_h` the total
    variation distance of the labels at level h. (At each node of level h the paper pays h/H for
    what moves between its children, which is what is too much in some of them less what is too
    much in the node; summed over all nodes these differences telescope.) `levels` has, per level
    below the top, the label of each category. A missing value is joined with others at the top.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.3. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    levels: tuple[Ids, ...]
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are close to the whole."""
        found = moved(classes.spreads[self.column], self.shares, self.levels)
        return found <= self.t + SLACK


def levels_of(column: Column, hierarchy: Hierarchy) -> tuple[Ids, ...]:
    """Return per level below the top the label of each category."""
    leaves = hierarchy.at(column)
    return tuple(codes[leaves] for codes in hierarchy.codes[:-1])


def moved(spread: Spread, shares: Floats, levels: Sequence[Ids]) -> Floats:
    """Return how far each class (classes,) must move to spread as the whole."""
    if not levels:
        return np.zeros(spread.classes)
    total = np.zeros(spread.classes)
    for labels in levels:
        count = int(labels.max(initial=-1)) + 1
        whole = np.append(np.bincount(labels, shares[:-1], minlength=count), shares[-1])
        total += variation(spread.relabelled(labels, count), whole)
    return total / len(levels)
