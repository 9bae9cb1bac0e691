"""The documents that a learning strategy chooses among, and what it knows of each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.corpus.collection import Collection
from veil.corpus.lexical import top
from veil.encoders.find import encoder as encoder_of
from veil.encoders.vectors import document_vectors
from veil.sensitive.matching import Matcher, matcher

NAMES = ("BM25", "BM25/best", "1/rank", "cosine")
DEPTH = 100


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best documents of one query by BM25, and their features of relevance.

    Attributes
    ----------
    positions
        (m,) in the order of BM25.
    features
        (m, 4) as `NAMES` has them.
    matching
        How many documents share a term with the query.
    """

    positions: Ids
    features: Floats
    scores: Floats  # (n,) of all documents


class Retriever:
    """Finds candidates; the cosine is that of an encoder, or 0 without one."""

    def __init__(self, collection: Collection, encoder: str, depth: int = DEPTH) -> None:
        self._matcher: Matcher = matcher(collection)
        self._depth = depth
        self._encoder = encoder_of(encoder) if encoder else None
        self._vectors = None
        if self._encoder is not None:
            folder = collection.vectors_folder if collection.home else None
            self._vectors = document_vectors(
                collection.documents.passages, self._encoder, folder
            ).vectors

    def find(self, query: str) -> Candidates:
        """Return the candidates of one query."""
        scores = self._matcher.scores(query).astype(np.float64)
        found = top(scores, self._depth, above=0.0)
        own = scores[found]
        highest = own[0] if len(own) else 1.0
        features = [own, own / highest, 1 / np.arange(1, len(own) + 1), self._cosine(query, found)]
        return Candidates(found, np.stack(features, axis=1), scores)

    def _cosine(self, query: str, found: Ids) -> Floats:
        if self._encoder is None or self._vectors is None or not len(found):
            return np.zeros(len(found))
        vector = self._encoder.encode([query], "query")[0]
        return np.asarray(self._vectors[found] @ vector, dtype=np.float64)


def retrieved(retriever: Retriever, queries: Sequence[str]) -> list[Candidates]:
    """Return the candidates of many queries."""
    return [retriever.find(query) for query in queries]
