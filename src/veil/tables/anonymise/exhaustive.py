"""Judge every node of the lattice."""

from typing import ClassVar

from veil.tables.anonymise.judge import Judge
from veil.tables.anonymise.lattice import ALL, LatticeMethod
from veil.tables.anonymise.tags import Tags


class Exhaustive(LatticeMethod):
    """Generalise whole columns to the best of all levels, each of which is tried.

    References
    ----------
    Samarati. Protecting respondents' identities in microdata release. IEEE TKDE 13(6), 2001.
    doi:10.1109/69.971193 (the lattice of generalisations, and suppression)
    """

    name: ClassVar[str] = "exhaustive"

    def tagged(self, judge: Judge, tags: Tags) -> str:
        """Judge all."""
        for node, verdict in judge.every():
            tags.satisfying[node] = verdict.failing <= judge.limit
        return ALL
