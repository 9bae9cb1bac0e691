"""Whether a node of the lattice is good enough, and what it loses."""

from collections.abc import Iterator
from dataclasses import dataclass

from veil.tables.anonymise.costs import Cost
from veil.tables.anonymise.counter import Counter, Tallies
from veil.tables.anonymise.cube import Node
from veil.tables.criteria.criterion import Criterion, passing


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one node.

    Attributes
    ----------
    failing
        Rows of classes that fail, which are suppressed.
    loss
        What it loses, with those rows suppressed.
    bound
        What no node above it can lose less than.
    """

    failing: int
    loss: float
    bound: float


class Judge:
    """Judges each node once."""

    def __init__(
        self, counter: Counter, criteria: tuple[Criterion, ...], cost: Cost, limit: int
    ) -> None:
        self.counter, self.cost, self.limit = counter, cost, limit
        self._criteria = criteria
        self.verdicts: dict[Node, Verdict] = {}

    @property
    def lasting(self) -> bool:
        """Whether every node above a satisfying one satisfies, too."""
        return self.limit == 0 or all(criterion.lasting for criterion in self._criteria)

    def verdict(self, node: Node) -> Verdict:
        """Judge a node."""
        found = self.verdicts.get(node)
        return found if found is not None else self._judged(self.counter.at(node))

    def satisfies(self, node: Node) -> bool:
        """Tell whether no more rows fail than may be suppressed."""
        return self.verdict(node).failing <= self.limit

    def every(self) -> Iterator[tuple[Node, Verdict]]:
        """Judge all nodes."""
        for tallies in self.counter.walk():
            yield tallies[0].node, self._judged(tallies)

    def _judged(self, tallies: Tallies) -> Verdict:
        classes = self.counter.classes(tallies)
        failing = ~passing(self._criteria, classes)
        rows = int(classes.sizes[failing].sum())
        whole = self.cost.all(tallies, classes)
        more = self.cost.more(tallies, classes, failing) if rows else 0
        made = self.verdicts[tallies[0].node] = Verdict(rows, whole + more, whole)
        return made
