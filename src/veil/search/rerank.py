"""Order what came back by the true query, on the user's side.

Which passages are worth a model's time: letters and words of the true query tell, at no cost.
With cover, what comes back for one query is up to 2,000 passages, of which most answer another
one. BM25 with the true query over these passages alone finds out which: once over index terms, and
once over runs of four letters, which see that words are kin where stems do not. It needs no model,
no index and no file. Of passages and queries only the stems of their words are kept, in a cache in
memory that they share with all other texts. Beside the model's own scores it
finds more than either alone: see `veil.search.rerank`.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import ParameterError
from veil.core.types import Encoder, Engine, Floats, Ids, Ranking, Singles
from veil.corpus.collection import Collection, passage
from veil.corpus.lexical import analyse, head_of, term_of, tokens_of
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder
from veil.encoders.vectors import DocumentVectors, document_vectors, open_document_vectors

POOL = 100  # passages that the model scores for one query: see benchmarks/cascade.py
_READ = 2_000  # letters of a passage that are looked at
_RUN = 4  # bytes
_K1, _B = 1.2, 0.75
_SLOTS = 16  # bits, of the table in which runs of the query are found


def cheap_scores(query: str, passages: Sequence[str]) -> Floats:
    """Score passages by what they share with the query (n,), with mean 0 and deviation 1.

    It is the sum of the two scores, which are made even before.
    """
    texts = [" ".join(text[:_READ].lower().split()) for text in passages]
    asked = " ".join(query[:_READ].lower().split())
    return standardise(
        standardise(_bm25(*_terms(asked, texts))) + standardise(_bm25(*_runs(asked, texts)))
    )


def cheap_order(query: str, passages: Sequence[str]) -> Ids:
    """Put passages in order by these scores; equal ones stay as they are (n,)."""
    return np.argsort(-cheap_scores(query, passages), kind="stable").astype(np.int64)


def standardise(scores: Floats) -> Floats:
    """Give scores mean 0 and deviation 1; scores that are all equal become 0."""
    spread = float(scores.std()) if len(scores) else 0.0
    return np.zeros(len(scores)) if spread < 1e-12 else (scores - scores.mean()) / spread


def _bm25(counts: Floats, lengths: Floats) -> Floats:
    r"""Score passages by counts (n, t) and lengths (n,); rare is what is rare among them (n,).

    .. math:: s(d) = \sum_t \ln\left(1 + \frac{n - df_t + 0.5}{df_t + 0.5}\right)
              \frac{tf}{tf + k_1 (1 - b + b L_d / \bar L)}
    """
    if not counts.size:
        return np.zeros(len(lengths))
    df = (counts > 0).sum(axis=0)
    idf = np.log1p((len(counts) - df + 0.5) / (df + 0.5))
    long = _K1 * (1 - _B + _B * lengths / max(float(lengths.mean()), 1e-9))
    scores: Floats = (counts / (counts + long[:, None])) @ idf
    return scores


def _terms(query: str, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Count the terms of the query in each text (n, t), and all words (n,)."""
    terms = {term: number for number, term in enumerate(dict.fromkeys(analyse(query)))}
    heads = set(map(head_of, terms))  # most words need not be stemmed
    counts = np.zeros((len(texts), len(terms)))
    lengths = np.zeros(len(texts))
    spelt: dict[str, int] = {}  # every spelling is stemmed once
    for row, text in enumerate(texts):
        words = tokens_of(text)
        lengths[row] = len(words)
        for word in words:
            number = spelt.get(word)
            if number is None:
                wanted = head_of(word) in heads or head_of(word[:1]) in heads
                number = spelt[word] = terms.get(term_of(word), -1) if wanted else -1
            if number >= 0:
                counts[row, number] += 1
    return counts, lengths


