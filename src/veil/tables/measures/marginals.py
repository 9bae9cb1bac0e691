"""Utility by marginals: how well pairs of columns keep their shares."""

from itertools import combinations
from typing import ClassVar

import numpy as np

from veil.tables.measures.distance import distance
from veil.tables.measures.measure import Utility
from veil.tables.measures.pair import Pair


class Marginals(Utility):
    """1 minus the mean total variation distance over all pairs of released columns.

    Numbers of more than ten values are cut at the original's deciles. A generalised label spreads
    its record evenly over the values of the original column below it, a star or a suppressed row
    over all; a value that the original lacks is one extra bin. Of samples and synthetic data: the
    shares of what is released. One column alone: its own distance.
    """

    name: ClassVar[str] = "marginals"

    def score(self, pair: Pair) -> float:
        """Compare every pair of columns."""
        names = pair.columns
        together = list(combinations(names, min(2, len(names))))
        return max(0.0, 1 - float(np.mean([distance(pair, one) for one in together])))
