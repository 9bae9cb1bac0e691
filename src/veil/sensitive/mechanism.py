"""The contract of mechanisms, which determine what a searcher without clearance sees."""

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
    "No mechanism shows a document with p = 1, which is a human label, or without a probability."
)
NOTHING = Guarantee(
    "none", unit="document", caveat=f"Documents that the classifier missed are shown. {WITHHELD}"
)


@brief("mechanism", "items")
@dataclass(frozen=True, slots=True)
class Shown(Ranking):
    """One list per query, without withheld documents.

    `scores` are the engine's if the mechanism may show them (prefilter), else 1/rank: a score from
    statistics of withheld documents would reveal something about them.

    Attributes
    ----------
    mechanism, cost, seeded
        Spec of the mechanism, its guarantee, and False, since nothing is random.
    notes
        Limits that a reader of figures must know, such as how models were fitted.
    """

    mechanism: str = ""
    cost: Guarantee = field(default=NOTHING)
    seeded: bool = False
    notes: tuple[str, ...] = ()

    def run(self, queries: tuple[str, ...] | list[str]) -> dict[str, list[str]]:
        """Return the lists by query, in the form that `evaluate` takes."""
        return {query: list(self.list(row)) for row, query in enumerate(queries)}


@dataclass(frozen=True, eq=False)
class Scene:
    """Input of a mechanism: the collection, and the probability that each document is sensitive.

    `p` (n,) is 1 or 0 for a human label, and nan if unknown. No mechanism shows a document with 1
    or nan.
    """

    collection: SensitiveCollection
    p: Floats

    @property
    def open(self) -> Flags:
        """(n,) mask of the documents that may be shown at all."""
        return self.p < 1  # False for nan


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """The answer to one query, which is all that a searcher sees.

    Attributes
    ----------
    positions
        (m,) documents shown, best first.
    scores
        (m,) scores printed next to them, non-increasing.
    total
        Number of documents that match and may be shown, printed above the list.
    """

    positions: Ids
    scores: Floats
    total: int


class Searcher(ABC):
    """A mechanism opened on a collection: it answers searchers without clearance."""

    notes: tuple[str, ...] = ()

    @abstractmethod
    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        """Return an answer with at most `k` documents.

        `topic` is the topic of a query of the collection, whose models were trained without it.
        A query without a topic gets models of all topics.
        """


class Presets(NamedTuple):
    """A mechanism with one number that the user sets on a page.

    `spec` has ``{}`` in place of the number, if there is one; `does` is a short description.
    `label`, `most` and `start` describe the slider, which begins at 0.
    """

    spec: str
    does: str
    label: str = ""
    most: float = 1.0
    start: float = 0.1


class Mechanism(Component):
    """Determines what is shown; its fields are its parameters, and `open` returns a `Searcher`.

    Attributes
    ----------
    scored
        Whether shown scores do not depend on withheld documents.
    presets
        Its form on pages, or None. Requests can then set its numbers and choices.
    """

    scored: ClassVar[bool] = False
    presets: ClassVar[Presets | None] = None

    @property
    def learns(self) -> bool:
        """Whether models are trained on judgements and labels of the collection."""
        return False

    @property
    def guarantee(self) -> Guarantee:
        """Guarantee; no mechanism is differentially private."""
        return NOTHING

    @abstractmethod
    def open(self, scene: Scene) -> Searcher:
        """Return a searcher that answers queries."""


def rank_answer(positions: Ids, total: int) -> Answer:
    """Return an answer that shows ranks but no scores."""
    return Answer(positions, 1 / np.arange(1, len(positions) + 1), total)
