"""Search by the words of a query in an inverted index."""

from collections.abc import Sequence

import numpy as np

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids, Ranking, Released, Singles
from veil.corpus.collection import Collection
from veil.corpus.lexical import Lexical, top
from veil.search.engines.engine import check_call
from veil.search.engines.local._local import local_ranking

try:
    import bm25s
except ImportError:
    raise MissingExtraError(
        "The bm25 and tfidf engines need bm25s: pip install 'veil[search]'."
    ) from None


class LexicalEngine:
    """Adds up the weights of a query's terms, document by document; stays on this machine."""

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
        """Answer all queries; documents that share no term with one are not listed for it."""
        check_call(queries, k, network=False)
        lists: list[Ids] = []
        scores: list[Floats] = []
        for query in queries:
            terms = self._index.ids(query)
            if not terms:
                lists.append(np.empty(0, dtype=np.int64))
                scores.append(np.empty(0))
                continue
            every = self._scorer.get_scores_from_ids(terms)
            best = top(every, k, above=0.0)
            lists.append(best)
            scores.append(every[best].astype(np.float64))
        return local_ranking(self.collection, lists, scores, k)
