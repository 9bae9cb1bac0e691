"""Order what came back by the true query, on the user's side."""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from veil.core.errors import ParameterError
from veil.core.protocols import Encoder, Engine
from veil.core.types import Ids, Ranking, Singles
from veil.corpus.collection import Collection
from veil.corpus.documents import passage
from veil.data.fetch import Report, silent
from veil.encoders.find import encoder
from veil.encoders.vectors import DocumentVectors, document_vectors, open_document_vectors
from veil.search.cascade import POOL, cheap_order

DEEPEST = 5_000  # new passages looked at for one query
_LONGEST = 4_000  # letters of a passage that are looked at; models read fewer
_REMEMBERED = 50_000  # vectors of passages, in memory only: they tell what was searched for


class Reranker:
    """Scores passages by the cosine of their vector with that of the true query.

    `known` are vectors of a whole collection, which say nothing about a query: what they hold is
    scored at once. Of the passages that are new, the best `pool` by a cheap order are scored (see
    `veil.search.cascade`), and the others follow in that order. Their vectors are kept in memory
    for a while, and never written down; they save time, and change no order.

    Parameters
    ----------
    pool
        New passages that are scored for one query.
    """

    def __init__(
        self, encoder: Encoder, known: DocumentVectors | None = None, pool: int = POOL
    ) -> None:
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1:
            raise ParameterError("The 'pool' argument must be a whole number of passages from 1.")
        self.encoder = encoder
        self.pool = pool
        self._known = known
        self._recent: OrderedDict[bytes, Singles] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one search encodes at a time, with all processors

    def order(self, query: str, fused: Ranking) -> Ranking:
        """Re-rank one fused list by the true query.

        An item of which no text is known keeps the place that fusion gave it. Where the vectors
        must be computed now, those after the first `DEEPEST` stay behind, in their order.
        """
        places = fused.index[0][fused.index[0] >= 0]
        looked = len(places) if self._known is not None else min(len(places), DEEPEST)
        passages = [_passage(fused, place) for place in places[:looked]]
        worded = np.flatnonzero([bool(each) for each in passages])
        if not len(worded):
            return fused
        texts = [passages[i][:_LONGEST] for i in worded]
        found = self._places([passages[i] for i in worded])
        inside, outside = _cut(query, texts, found, self.pool)
        vectors = self._vectors([texts[i] for i in inside], found[inside])
        scores = (vectors @ self.encoder.encode([query], "query")[0]).astype(np.float64)
        best = np.argsort(-scores, kind="stable")
        order = places.copy()
        order[worded] = places[worded[np.concatenate([inside[best], outside])]]
        if len(inside) == len(places):
            values = scores[best]
        else:  # scores of two kinds cannot be compared: what counts is the order
            values = 1 / np.arange(1.0, len(places) + 1)
        return replace(fused, index=order[None], scores=values[None])

    def _places(self, passages: Sequence[str]) -> Ids:
        """Return where the known vectors of passages are, -1 for those that are new."""
        if self._known is None:
            return np.full(len(passages), -1, dtype=np.int64)
        return self._known.lookup(passages)

    def _vectors(self, texts: Sequence[str], found: Ids) -> Singles:
        """Return the vectors of texts: known, remembered, or computed now."""
        out = np.empty((len(texts), self.encoder.dim), dtype=np.float32)
        if self._known is not None:
            out[found >= 0] = self._known.vectors[found[found >= 0]]
        keys = {i: _digest(texts[i]) for i in np.flatnonzero(found < 0).tolist()}
        missing = self._recall(keys, out)
        if missing:
            with self._turn:  # who waited may find that the one before encoded the same
                missing = self._recall(missing, out)
                if missing:
                    self._encode(missing, texts, out)
        return out

    def _recall(self, keys: Mapping[int, bytes], out: Singles) -> dict[int, bytes]:
        """Put the vectors that are remembered into their rows; return what is missing."""
        with self._lock:
            for i, key in keys.items():
                if key in self._recent:
                    out[i] = self._recent[key]
            return {i: key for i, key in keys.items() if key not in self._recent}

    def _encode(self, missing: Mapping[int, bytes], texts: Sequence[str], out: Singles) -> None:
        """Compute vectors, and remember them for a while."""
        rows = list(missing)
        out[rows] = self.encoder.encode([texts[i] for i in rows])
        with self._lock:
            for i, key in missing.items():
                self._recent[key] = out[i].copy()
            while len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)


def _cut(query: str, texts: Sequence[str], found: Ids, pool: int) -> tuple[Ids, Ids]:
    """Return the texts that the model scores, in their order, and the others, best first.

    Which are which does not depend on what was searched for before.
    """
    new = np.flatnonzero(found < 0)
    if len(new) <= pool:
        return np.arange(len(texts)), new[:0]
    cheap = new[cheap_order(query, [texts[i] for i in new.tolist()])]
    return np.setdiff1d(np.arange(len(texts)), cheap[pool:]), cheap[pool:]


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


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
