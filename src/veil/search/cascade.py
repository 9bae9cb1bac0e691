"""Which passages are worth a model's time: letters and words of the true query tell, at no cost.

With cover, what comes back for one query is up to 2,000 passages, of which most answer another
one. BM25 with the true query over these passages alone finds out which: once over index terms, and
once over runs of four letters, which see that words are kin where stems do not. It needs no model,
no index and no file, and nothing of a passage or query is kept. Beside the model's own scores it
finds more than either alone: see `veil.search.rerank`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.corpus.lexical import analyse, term_of, words_of

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
    return even(even(_bm25(*_terms(asked, texts))) + even(_bm25(*_runs(asked, texts))))


def cheap_order(query: str, passages: Sequence[str]) -> Ids:
    """Put passages in order by these scores; equal ones stay as they are (n,)."""
    return np.argsort(-cheap_scores(query, passages), kind="stable").astype(np.int64)


def even(scores: Floats) -> Floats:
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
    counts = np.zeros((len(texts), len(terms)))
    lengths = np.zeros(len(texts))
    spelt: dict[str, int] = {}  # every spelling is stemmed once
    for row, text in enumerate(texts):
        words = words_of(text)
        lengths[row] = len(words)
        for word in words:
            number = spelt.get(word)
            if number is None:
                number = spelt[word] = terms.get(term_of(word), -1)
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
