"""The candidate documents of a learning mechanism, by BM25."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids, Singles
from veil.corpus.collection import Collection
from veil.corpus.lexical import Lexical, top
from veil.encoders.catalogue import encoder as encoder_of
from veil.encoders.vectors import document_vectors
from veil.sensitive.measures import Flags

# The engine's setting for every mechanism: they differ in what they show, not in how they
# match. On SARA, k1 0.9 and b 0.4 find less (nDCG@10 .227 instead of .251).
K1, B = 1.2, 0.75


class Matcher:
    """Scores all documents for a query, like the bm25 engine."""

    def __init__(self, index: Lexical) -> None:
        self.index = index

    @cached_property
    def _weights(self) -> Singles:
        return self.index.weights("bm25", K1, B)

    def scores(self, query: str) -> Singles:
        """Return the score of each document (n,); 0 without a common term."""
        scores = np.zeros(self.index.size, dtype=np.float32)
        for term in self.index.ids(query):
            own = slice(self.index.indptr[term], self.index.indptr[term + 1])
            scores[self.index.docs[own]] += self._weights[
                own
            ]  # each document occurs once per term
        return scores


def matcher(collection: Collection) -> Matcher:
    """Return the cached matcher of a collection."""
    return collection.remember("sensitive-matcher", lambda: Matcher(collection.lexical()))


def best(scores: NDArray[np.floating], k: int, among: Flags) -> Ids:
    """Return the `k` best matching documents that are `among`; ties by document order."""
    return top(np.where(among, scores, 0), k, above=0.0)


def part_of(index: Lexical, kept: Flags) -> Lexical:
    """Return the index of a part of the documents, as if the others had never existed.

    Document frequencies, lengths and the number of documents are those of the part. A term
    without documents keeps its number and weighs nothing.
    """
    places = np.cumsum(kept) - 1
    present = kept[index.docs]
    terms = np.repeat(np.arange(len(index.indptr) - 1), index.frequencies)[present]
    return Lexical(
        index.spelt,
        np.searchsorted(terms, np.arange(len(index.indptr))).astype(np.int64),
        places[index.docs[present]].astype(np.int32),
        index.counts[present],
        index.lengths[kept],
    )


NAMES = ("BM25", "BM25/best", "1/rank", "cosine")
DEPTH = 100


@dataclass(frozen=True, eq=False)
class Candidates:
    """The best documents of one query by BM25, and their relevance features.

    Attributes
    ----------
    positions
        (m,) documents, in the order of BM25.
    features
        (m, 4) features, in the order of `NAMES`.
    scores
        (n,) BM25 of all documents.
    """

    positions: Ids
    features: Floats
    scores: Floats


class Retriever:
    """Finds candidates; the cosine comes from an encoder, or is 0 without one."""

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
        positions = top(scores, self._depth, above=0.0)
        own = scores[positions]
        highest = own[0] if len(own) else 1.0
        features = [
            own,
            own / highest,
            1 / np.arange(1, len(own) + 1),
            self._cosine(query, positions),
        ]
        return Candidates(positions, np.stack(features, axis=1), scores)

    def _cosine(self, query: str, positions: Ids) -> Floats:
        if self._encoder is None or self._vectors is None or not len(positions):
            return np.zeros(len(positions))
        vector = self._encoder.encode([query], "query")[0]
        return np.asarray(self._vectors[positions] @ vector, dtype=np.float64)


def retrieve_all(retriever: Retriever, queries: Sequence[str]) -> list[Candidates]:
    """Return the candidates of many queries."""
    return [retriever.find(query) for query in queries]
