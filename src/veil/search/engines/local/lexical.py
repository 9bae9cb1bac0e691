"""BM25 and TF-IDF over an inverted index."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids, Ranking, Released, Singles
from veil.corpus.collection import Collection
from veil.corpus.lexical import Lexical, top
from veil.data.fetch import Report, no_progress
from veil.search.engines.engine import LocalSpec, check_call, local_ranking

try:
    import bm25s
except ImportError:
    raise MissingExtraError(
        "The bm25 and tfidf engines need bm25s: pip install 'veil[search]'."
    ) from None


class LexicalEngine:
    """Rank documents by the summed weights of the query's terms, on this machine."""

    network = False

    def __init__(self, collection: Collection, index: Lexical, weights: Singles) -> None:
        self.collection = collection
        self._index = index
        self._scorer = bm25s.BM25(backend="numpy")
        self._scorer.scores = {
            "data": weights,
            "indices": index.docs,
            "indptr": index.indptr,
            "num_docs": index.size,
        }
        self._scorer.nonoccurrence_array = None

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Return the best documents of each query, only documents with one of its terms."""
        check_call(queries, k, network=False)
        lists: list[Ids] = []
        scores: list[Floats] = []
        for query in queries:
            terms = self._index.ids(query)
            if not terms:
                lists.append(np.empty(0, dtype=np.int64))
                scores.append(np.empty(0))
                continue
            totals = self._scorer.get_scores_from_ids(terms)
            best = top(totals, k, above=0.0)
            lists.append(best)
            scores.append(totals[best].astype(np.float64))
        return local_ranking(self.collection, lists, scores, k)


class BM25(LocalSpec):
    r"""Rank by BM25 as Lucene computes it, over English stems.

    .. math:: s(q, d) = \sum t \in q: \ln(1 + (n - df + 0.5)/(df + 0.5)) \,
              tf/(tf + k1 (1 - b + b L/\bar L))

    References
    ----------
    Robertson and Zaragoza. The Probabilistic Relevance Framework: BM25 and Beyond. FnTIR 2009.
    Lu. BM25S: Orders of magnitude faster lexical search via eager sparse scoring. 2024.
    """

    name: ClassVar[str] = "bm25"

    k1: Annotated[
        float, Field(ge=0, le=100, description="term frequency saturation; larger saturates later")
    ] = 1.2
    b: Annotated[float, Field(ge=0, le=1, description="strength of length normalisation")] = 0.75

    def open(
        self, collection: Collection | None = None, report: Report = no_progress
    ) -> LexicalEngine:
        """Build the inverted index, or open the index saved with the collection."""
        source = self.resolve_collection(collection)
        lexical = source.lexical(report)
        return LexicalEngine(source, lexical, lexical.weights("bm25", self.k1, self.b))


class TfIdf(LocalSpec):
    r"""Rank by the cosine of TF-IDF vectors, over English stems.

    .. math:: w(t, d) = (1 + \ln tf) \ln(1 + n/df)

    A query's terms weigh :math:`\ln(1 + n/df)` for each occurrence. Documents are scaled to unit
    length. The query is not, because that would not change the order.

    References
    ----------
    Salton and Buckley. Term-weighting approaches in automatic text retrieval. IP&M 1988.
    """

    name: ClassVar[str] = "tfidf"

    def open(
        self, collection: Collection | None = None, report: Report = no_progress
    ) -> LexicalEngine:
        """Build the inverted index, or open the index saved with the collection."""
        source = self.resolve_collection(collection)
        lexical = source.lexical(report)
        return LexicalEngine(source, lexical, lexical.weights("tfidf"))
