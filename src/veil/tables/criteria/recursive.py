"""Recursive (c, l)-diversity: the most frequent value of a class is not too frequent."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import Bools


@dataclass(frozen=True)
class Recursive:
    r""":math:`r_1 < c (r_l + ... + r_m)`, with the counts of values in descending order.

    A class of fewer than l values has nothing on the right, and fails.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, Definition
    4.2. doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    c: float
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Tell in which classes the most frequent value is not too frequent."""
        peak, tail = peak_and_tail(classes.spreads[self.column], self.l)
        return peak < self.c * tail


def peak_and_tail(spread: Spread, l: float) -> tuple[Floats, Floats]:  # noqa: E741
    """Return of each class r1 (classes,) and the sum of r_l to the last (classes,)."""
    known = spread.known
    bits = int(known.count.max(initial=0)).bit_length()
    most = (1 << bits) - 1
    key = (known.owner << bits) | (most - known.count)  # the owners are in order already
    key.sort()
    count = most - (key & most)
    entries = np.bincount(known.owner, minlength=known.classes)
    place = np.arange(len(count)) - np.repeat(np.cumsum(entries) - entries, entries)
    return known.sums(count * (place == 0)), known.sums(count * (place >= l - 1))


def least_c(spread: Spread, l: float) -> float:  # noqa: E741
    """Return c0 such that (c, l)-diversity holds for every c > c0; infinite if for none."""
    peak, tail = peak_and_tail(spread, l)
    if not tail.all():
        return np.inf
    return float((peak / tail).max(initial=0.0))
