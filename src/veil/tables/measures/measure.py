"""What every measure of utility declares."""

from abc import abstractmethod

from veil.core.component import Component
from veil.tables.measures.pair import Pair


class Utility(Component):
    """What a release is still worth, from 0 to 1; 1 is the original itself."""

    @abstractmethod
    def score(self, pair: Pair) -> float:
        """Compare a release with its original."""
