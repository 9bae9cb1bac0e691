"""Entropy l-diversity: the values of a class are as uncertain as l equally likely ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.tables.criteria.classes import Classes, Spread
from veil.tables.criteria.criterion import SLACK, Bools


@dataclass(frozen=True)
class Entropy:
    r""":math:`e^{H} \ge l`, with H the entropy of the values that are not missing.

    References
    ----------
    Machanavajjhala et al. l-diversity: privacy beyond k-anonymity. TKDD 1(1), 2007, Definition
    4.1. doi:10.1145/1217299.1217302
    """

    l: float  # noqa: E741 - the letter of the literature
    column: int
    lasting: ClassVar[bool] = False

    def passes(self, classes: Classes) -> Bools:
        """Tell which classes are uncertain enough."""
        return effective(classes.spreads[self.column]) >= self.l - SLACK


def effective(spread: Spread) -> Floats:
    """Return the exponential of each class's entropy (classes,); 0 where no value is known."""
    known = spread.known
    shares = known.shares
    entropy = -known.sums(shares * np.log(shares))
    return np.where(known.sizes > 0, np.exp(entropy), 0.0)
