"""Rank everything, then take out what may not be shown."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.corpus.lexical import top
from veil.sensitive.matching import matcher
from veil.sensitive.strategy import Answer, Scene, Searcher, Strategy, ranked

_SHORT = " A list that ends before its total tells that more of the first ones is withheld."


class Postfilter(Strategy):
    """Rank all documents by BM25 to `depth`, drop those with p >= threshold, and cut at k.

    With ``refill=false`` the list is cut first and its gaps stay: a list that is too short tells
    that something was withheld. With refill it does, too, where fewer than k of the first `depth`
    are left though the total says more. The order of what is shown depends on statistics of the
    withheld documents; scores are not shown, since they can be inverted to those statistics.
    """

    name: ClassVar[str] = "postfilter"

    threshold: Annotated[
        float,
        Field(ge=0, le=1, description="probability from which a document is withheld",
              examples=[0.1]),
    ]  # fmt: skip
    depth: Annotated[
        int, Field(ge=1, le=100_000, description="how far down the ranking is looked")
    ] = 100
    refill: Annotated[bool, Field(description="move later documents up into the gaps")] = True

    @property
    def guarantee(self) -> Guarantee:
        """Nothing."""
        return Guarantee(
            "none",
            unit="document",
            caveat="Documents that the classifier missed are shown, and the order of the others"
            " depends on statistics of what is withheld."
            + (_SHORT if self.refill else " Gaps tell that something is withheld."),
        )

    def open(self, scene: Scene) -> Searcher:
        """Use the index of the whole collection."""
        return _Filtered(scene, self)


class _Filtered(Searcher):
    def __init__(self, scene: Scene, spec: Postfilter) -> None:
        self._matcher, self._spec = matcher(scene.collection), spec
        self._kept = scene.open & (scene.p < spec.threshold)

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        deep = max(k, self._spec.depth) if self._spec.refill else k
        found = top(scores, deep, above=0.0)
        shown = found[self._kept[found]][:k]
        return ranked(np.asarray(shown), int((scores[self._kept] > 0).sum()))
