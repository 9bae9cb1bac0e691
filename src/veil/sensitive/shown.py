"""What a searcher who is not cleared gets to see: the release."""

from dataclasses import dataclass, field

from veil.core.guarantee import Guarantee
from veil.core.types import Ranking

NOTHING = Guarantee(
    "none", unit="document", caveat="Documents that the classifier missed are shown."
)


@dataclass(frozen=True, slots=True)
class Shown(Ranking):
    """One list per query; documents that are withheld occur nowhere in it.

    `scores` are those of the engine where the strategy may show them (prefilter), else 1/rank:
    a score made with statistics of withheld documents tells of them.

    Attributes
    ----------
    mechanism, cost, seeded
        Spec of the strategy, what is proved of it, and that nothing was drawn.
    notes
        Sentences that who reads figures of these lists must know, as how models were fitted.
    """

    mechanism: str = ""
    cost: Guarantee = field(default=NOTHING)
    seeded: bool = False
    notes: tuple[str, ...] = ()

    def run(self, queries: tuple[str, ...] | list[str]) -> dict[str, list[str]]:
        """Return the lists by the names of their queries, as `evaluate` takes them."""
        return {query: list(self.list(row)) for row, query in enumerate(queries)}
