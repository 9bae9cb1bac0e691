"""Show what is most relevant."""

from typing import ClassVar

from veil.core.guarantee import Guarantee
from veil.sensitive.matching import best, matcher
from veil.sensitive.strategy import Answer, Scene, Searcher, Strategy, ranked


class Relevance(Strategy):
    """Rank by BM25 and withhold only what a human has called sensitive: the baseline.

    Nothing is proved, and nothing is protected that nobody has labelled.
    """

    name: ClassVar[str] = "relevance"

    @property
    def guarantee(self) -> Guarantee:
        """Nothing: sensitive documents are shown."""
        return Guarantee(
            "none", unit="document", caveat="Sensitive documents are shown as any other."
        )

    def open(self, scene: Scene) -> Searcher:
        """Use the index of the whole collection."""
        return _Plain(scene)


class _Plain(Searcher):
    def __init__(self, scene: Scene) -> None:
        self._matcher, self._open = matcher(scene.collection), scene.open

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        total = int((scores[self._open] > 0).sum())
        return ranked(best(scores, k, self._open), total)
