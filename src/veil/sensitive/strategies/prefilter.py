"""Index only what may be shown."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.guarantee import Guarantee
from veil.core.types import Floats, Ids
from veil.corpus.lexical import top
from veil.sensitive.matching import Matcher, matcher, part_of
from veil.sensitive.strategy import Answer, Scene, Searcher, Strategy


class Prefilter(Strategy):
    """Leave documents with p >= threshold out of the index, and rank the rest by BM25.

    Non-interference: ids, order, scores and totals are those of a collection without the withheld
    documents, byte by byte; nothing that is shown depends on their text. That holds for documents
    that the filter caught. Which ones it catches is a classifier's choice, which was fitted to
    labelled documents, withheld ones among them: a weak channel that is not bounded.
    """

    name: ClassVar[str] = "prefilter"
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
            " weak channel that is not bounded.",
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
