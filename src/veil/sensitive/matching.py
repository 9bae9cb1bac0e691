"""BM25 over an index of the project, by position."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Ids, Singles
from veil.corpus.collection import Collection
from veil.corpus.lexical import Lexical, top
from veil.sensitive.measures.judged import Flags

# The engine's own setting, for every strategy: they differ in what they show, not in how they
# match. On SARA k1 0.9 and b 0.4 find less (nDCG@10 .227 instead of .251).
K1, B = 1.2, 0.75


class Matcher:
    """Scores all documents for a query, as the bm25 engine does."""

    def __init__(self, index: Lexical) -> None:
        self.index = index

    @cached_property
    def _weights(self) -> Singles:
        return self.index.weights("bm25", K1, B)

    def scores(self, query: str) -> Singles:
        """Return the score of each document (n,); 0 where no term is shared."""
        scores = np.zeros(self.index.size, dtype=np.float32)
        for term in self.index.ids(query):
            own = slice(self.index.indptr[term], self.index.indptr[term + 1])
            scores[self.index.docs[own]] += self._weights[own]  # a document once per term
        return scores


def matcher(collection: Collection) -> Matcher:
    """Return the matcher of a collection, made once while it is open."""
    return collection.remember("sensitive-matcher", lambda: Matcher(collection.lexical()))


def best(scores: NDArray[np.floating], k: int, among: Flags) -> Ids:
    """Return the `k` best documents that match and are `among`; ties by document order."""
    return top(np.where(among, scores, 0), k, above=0.0)


def part_of(index: Lexical, kept: Flags) -> Lexical:
    """Return the index of some documents, as if the others had never been there.

    Document frequencies, lengths and the number of documents are those of the rest. A term that
    is left in no document keeps its number and weighs nothing.
    """
    places = np.cumsum(kept) - 1
    there = kept[index.docs]
    terms = np.repeat(np.arange(len(index.indptr) - 1), index.frequencies)[there]
    return Lexical(
        index.spelt,
        np.searchsorted(terms, np.arange(len(index.indptr))).astype(np.int64),
        places[index.docs[there]].astype(np.int32),
        index.counts[there],
        index.lengths[kept],
    )
