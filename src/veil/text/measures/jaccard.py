"""Jaccard: the words that two texts share."""

from typing import ClassVar

import numpy as np

from veil.core.types import Floats
from veil.text.measures.measure import Comparison, PairMeasure


class Jaccard(PairMeasure):
    r"""The share of common words.

    .. math:: J = \frac{|A \cap B|}{|A \cup B|}

    of the sets of words in lower case, cut at white space; two texts without any are equal.
    """

    name: ClassVar[str] = "jaccard"
    says: ClassVar[str] = "Words that a text and a variant share, among all words of the two."

    def scores(self, given: Comparison) -> Floats:
        """Compare the sets of each pair."""
        return np.array([_share(set(one), set(other)) for one, other in given.tokens])


def _share(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one or other else 1.0
