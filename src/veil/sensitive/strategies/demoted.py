"""Rank lower what is likely sensitive."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.component import PRIVATE
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.sensitive.candidates import Retriever
from veil.sensitive.crossfit import SAYS, Examples, Scorer, TwoWay, logits
from veil.sensitive.lambdamart import lambdamart
from veil.sensitive.learnt import MODEL, Learnt
from veil.sensitive.matching import best, matcher
from veil.sensitive.strategy import Answer, Scene, Searcher, Strategy, ranked

MONOTONE = (1, 1, 1, 1, -1)  # more relevant is better, more sensitive is worse


class Demoted(Strategy):
    """Rank by BM25 times (1 - p)^beta, or by trees that take sensitive as not relevant.

    Nothing is withheld but what a human has labelled: a sensitive document moves down, and is
    shown where too few others match.
    """

    name: ClassVar[str] = "demoted"

    beta: Annotated[
        float,
        Field(ge=0, le=100, description="how much probability weighs", json_schema_extra=PRIVATE),
    ] = 1.0
    trained: Annotated[
        bool, Field(description="LambdaMART instead, with grade 0 for sensitive documents")
    ] = False
    encoder: Annotated[str, Field(description="model of the cosine, if trained; or none")] = (
        "wordllama"
    )

    @property
    def learns(self) -> bool:
        """Where it is trained."""
        return self.trained

    @property
    def guarantee(self) -> Guarantee:
        """Nothing."""
        return Guarantee(
            "none",
            unit="document",
            caveat="Sensitive documents are moved down, not withheld." + MODEL,
        )

    def open(self, scene: Scene) -> Searcher:
        """Use the index of the whole collection."""
        if not self.trained:
            return _Weighed(scene, self.beta)
        retriever = Retriever(scene.collection, self.encoder)
        models = TwoWay(scene.collection, retriever, _fit, logits(scene.p))
        return Learnt(scene, retriever, models, (SAYS,))


def _fit(examples: Examples) -> Scorer:
    labels = np.where(examples.sensitive == 1, 0, np.minimum(examples.grades, 30))
    gains = [2.0**grade - 1 for grade in range(31)]
    return lambdamart(examples, labels, gains, MONOTONE)


class _Weighed(Searcher):
    def __init__(self, scene: Scene, beta: float) -> None:
        self._matcher, self._open = matcher(scene.collection), scene.open
        self._weight: Floats = np.where(scene.open, 1 - scene.p, 0) ** beta

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        shown = best(scores * self._weight, k, self._open)
        return ranked(shown, int((scores[self._open] > 0).sum()))
