"""Strategies that do not learn: everything, a filter before, a filter after."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.corpus.lexical import top
from veil.sensitive.candidates import Matcher, best, matcher, part_of
from veil.sensitive.mechanism import (
    WITHHELD,
    Answer,
    Mechanism,
    Presets,
    Scene,
    Searcher,
    rank_answer,
)


class Relevance(Mechanism):
    """Rank by BM25 and withhold only what a human has called sensitive: the baseline.

    Documents with p = 1, or without a probability, are withheld as by every strategy. Nothing is
    proved, and nothing is protected that nobody has labelled.
    """

    name: ClassVar[str] = "relevance"
    presets: ClassVar[Presets | None] = Presets(
        "relevance()", "withhold only what a human called sensitive"
    )

    @property
    def guarantee(self) -> Guarantee:
        """Nothing: sensitive documents are shown, unless a human has labelled them."""
        return Guarantee(
            "none",
            unit="document",
            caveat=f"Sensitive documents without a label are shown as any other. {WITHHELD}",
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
        return rank_answer(best(scores, k, self._open), total)


class Prefilter(Mechanism):
    """Leave documents with p >= threshold out of the index, and rank the rest by BM25.

    Non-interference: ids, order, scores and totals are those of a collection without the withheld
    documents, byte by byte; nothing that is shown depends on their text. That holds for documents
    that the filter caught. Which ones it catches is a classifier's choice, which was fitted to
    labelled documents, withheld ones among them: a weak channel that is not bounded.
    """

    name: ClassVar[str] = "prefilter"
    presets: ClassVar[Presets | None] = Presets(
        "prefilter(threshold={})",
        "search as if what is likely sensitive were not there",
        "Withheld from p = ",
    )
    scored: ClassVar[bool] = True

    threshold: Annotated[
        float,
        Field(ge=0, le=1, description="probability from which a document is withheld",
              examples=[0.5]),
    ]  # fmt: skip

    @property
    def guarantee(self) -> Guarantee:
        """Nothing in the sense of differential privacy; non-interference of what was caught."""
        return Guarantee(
            "none",
            unit="document",
            caveat="Answers do not depend on withheld documents; this holds for documents that"
            " the filter caught. A classifier that learnt from withheld documents chose them: a"
            f" weak channel that is not bounded. {WITHHELD}",
        )

    def open(self, scene: Scene) -> Searcher:
        """Index the rest."""
        return _Rest(scene, scene.open & (scene.p < self.threshold))


class _Rest(Searcher):
    def __init__(self, scene: Scene, kept: np.ndarray) -> None:
        self._places: Ids = np.flatnonzero(kept)
        self._matcher = None
        if len(self._places):
            whole = matcher(scene.collection).index
            self._matcher = Matcher(whole if kept.all() else part_of(whole, kept))

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        if self._matcher is None:
            return Answer(np.empty(0, dtype=np.int64), np.empty(0), 0)
        scores = self._matcher.scores(query)
        found = top(scores, k, above=0.0)
        shown: Floats = scores[found].astype(np.float64)
        return Answer(self._places[found], shown, int((scores > 0).sum()))


_SHORT = " A list that ends before its total tells that more of the first ones is withheld."


class Postfilter(Mechanism):
    """Rank all documents by BM25 to `depth`, drop those with p >= threshold, and cut at k.

    With ``refill=false`` the list is cut first and its gaps stay: a list that is too short tells
    that something was withheld. With refill it does, too, where fewer than k of the first `depth`
    are left though the total says more. The order of what is shown depends on statistics of the
    withheld documents; scores are not shown, since they can be inverted to those statistics.
    """

    name: ClassVar[str] = "postfilter"
    presets: ClassVar[Presets | None] = Presets(
        "postfilter(threshold={})",
        "search everything, then take out what is likely sensitive",
        "Withheld from p = ",
    )

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
            + (_SHORT if self.refill else " Gaps tell that something is withheld.")
            + f" {WITHHELD}",
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
        return rank_answer(np.asarray(shown), int((scores[self._kept] > 0).sum()))
