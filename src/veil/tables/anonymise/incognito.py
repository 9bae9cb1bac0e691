"""Incognito: what fails in some columns fails in all, so that few columns are tried first."""

from itertools import combinations
from typing import ClassVar

import numpy as np

from veil.tables.anonymise.judge import Judge
from veil.tables.anonymise.lattice import LatticeMethod
from veil.tables.anonymise.tags import Tags, by_height


class Incognito(LatticeMethod):
    """Generalise whole columns to the best levels, found by sets of columns that grow.

    Levels of some columns that fail with all others at their tops fail whatever the others are;
    within a set of columns nodes are judged from the bottom, and all above one that satisfies do.

    References
    ----------
    LeFevre, DeWitt, Ramakrishnan. Incognito: efficient full-domain k-anonymity. SIGMOD 2005,
    Figure 8. doi:10.1145/1066157.1066164
    """

    name: ClassVar[str] = "incognito"

    def tagged(self, judge: Judge, tags: Tags) -> str:
        """Judge the sets of one column, of two, and so on."""
        shape = judge.counter.shape
        top = tuple(size - 1 for size in shape)
        for size in range(len(shape) + 1):
            for some in combinations(range(len(shape)), size):
                face = tuple(
                    slice(None) if column in some else slice(last, None)
                    for column, last in enumerate(top)
                )
                offset = [0 if column in some else last for column, last in enumerate(top)]
                for node in by_height(np.argwhere(~tags.known[face]) + offset):
                    if not tags.known[node]:
                        tags.mark(node, satisfies=judge.satisfies(node))
        return "sets of columns were judged from few to all, and other nodes tagged"
