"""Vector search over a local collection."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Encoder, Floats, Ids, Ranking, Released, Singles
from veil.corpus.collection import Collection
from veil.corpus.lexical import top
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import document_vectors
from veil.search.engines.engine import LocalSpec, check_call, local_ranking

_BLOCK = 64 * 2**20  # bytes of scores at a time


class DenseEngine:
    """Rank every document by its exact inner product with the query, on this machine."""

    network = False

    def __init__(self, collection: Collection, vectors: Singles, encoder: Encoder) -> None:
        self.collection = collection
        self._vectors = vectors
        self._encoder = encoder

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        """Return the nearest documents of each query."""
        check_call(queries, k, network=False)
        lists: list[Ids] = []
        scores: list[Floats] = []
        step = max(1, _BLOCK // (4 * len(self._vectors)))
        for start in range(0, len(queries), step):
            vectors = self._encoder.encode(queries[start : start + step], "query")
            for products in vectors @ self._vectors.T:
                best = top(products, k)
                lists.append(best)
                scores.append(products[best].astype(np.float64))
        return local_ranking(self.collection, lists, scores, k)


class Dense(LocalSpec):
    """Rank by the cosine of the vectors of query and document.

    References
    ----------
    Reimers and Gurevych. Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks. EMNLP
    2019.
    """

    name: ClassVar[str] = "dense"

    encoder: Annotated[
        str, Field(description="encoder: minilm, wordllama, or a Hugging Face name")
    ] = "minilm"

    def open(
        self, collection: Collection | None = None, report: Report = no_progress
    ) -> DenseEngine:
        """Encode the documents, or open the vectors saved with the collection."""
        source = self.resolve_collection(collection)
        model = encoder(self.encoder, report)
        vectors = document_vectors(source.documents.passages, model, source.vectors_folder, report)
        return DenseEngine(source, vectors.vectors, model)
