"""Answers in the order of learnt values."""

import numpy as np

from veil.core.types import Floats
from veil.sensitive.candidates import Retriever
from veil.sensitive.crossfit import TwoWay
from veil.sensitive.strategy import Answer, Scene, Searcher, ranked

MODEL = " Order and models depend on withheld documents."


class Learnt(Searcher):
    """Orders the candidates of a query by cross-fitted models; ties by document order."""

    def __init__(
        self, scene: Scene, retriever: Retriever, models: TwoWay, notes: tuple[str, ...]
    ) -> None:
        self._open, self._retriever, self._models = scene.open, retriever, models
        self.notes = notes

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        """Answer one query."""
        found = self._retriever.find(query)
        values: Floats = self._models.scores(found, topic)
        order = np.lexsort((found.positions, -values))
        places = found.positions[order]
        shown = places[self._open[places]][:k]
        return ranked(shown, int((found.scores[self._open] > 0).sum()))
