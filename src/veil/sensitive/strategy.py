"""What every strategy declares, and what a searcher gets from one that is opened."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from veil.core.component import Component
from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.measures.judged import Flags
from veil.sensitive.shown import NOTHING


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


class Strategy(Component):
    """Decides what is shown. Its fields are its parameters; `open` gives a `Searcher`.

    Attributes
    ----------
    scored
        Whether the scores that it shows are free of what is withheld.
    """

    scored: ClassVar[bool] = False

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


def ranked(positions: Ids, total: int) -> Answer:
    """Return an answer that shows ranks and no scores."""
    return Answer(positions, 1 / np.arange(1, len(positions) + 1), total)
