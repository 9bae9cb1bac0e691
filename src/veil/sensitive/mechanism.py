"""The contract of strategies, and what a searcher gets to see."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from veil.core.component import Component
from veil.core.formatting import brief
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids, Ranking
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.measures import Flags

WITHHELD = (
    "No strategy shows a document with p = 1, as a human's label gives it, or without a"
    " probability."
)
NOTHING = Guarantee(
    "none", unit="document", caveat=f"Documents that the classifier missed are shown. {WITHHELD}"
)


@brief("mechanism", "items")
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


@dataclass(frozen=True, eq=False)
class Scene:
    """What a strategy works on: the collection, and how likely each document is sensitive.

    `p` (n,) is 1 where a human says so, 0 where a human says it is not, and nan where nothing is
    known. No strategy shows a document whose p is 1 or nan.
    """

    collection: SensitiveCollection
    p: Floats

    @property
    def open(self) -> Flags:
        """Which documents may be shown at all (n,)."""
        return self.p < 1  # nan is not


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """A list for one query, and all else that a searcher is told.

    Attributes
    ----------
    positions
        (m,) documents shown, best first.
    scores
        (m,) what is printed beside them, non-increasing.
    total
        The "n results" above them: documents that match and may be shown.
    """

    positions: Ids
    scores: Floats
    total: int


class Searcher(ABC):
    """A strategy opened on a collection: it answers queries for who is not cleared."""

    notes: tuple[str, ...] = ()

    @abstractmethod
    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        """Answer one query with at most `k` documents.

        `topic` names the topic of a query of the collection: models that were fitted with it are
        not used for it. A query of no topic gets models that left out none.
        """


class Presets(NamedTuple):
    """A strategy as a page offers it, with one number that the user moves.

    `spec` has ``{}`` in place of the number, or none; `does` says in a few words what it does.
    `label`, `most` and `start` are those of the slider, which begins at 0.
    """

    spec: str
    does: str
    label: str = ""
    most: float = 1.0
    start: float = 0.1


class Mechanism(Component):
    """Decides what is shown. Its fields are its parameters; `open` gives a `Searcher`.

    Attributes
    ----------
    scored
        Whether the scores that it shows are free of what is withheld.
    presets
        How pages offer it, or None. A request can then set its numbers and choices.
    """

    scored: ClassVar[bool] = False
    presets: ClassVar[Presets | None] = None

    @property
    def learns(self) -> bool:
        """Whether models are fitted to judgements and labels of the collection."""
        return False

    @property
    def guarantee(self) -> Guarantee:
        """What is proved: of no strategy differential privacy."""
        return NOTHING

    @abstractmethod
    def open(self, scene: Scene) -> Searcher:
        """Prepare to answer queries."""


def rank_answer(positions: Ids, total: int) -> Answer:
    """Return an answer that shows ranks and no scores."""
    return Answer(positions, 1 / np.arange(1, len(positions) + 1), total)
