"""Distinct l-diversity: a class has at least l different confidential values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Ids
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import Bools


@dataclass(frozen=True)
class Distinct:
    """At least `l` different values of a confidential column; a missing one is none.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, section 4.
    doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    lasting: ClassVar[bool] = True

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes have enough values."""
        return different(classes.spreads[self.column]) >= self.l


def different(spread: Spread) -> Ids:
    """Count the different values of each class (classes,)."""
    known = spread.known
    return np.bincount(known.owner, minlength=known.classes)
