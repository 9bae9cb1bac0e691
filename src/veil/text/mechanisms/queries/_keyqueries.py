"""Run many short queries on a local index, and score them by where some documents come out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.corpus.lexical import Lexical, top

DEPTH = 100  # ranks that count
K1, B = 0.9, 0.4


class Runner:
    """An index with its BM25 weights; scores are sums over the terms, and ties go by position."""

    def __init__(self, lexical: Lexical) -> None:
        self.lexical = lexical
        self._weights = lexical.weights("bm25", K1, B)

    def postings(self, term: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        """Return the documents of a term, and what it adds to their scores."""
        start, end = self.lexical.indptr[term : term + 2]
        return self.lexical.docs[start:end], self._weights[start:end]

    def top(self, terms: Sequence[int], k: int) -> Ids:
        """Return the `k` best documents of a query, fewer if fewer hold one of its terms."""
        scores = np.zeros(self.lexical.size)
        for term in terms:
            documents, weights = self.postings(term)
            scores[documents] += weights
        return top(scores, k, above=0.0)

    def weigh(self, terms: Sequence[int], targets: Ids) -> Floats:
        """Return what each term adds to the scores of the targets, summed over these (n,)."""
        total = np.zeros(len(terms))
        wanted = np.sort(targets).astype(np.int32)
        for row, term in enumerate(terms):
            documents, weights = self.postings(term)
            at = np.minimum(np.searchsorted(documents, wanted), len(documents) - 1)
            total[row] = weights[at[documents[at] == wanted]].sum(dtype=np.float64)
        return total

    def ndcg(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the nDCG of the targets among the first 100 documents, for each query (n,)."""
        ranks = np.arange(1, max(DEPTH, len(targets)) + 1)
        gains = np.where(ranks <= DEPTH, 1 / np.log2(1 + ranks), 0.0)
        ideal = gains[: len(targets)].sum()
        scores = np.zeros(self.lexical.size)
        found = np.zeros(len(queries))
        for row, terms in enumerate(queries):
            better = self._better(terms, targets, scores)
            found[row] = gains[better[better < DEPTH]].sum() / ideal
        return found

    def _better(self, terms: Sequence[int], targets: Ids, scores: Floats) -> Ids:
        """Count the documents before each target that may count; `scores` stays zero."""
        held = [self.postings(term) for term in terms]
        for documents, weights in held:
            scores[documents] += weights
        own = scores[targets]
        every = np.concatenate([documents for documents, _ in held])
        values = np.empty(len(every))
        end = 0
        for documents, _ in held:
            start, end = end, end + len(documents)
            values[start:end] = scores[documents]
            scores[documents] = 0  # so that no document is counted twice
        least = np.partition(values, -DEPTH)[-DEPTH] if len(values) > DEPTH else 0.0
        counts = (own > 0) & (own >= least)
        places, own = targets[counts, None], own[counts, None]
        near = values >= own.min(initial=np.inf)
        values, every = values[near], every[near]
        before = (values > own) | ((values == own) & (every < places))
        better: Ids = before.sum(axis=1)
        return better

    def pmi(self, queries: Sequence[Sequence[int]], targets: Ids) -> Floats:
        """Return the log of how much more often all terms occur in the targets than anywhere."""
        wanted = np.sort(targets)
        found = np.full(len(queries), -np.inf)
        for row, terms in enumerate(queries):
            both = self.postings(terms[0])[0]
            for term in terms[1:]:
                both = np.intersect1d(both, self.postings(term)[0], assume_unique=True)
            hits = int(np.isin(both, wanted).sum())
            if hits:
                share = hits * self.lexical.size / (len(both) * len(targets))
                found[row] = np.log(share)
        return found
