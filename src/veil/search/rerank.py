"""Re-rank results by the true query, on the user's machine.

With cover, one query returns up to 2,000 passages, and most of them answer other queries. A cheap
score decides which passages the model reads: BM25 of the true query over these passages only, once
over index terms and once over runs of four bytes, which match related words with different stems.
It needs no model, index or file. Only the stems of words are kept, in a memory cache shared with
all other texts. Together with the model's scores it ranks better than either score does.
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
_READ = 2_000  # characters of a passage that count
_RUN = 4  # bytes
_K1, _B = 1.2, 0.75
_SLOTS = 16  # bits of a slot number in the hash table of the query's runs


def cheap_scores(query: str, passages: Sequence[str]) -> Floats:
    """Return the cheap score of each passage (n,), with mean 0 and deviation 1.

    The two BM25 scores are standardised before they are added.
    """
    texts = [" ".join(text[:_READ].lower().split()) for text in passages]
    words = " ".join(query[:_READ].lower().split())
    return standardise(
        standardise(_bm25(*_terms(words, texts))) + standardise(_bm25(*_runs(words, texts)))
    )


def cheap_order(query: str, passages: Sequence[str]) -> Ids:
    """Return the order of the passages by cheap score (n,). Ties keep their order."""
    return np.argsort(-cheap_scores(query, passages), kind="stable").astype(np.int64)


def standardise(scores: Floats) -> Floats:
    """Return the scores with mean 0 and deviation 1, or zeros if they are all equal."""
    spread = float(scores.std()) if len(scores) else 0.0
    return np.zeros(len(scores)) if spread < 1e-12 else (scores - scores.mean()) / spread


def _bm25(counts: Floats, lengths: Floats) -> Floats:
    r"""Return the BM25 scores (n,) for term counts (n, t) and lengths (n,) of n passages.

    Document frequencies are those among the n passages.

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
    """Return how often each text contains each term of the query (n, t), and its words (n,)."""
    terms = {term: number for number, term in enumerate(dict.fromkeys(analyse(query)))}
    heads = set(map(head_of, terms))  # words with other heads need no stemming
    counts = np.zeros((len(texts), len(terms)))
    lengths = np.zeros(len(texts))
    numbers: dict[str, int] = {}  # so that every spelling is stemmed once
    for row, text in enumerate(texts):
        words = tokens_of(text)
        lengths[row] = len(words)
        for word in words:
            number = numbers.get(word)
            if number is None:
                relevant = head_of(word) in heads or head_of(word[:1]) in heads
                number = numbers[word] = terms.get(term_of(word), -1) if relevant else -1
            if number >= 0:
                counts[row, number] += 1
    return counts, lengths


