"""Mechanisms that do not learn: a plain ranking, a filter before it, and a filter after it."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

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
    """Rank by BM25 and withhold only documents that a human labelled sensitive: the baseline.

    Documents with p = 1, or without a probability, are withheld as by every mechanism. Nothing is
    proved, and unlabelled documents are not protected.
    """

    name: ClassVar[str] = "relevance"
    presets: ClassVar[Presets | None] = Presets(
        "relevance()", "withhold only what a human labelled sensitive"
    )

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat=f"Sensitive documents without a label are shown like any other. {WITHHELD}",
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        return _Unfiltered(scene)


class _Unfiltered(Searcher):
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
    documents, byte by byte; nothing shown depends on their text. This holds for documents that the
    filter caught. A classifier chooses these, and it was trained on labelled documents, including
    withheld ones: a weak channel without a bound.
    """

    name: ClassVar[str] = "prefilter"
    presets: ClassVar[Presets | None] = Presets(
        "prefilter(threshold={})",
        "search as if likely sensitive documents did not exist",
        "Withheld from p = ",
    )
    scored: ClassVar[bool] = True

    threshold: Annotated[
        float,
        Field(ge=0, le=1, description="lowest probability of withheld documents",
              examples=[0.5]),
    ]  # fmt: skip

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat="Answers do not depend on withheld documents; this holds for documents that"
            " the filter caught. A classifier trained on withheld documents chose them: a weak"
            f" channel without a bound. {WITHHELD}",
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        return _Rest(scene, scene.open & (scene.p < self.threshold))


class _Rest(Searcher):
    def __init__(self, scene: Scene, visible: np.ndarray) -> None:
        self._places: Ids = np.flatnonzero(visible)
        self._matcher = None
        if len(self._places):
            whole = matcher(scene.collection).index
            self._matcher = Matcher(whole if visible.all() else part_of(whole, visible))

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        if self._matcher is None:
            return Answer(np.empty(0, dtype=np.int64), np.empty(0), 0)
        scores = self._matcher.scores(query)
        best_rows = top(scores, k, above=0.0)
        shown: Floats = scores[best_rows].astype(np.float64)
        return Answer(self._places[best_rows], shown, int((scores > 0).sum()))


_SHORT = " A list that ends before its total reveals that more of the first ones are withheld."


class Postfilter(Mechanism):
    """Rank all documents by BM25 to `depth`, drop those with p >= threshold, and cut at k.

    With ``refill=false`` the list is cut first and its gaps remain: a list that is too short
    reveals that something was withheld. With refill this also happens, if fewer than k of the
    first `depth` remain although the total is larger. The order of shown documents depends on
    statistics of withheld ones; scores are not shown, since they can be inverted to those
    statistics.
    """

    name: ClassVar[str] = "postfilter"
    presets: ClassVar[Presets | None] = Presets(
        "postfilter(threshold={})",
        "search everything, then remove what is likely sensitive",
        "Withheld from p = ",
    )

    threshold: Annotated[
        float,
        Field(ge=0, le=1, description="lowest probability of withheld documents",
              examples=[0.1]),
    ]  # fmt: skip
    depth: Annotated[
        int, Field(ge=1, le=100_000, description="depth of the ranking to search")
    ] = 100
    refill: Annotated[bool, Field(description="move later documents up into the gaps")] = True

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "none",
            unit="document",
            caveat="Documents that the classifier missed are shown, and the order of the others"
            " depends on statistics of the withheld ones."
            + (_SHORT if self.refill else " Gaps reveal that something is withheld.")
            + f" {WITHHELD}",
        )

    @override
    def open(self, scene: Scene) -> Searcher:
        return _Filtered(scene, self)


class _Filtered(Searcher):
    def __init__(self, scene: Scene, spec: Postfilter) -> None:
        self._matcher, self._spec = matcher(scene.collection), spec
        self._visible = scene.open & (scene.p < spec.threshold)

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        deep = max(k, self._spec.depth) if self._spec.refill else k
        ranked = top(scores, deep, above=0.0)
        shown = ranked[self._visible[ranked]][:k]
        return rank_answer(np.asarray(shown), int((scores[self._visible] > 0).sum()))
