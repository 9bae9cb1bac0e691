"""t-closeness where any two values are at the same distance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import SLACK, Bools


@dataclass(frozen=True, eq=False)
class Equal:
    r""":math:`\frac12 \sum_v |p_v - q_v| \le t`: shares p of a class, q of the original table.

    A missing value is a value like any other.

    References
    ----------
    Li, Li, Venkatasubramanian. t-closeness: privacy beyond k-anonymity and l-diversity. ICDE 2007,
    section 4.3. doi:10.1109/ICDE.2007.367856
    """

    t: float
    column: int
    shares: Floats
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are close to the whole."""
        return variation(classes.spreads[self.column], self.shares) <= self.t + SLACK


def variation(spread: Spread, shares: Floats) -> Floats:
    """Return the total variation distance of each class (classes,) from the whole."""
    surplus = np.maximum(spread.shares - shares[spread.value], 0.0)
    return spread.sums(surplus)  # p and q both add up to 1, so half of all is what is too much