def _runs(query: str, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Return how often each text contains each run of the query (n, r), and its length (n,)."""
    targets = np.unique(_codes([query])[0][1 : 1 - _RUN])  # without runs that contain a zero byte
    codes, starts = _codes(texts)
    table = np.zeros(2**_SLOTS, dtype=np.bool_)
    table[_slot(targets)] = True
    hits = np.flatnonzero(table[_slot(codes)])
    column = np.minimum(np.searchsorted(targets, codes[hits]), len(targets) - 1)
    exact = targets[column] == codes[hits]
    rows = np.searchsorted(starts, hits[exact], side="right") - 1
    cells = rows * len(targets) + column[exact]
    counts = np.bincount(cells, minlength=len(texts) * len(targets)).astype(np.float64)
    return counts.reshape(len(texts), len(targets)), np.diff(starts).astype(np.float64)


def _codes(texts: Sequence[str]) -> tuple[NDArray[np.uint32], Ids]:
    """Return every run of bytes of all texts as a number, and the start of each text (n + 1,).

    Texts are separated by zero bytes, so any run across two texts contains one.
    """
    packed = [f"\0 {text} ".encode("utf-8", "replace") for text in texts]
    starts = np.concatenate([[0], np.cumsum(list(map(len, packed)))]).astype(np.int64)
    data = np.frombuffer(b"".join(packed) + bytes(_RUN - 1), dtype=np.uint8).astype(np.uint32)
    codes = np.zeros(len(data) - _RUN + 1, dtype=np.uint32)
    for step in range(_RUN):
        codes = (codes << np.uint32(8)) | data[step : step + len(codes)]
    return codes, starts


def _slot(codes: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the hash table slot of each run (Knuth's multiplicative hashing)."""
    return (codes * np.uint32(2654435761)) >> np.uint32(32 - _SLOTS)


DEEPEST = 5_000  # new passages considered for one query
_LONGEST = 4_000  # characters of a passage for the model; models read fewer
LETTERS = 0.2  # for the search page and `veil search`: chosen on NFCorpus and DL'19
LEAST = 16  # new passages scored for a query, however many searches run at once
_REMEMBERED = 50_000  # passage vectors, in memory only: they reveal what was searched for


class Reranker:
    r"""Ranks passages by the cosine of their vectors with the vector of the true query.

    `known` contains the vectors of a whole collection, which reveal nothing about a query. All
    passages with a known vector are scored. Of the new passages, the best `pool` by cheap score
    are scored (see `veil.search.rerank`), and the others follow in that order. Vectors of new
    passages are cached in memory and never written to disk; the cache does not change the order.
    Concurrent searches share the pool, but each has at least `LEAST` passages scored.

    With `letters`, the words and letters that a passage shares with the query count, too:

    .. math:: s(d) = \cos(d, q) + \lambda\, \sigma_{\cos}\, c(d)

    where c is the cheap score, with deviation 1 among all results, and the deviation of the
    cosines is that among the scored passages.

    Parameters
    ----------
    pool
        New passages to score for one query.
    letters
        Weight of the cheap score; 0 ranks by the cosine only.
    """

    def __init__(
        self,
        encoder: Encoder,
        known: DocumentVectors | None = None,
        pool: int = POOL,
        letters: float = 0.0,
    ) -> None:
        if isinstance(pool, bool) or not isinstance(pool, int) or pool < 1:
            raise ParameterError("'pool' must be an integer of at least 1.")
        if not 0 <= letters <= 10:
            raise ParameterError("'letters' must be a number from 0 to 10.")
        self.encoder = encoder
        self.pool = pool
        self.letters = letters
        self._known = known
        self._recent: OrderedDict[bytes, Singles] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()  # one search encodes at a time, with all processors
        self._busy = 0  # searches being re-ranked now

    def order(self, query: str, fused: Ranking) -> Ranking:
        """Return one fused list, re-ranked by the true query.

        An item without text keeps its position from fusion. Without known vectors, items after
        the first `DEEPEST` keep theirs, too.
        """
        items = fused.index[0][fused.index[0] >= 0]
        limit = len(items) if self._known is not None else min(len(items), DEEPEST)
        passages = [_passage(fused, place) for place in items[:limit]]
        with_text = np.flatnonzero([bool(text) for text in passages])
        if not len(with_text):
            return fused
        with self._sharing() as pool:
            order, scores = self._ordered(query, [passages[i] for i in with_text], pool)
        final = items.copy()
        final[with_text] = items[with_text[order]]
        # If some items have no score, the scores only express the order.
        complete = len(scores) == len(items)
        values = scores if complete else 1 / np.arange(1.0, len(items) + 1)
        return replace(fused, index=final[None], scores=values[None])

    @contextmanager
    def _sharing(self) -> Iterator[int]:
        """Yield the share of the pool for one search."""
        with self._lock:
            self._busy += 1
            share = max(min(self.pool, LEAST), self.pool // self._busy)
        try:
            yield share
        finally:
            with self._lock:
                self._busy -= 1

    def _ordered(self, query: str, passages: Sequence[str], pool: int) -> tuple[Ids, Floats]:
        """Return the order of the passages (n,), and the scores of those that the model scored.

        Which passages are scored does not depend on earlier searches.
        """
        texts = [text[:_LONGEST] for text in passages]
        positions = self._places(passages)
        new = np.flatnonzero(positions < 0)
        inside, outside = np.arange(len(texts)), new[:0]
        cheap = np.zeros(len(texts))
        if self.letters or len(new) > pool:
            cheap = cheap_scores(query, texts)
        if len(new) > pool:
            best = new[np.argsort(-cheap[new], kind="stable")]
            inside, outside = np.setdiff1d(inside, best[pool:]), best[pool:]
        vectors = self._vectors([texts[i] for i in inside], positions[inside])
        scores = (vectors @ self.encoder.encode([query], "query")[0]).astype(np.float64)
        scores += self.letters * float(scores.std()) * cheap[inside]
        order = np.argsort(-scores, kind="stable")
        return np.concatenate([inside[order], outside]), scores[order]

    def _places(self, passages: Sequence[str]) -> Ids:
        """Return the positions of the passages' known vectors, -1 for new passages."""
        if self._known is None:
            return np.full(len(passages), -1, dtype=np.int64)
        return self._known.lookup(passages)

    def _vectors(self, texts: Sequence[str], positions: Ids) -> Singles:
        """Return the vectors of texts: known, cached, or computed now."""
        out = np.empty((len(texts), self.encoder.dim), dtype=np.float32)
        if self._known is not None:
            out[positions >= 0] = self._known.vectors[positions[positions >= 0]]
        keys = {i: _digest(texts[i]) for i in np.flatnonzero(positions < 0).tolist()}
        missing = self._recall(keys, out)
        if missing:
            with self._turn:  # the search before may have encoded the same passages
                missing = self._recall(missing, out)
                if missing:
                    self._encode(missing, texts, out)
        return out

    def _recall(self, keys: Mapping[int, bytes], out: Singles) -> dict[int, bytes]:
        """Copy cached vectors into their rows, and return the missing ones."""
        with self._lock:
            for i, key in keys.items():
                if key in self._recent:
                    out[i] = self._recent[key]
            return {i: key for i, key in keys.items() if key not in self._recent}

    def _encode(self, missing: Mapping[int, bytes], texts: Sequence[str], out: Singles) -> None:
        """Compute the missing vectors, and cache them."""
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


_LARGE = 20_000  # documents; larger collections are not encoded before a search
_Cache = dict[tuple[str, float], Reranker]
_shared: _Cache = {}


def reranker(
    model: Encoder | str, engine: Engine, report: Report = no_progress, *, letters: float = 0.0
) -> Reranker:
    """Return the re-ranker for the results of an engine, the same one every time.

    The vectors of a local collection are computed once and saved with it, unless it is large.
    """
    resolved = encoder(model, report) if isinstance(model, str) else model
    collection = getattr(engine, "collection", None)
    if not isinstance(collection, Collection):
        return _of(resolved, letters, _shared, lambda: None)
    rerankers = collection.remember("rerankers", _Cache)
    return _of(resolved, letters, rerankers, lambda: _load_vectors(collection, resolved, report))


def _of(
    model: Encoder, letters: float, cache: _Cache, load: Callable[[], DocumentVectors | None]
) -> Reranker:
    entry = cache.get((model.key, letters))
    if entry is None or entry.encoder is not model:
        entry = cache[model.key, letters] = Reranker(model, load(), letters=letters)
    return entry


def _load_vectors(
    collection: Collection, model: Encoder, report: Report
) -> DocumentVectors | None:
    passages, folder = collection.documents.passages, collection.vectors_folder
    if len(passages) > _LARGE:
        return open_document_vectors(passages, model, folder)
    return document_vectors(passages, model, folder, report)