def _runs(query: str, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Count the runs of letters of the query in each text (n, r), and all of its letters (n,)."""
    wanted = np.unique(_codes([query])[0][1 : 1 - _RUN])  # without those at a zero byte
    found, starts = _codes(texts)
    table = np.zeros(2**_SLOTS, dtype=np.bool_)
    table[_slot(wanted)] = True
    hits = np.flatnonzero(table[_slot(found)])
    place = np.minimum(np.searchsorted(wanted, found[hits]), len(wanted) - 1)
    exact = wanted[place] == found[hits]
    rows = np.searchsorted(starts, hits[exact], side="right") - 1
    cells = rows * len(wanted) + place[exact]
    counts = np.bincount(cells, minlength=len(texts) * len(wanted)).astype(np.float64)
    return counts.reshape(len(texts), len(wanted)), np.diff(starts).astype(np.float64)


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Ids]:
    """Return every run of bytes of all texts as one number, and where each text starts (n + 1,).

    A zero byte stands between texts, so that runs across two of them have one.
    """
    packed = [f"\0 {text} ".encode("utf-8", "replace") for text in texts]
    starts = np.concatenate([[0], np.cumsum([len(each) for each in packed])]).astype(np.int64)
    data = np.frombuffer(b"".join(packed) + bytes(_RUN - 1), dtype=np.uint8).astype(np.uint32)
    codes = np.zeros(len(data) - _RUN + 1, dtype=np.uint32)
    for step in range(_RUN):
        codes = (codes << np.uint32(8)) | data[step : step + len(codes)]
    return codes, starts


def _slot(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Scatter numbers over the table (Knuth's multiplication)."""
    return (codes * np.uint32(2654435761)) >> np.uint32(32 - _SLOTS)


DEEPEST = 5_000  # new passages looked at for one query
_LONGEST = 4_000  # letters of a passage that are looked at; models read fewer
LETTERS = 0.2  # of the search page and `veil search`: chosen on NFCorpus and DL'19
LEAST = 16  # new passages that are scored for a query, however many are asked at once
_REMEMBERED = 50_000  # vectors of passages, in memory only: they tell what was searched for


class Reranker:
    r"""Scores passages by the cosine of their vector with that of the true query.

    `known` are vectors of a whole collection, which say nothing about a query: what they hold is
    scored at once. Of the passages that are new, the best `pool` by a cheap order are scored (see
    `veil.search.rerank`), and the others follow in that order. Their vectors are kept in memory
    for a while, and never written down; they save time, and change no order. While several
    searches are made at once they share the pool, and each has `LEAST` passages scored at least.

    With `letters` the words and letters that a passage shares with the query count, too:

    .. math:: s(d) = \cos(d, q) + \lambda\, \sigma_{\cos}\, c(d)

    where c is the cheap score, of deviation 1 among all that came back, and the deviation of
    the cosines is that among those scored.

    Parameters
    ----------
    pool
        New passages that are scored for one query.
    letters
        Weight of the cheap score; 0 goes by the cosine alone.
    """

    def __init__(
        self,
        encoder: Encoder,
        known: DocumentVectors | None = None,
        pool: int = POOL,
        letters: float = 0.0,
    ) -> None:
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1:
            raise ParameterError("The 'pool' argument must be a whole number of passages from 1.")
        if not 0 <= letters <= 10:
            raise ParameterError("The 'letters' argument must be a weight from 0 to 10.")
        self.encoder = encoder
        self.pool = pool
        self.letters = letters
        self._known = known
        self._recent: OrderedDict[bytes, Singles] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one search encodes at a time, with all processors
        self._busy = 0  # searches that are put in order now

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
        with self._sharing() as pool:
            order, scores = self._ordered(query, [passages[i] for i in worded], pool)
        final = places.copy()
        final[worded] = places[worded[order]]
        # Scores of two kinds cannot be compared: what counts then is the order.
        every = len(scores) == len(places)
        values = scores if every else 1 / np.arange(1.0, len(places) + 1)
        return replace(fused, index=final[None], scores=values[None])

    @contextmanager
    def _sharing(self) -> Iterator[int]:
        """Give a search its share of the pool while it is put in order."""
        with self._lock:
            self._busy += 1
            share = max(min(self.pool, LEAST), self.pool // self._busy)
        try:
            yield share
        finally:
            with self._lock:
                self._busy -= 1

    def _ordered(self, query: str, passages: Sequence[str], pool: int) -> tuple[Ids, Floats]:
        """Return passages in their order (n,), and the scores of those that the model scored.

        Which are scored does not depend on what was searched for before.
        """
        texts = [each[:_LONGEST] for each in passages]
        found = self._places(passages)
        new = np.flatnonzero(found < 0)
        inside, outside = np.arange(len(texts)), new[:0]
        cheap = np.zeros(len(texts))
        if self.letters or len(new) > pool:
            cheap = cheap_scores(query, texts)
        if len(new) > pool:
            best = new[np.argsort(-cheap[new], kind="stable")]
            inside, outside = np.setdiff1d(inside, best[pool:]), best[pool:]
        vectors = self._vectors([texts[i] for i in inside], found[inside])
        scores = (vectors @ self.encoder.encode([query], "query")[0]).astype(np.float64)
        scores += self.letters * float(scores.std()) * cheap[inside]
        order = np.argsort(-scores, kind="stable")
        return np.concatenate([inside[order], outside]), scores[order]

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


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _passage(ranking: Ranking, place: int) -> str:
    title = ranking.titles[place] if ranking.titles else ""
    text = ranking.texts[place] if ranking.texts else ""
    return passage(title, text)


_LARGE = 20_000  # documents: more are not encoded before a search, but as they come back
_Made = dict[tuple[str, float], Reranker]
_shared: _Made = {}


def reranker(
    model: Encoder | str, engine: Engine, report: Report = no_progress, *, letters: float = 0.0
) -> Reranker:
    """Return a re-ranker for what an engine brings; the same one every time.

    The vectors of a local collection are computed once and kept with it, unless it is large.
    """
    chosen = encoder(model, report) if isinstance(model, str) else model
    collection = getattr(engine, "collection", None)
    if not isinstance(collection, Collection):
        return _of(chosen, letters, _shared, lambda: None)
    rerankers = collection.remember("rerankers", _Made)
    return _of(chosen, letters, rerankers, lambda: _known(collection, chosen, report))


def _of(
    chosen: Encoder, letters: float, made: _Made, known: Callable[[], DocumentVectors | None]
) -> Reranker:
    found = made.get((chosen.key, letters))
    if found is None or found.encoder is not chosen:
        found = made[chosen.key, letters] = Reranker(chosen, known(), letters=letters)
    return found


def _known(collection: Collection, chosen: Encoder, report: Report) -> DocumentVectors | None:
    passages, folder = collection.documents.passages, collection.vectors_folder
    if len(passages) > _LARGE:
        return open_document_vectors(passages, chosen, folder)
    return document_vectors(passages, chosen, folder, report)
