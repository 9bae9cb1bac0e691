"""t-closeness where values are in an order, and neighbours in it at one distance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.column import Column
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import SLACK, Bools
from veil.tables.hierarchy import Hierarchy


@dataclass(frozen=True, eq=False)
class Ordered:
    r""":math:`\frac1{m-1} \sum_{i<m} |P_i - Q_i| \le t`, with cumulated shares of m values.

    `place` says where in the order each category stands. No value may be missing.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.2. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    place: Ids
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are close to the whole."""
        found = moved(classes.spreads[self.column], self.shares, self.place)
        return found <= self.t + SLACK


def order_of(column: Column, hierarchy: Hierarchy | None) -> Ids | None:
    """Return the place of each category: by size, or as a hierarchy lists them; else None."""
    if column.numeric:
        return np.arange(column.different)
    if hierarchy is None:
        return None
    return np.argsort(np.argsort(hierarchy.at(column)))


def moved(spread: Spread, shares: Floats, place: Ids) -> Floats:
    """Return how far each class (classes,) must move to spread as the whole.

    Between two values that a class has, its cumulated share P stays while that of the whole, Q,
    grows: |P - Q| is added up by sums of Q, so that the work grows with what is in the classes
    and not with the number of values.
    """
    last = spread.values - 1
    if last < 1:
        return np.zeros(spread.classes)
    order = np.lexsort((place[spread.value], spread.owner))
    at, owner = place[spread.value][order], spread.owner[order]
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    running = np.cumsum(spread.shares[order])
    before = np.zeros(len(begins))
    before[1:] = running[begins[1:] - 1]
    mine = running - np.repeat(before, np.diff(np.append(begins, len(owner))))
    until = np.append(at[1:], last)
    until[np.append(begins[1:] - 1, len(owner) - 1)] = last

    whole = np.empty(spread.values)
    whole[place] = shares[: spread.values]
    whole = np.cumsum(whole)
    summed = np.append(0.0, np.cumsum(whole))
    cross = np.clip(np.searchsorted(whole, mine), at, until)
    apart = mine * (2 * cross - at - until) - 2 * summed[cross] + summed[at] + summed[until]
    total = np.bincount(owner, apart, minlength=spread.classes)
    total[owner[begins]] += summed[at[begins]]  # before the first value of a class P is 0
    return total / last
