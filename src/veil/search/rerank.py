"""Order what came back by the true query, on the user's side."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from veil.core.protocols import Encoder, Engine
from veil.core.types import Ids, Ranking, Singles
from veil.corpus.collection import Collection
from veil.corpus.documents import passage
from veil.data.fetch import Report, silent
from veil.encoders.find import encoder
from veil.encoders.vectors import DocumentVectors, document_vectors, open_document_vectors

DEEPEST = 2_000  # passages encoded for one query: a few seconds
_LONGEST = 4_000  # letters of a passage that are looked at; models read fewer
_REMEMBERED = 20_000  # vectors of passages, in memory only: they tell what was searched for


class Reranker:
    """Scores passages by the cosine of their vector with that of the true query.

    `known` are vectors of a whole collection, which say nothing about a query. Those of other
    passages are kept in memory for a while, and never written down.
    """

    def __init__(self, encoder: Encoder, known: DocumentVectors | None = None) -> None:
        self.encoder = encoder
        self._known = known
        self._recent: OrderedDict[bytes, Singles] = OrderedDict()
        self._lock = threading.Lock()

    def order(self, query: str, fused: Ranking) -> Ranking:
        """Re-rank one fused list by the true query.

        An item of which no text is known keeps the place that fusion gave it. Where the vectors
        must be computed now, those after the first `DEEPEST` stay behind, in their order.
        """
        places = fused.index[0][fused.index[0] >= 0]
        pool = len(places) if self._known is not None else min(len(places), DEEPEST)
        passages = [_passage(fused, place) for place in places[:pool]]
        worded = np.flatnonzero([bool(each) for each in passages])
        if not len(worded):
            return fused
        vectors = self._vectors([passages[i] for i in worded])
        scores = (vectors @ self.encoder.encode([query], "query")[0]).astype(np.float64)
        best = np.argsort(-scores, kind="stable")
        order = places.copy()
        order[worded] = places[worded[best]]
        if len(worded) == len(places):
            values = scores[best]
        else:  # scores of two kinds cannot be compared: what counts is the order
            values = 1 / np.arange(1.0, len(places) + 1)
        return replace(fused, index=order[None], scores=values[None])

    def _vectors(self, passages: Sequence[str]) -> Singles:
        """Return the vectors of passages: known, remembered, or computed now."""
        out = np.empty((len(passages), self.encoder.dim), dtype=np.float32)
        found = (
            self._known.lookup(passages) if self._known is not None else _nowhere(len(passages))
        )
        if self._known is not None:
            out[found >= 0] = self._known.vectors[found[found >= 0]]
        rest = np.flatnonzero(found < 0).tolist()
        keys = {i: _digest(passages[i]) for i in rest}
        with self._lock:
            hits = {i: self._recent[keys[i]] for i in rest if keys[i] in self._recent}
        for i, vector in hits.items():
            out[i] = vector
        missing = [i for i in rest if i not in hits]
        if missing:
            out[missing] = self.encoder.encode([passages[i][:_LONGEST] for i in missing])
            with self._lock:
                for i in missing:
                    self._recent[keys[i]] = out[i].copy()
                while len(self._recent) > _REMEMBERED:
                    self._recent.popitem(last=False)
        return out


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _nowhere(count: int) -> Ids:
    return np.full(count, -1, dtype=np.int64)


def _passage(ranking: Ranking, place: int) -> str:
    title = ranking.titles[place] if ranking.titles else ""
    text = ranking.texts[place] if ranking.texts else ""
    return passage(title, text)


_LARGE = 20_000  # documents: more are not encoded before a search, but as they come back
_shared: dict[str, Reranker] = {}


def reranker(model: Encoder | str, engine: Engine, report: Report = silent) -> Reranker:
    """Return a re-ranker for what an engine brings; the same one every time.

    The vectors of a local collection are computed once and kept with it, unless it is large.
    """
    chosen = encoder(model, report) if isinstance(model, str) else model
    collection = getattr(engine, "collection", None)
    if not isinstance(collection, Collection):
        return _of(chosen, _shared, lambda: Reranker(chosen))
    rerankers = collection.remember("rerankers", dict[str, Reranker])
    return _of(chosen, rerankers, lambda: Reranker(chosen, _known(collection, chosen, report)))


def _of(chosen: Encoder, made: dict[str, Reranker], make: Callable[[], Reranker]) -> Reranker:
    found = made.get(chosen.key)
    if found is None or found.encoder is not chosen:
        found = made[chosen.key] = make()
    return found


def _known(collection: Collection, chosen: Encoder, report: Report) -> DocumentVectors | None:
    passages, folder = collection.documents.passages, collection.vectors_folder
    if len(passages) > _LARGE:
        return open_document_vectors(passages, chosen, folder)
    return document_vectors(passages, chosen, folder, report)
