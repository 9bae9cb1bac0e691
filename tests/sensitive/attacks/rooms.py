"""A small collection with sensitive letters, a classifier that misses some, and leaky engines."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.rng import generator
from veil.core.types import Floats
from veil.corpus.collection import Document, Documents
from veil.corpus.lexical import top
from veil.sensitive.candidates import matcher
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.mechanism import Answer, Mechanism, Scene, Searcher

SENSITIVE, OTHERS, MISSED = 20, 80, 4


def letters(seed: int = 0) -> SensitiveCollection:
    """Return letters of common words, rarer ones, and one word each that nobody else has."""
    rng = generator(seed)
    common = [f"common{i}" for i in range(20)]
    rare = [f"rare{i}" for i in range(90)]
    documents, labels = [], np.zeros(SENSITIVE + OTHERS, dtype=np.int8)
    labels[rng.permutation(len(labels))[:SENSITIVE]] = 1
    for number in range(len(labels)):
        words = [*rng.choice(common, 8), *rng.choice(rare, 6), f"own{number}x", f"own{number}x"]
        documents.append(Document(f"d{number}", "", " ".join(words[: 9 + int(rng.integers(8))])))
    queries = {f"q{i}": f"common{i} rare{i}" for i in range(12)}
    qrels = {
        name: {f"d{int(i)}": int(rng.integers(3)) for i in rng.permutation(len(labels))[:30]}
        for name in queries
    }
    topics = {name: f"t{number // 2}" for number, name in enumerate(queries)}
    return SensitiveCollection(
        "letters", Documents.of(documents), queries, qrels, sensitive=labels, topics=topics
    )


def told(collection: SensitiveCollection) -> Floats:
    """Return probabilities of a classifier that misses some sensitive letters."""
    p = np.where(collection.sensitive == 1, 0.9, 0.05)
    p[np.flatnonzero(collection.sensitive == 1)[:MISSED]] = 0.05
    return p


class Leaky(Mechanism):
    """Ranks everything, withholds, and prints what it computed before that."""

    name: ClassVar[str] = "leaky"
    threshold: Annotated[float, Field(ge=0, le=1)] = 0.5
    total: bool = True
    scores: bool = True

    def open(self, scene: Scene) -> Searcher:
        """Use the whole index."""
        return _Open(scene, self)


class _Open(Searcher):
    def __init__(self, scene: Scene, spec: Leaky) -> None:
        self._matcher, self._spec = matcher(scene.collection), spec
        self._kept = scene.p < spec.threshold

    def answer(self, query: str, k: int, topic: str = "") -> Answer:
        del topic
        scores = self._matcher.scores(query)
        actual = top(scores, len(scores), above=0.0)
        retained = actual[self._kept[actual]]
        shown = scores[retained[:k]].astype(np.float64)
        ranks = 1 / np.arange(1, len(shown) + 1)
        return Answer(
            retained[:k],
            shown if self._spec.scores else ranks,
            len(actual) if self._spec.total else len(retained),
        )
