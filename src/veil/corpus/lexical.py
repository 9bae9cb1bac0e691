"""An inverted index: texts to terms, the documents of each term, and the best by score.

One index serves every weighting. With tf the count of term t in document d, df its number of
documents, n all documents and L the number of terms in a document:

``bm25``
    ln(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * L / mean L)), as in Lucene.
``tfidf``
    w(t, d) * ln(1 + n / df), where w(t, d) = (1 + ln tf) * ln(1 + n / df), scaled to unit length
    over each document: summed over the terms of a query it is the cosine of the two vectors, but
    for the length of the query's.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, MissingExtraError
from veil.core.types import Ids, Singles
from veil.data.arrays import Array, Strings, open_arrays, save_arrays
from veil.data.fetch import Report, no_progress

_WORD = re.compile(r"\w+(?:['’]\w+)*")
_POSSESSIVE = re.compile(r"['’]s$")
LUCENE_STOP_WORDS = frozenset(
    """
    a an and are as at be but by for if in into is it no not of on or such that the their then
    there these they this to was will with
    """.split()
)


class _Own(threading.local):
    """A stemmer for each thread: it takes one word at a time."""

    @cached_property
    def stemmer(self) -> Any:  # noqa: ANN401 - the library has no types
        try:
            import Stemmer
        except ImportError:
            raise MissingExtraError(
                "A local index needs PyStemmer and bm25s: pip install 'veil[search]'."
            ) from None
        return Stemmer.Stemmer("porter")


_OWN = _Own()


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without possessive endings.

    >>> words_of("Crohn's disease, type-2")
    ['crohn', 'disease', 'type', '2']
    """
    words: list[str] = _WORD.findall(text.lower())
    if "'" in text or "’" in text:
        return [_POSSESSIVE.sub("", word) for word in words]
    return words


def term_of(word: str) -> str:
    """Return the index term of one word in lower case, or "" for a stop word."""
    return "" if word in LUCENE_STOP_WORDS else str(_OWN.stemmer.stemWord(word))


def analyse(text: str) -> list[str]:
    """Return the index terms of a text, in order.

    >>> analyse("The treatments of skin cancers")
    ['treatment', 'skin', 'cancer']
    """
    return [term for word in words_of(text) if (term := term_of(word))]


class Analyser:
    """Turns many texts into numbers of terms; every spelling is stemmed once."""

    def __init__(self) -> None:
        self.terms: dict[str, int] = {}
        self._spellings: dict[str, int] = {}

    def ids(self, texts: Iterable[str]) -> tuple[NDArray[np.int32], Ids]:
        """Return the terms of all texts in one row, and where each text starts (n + 1,)."""
        chunks: list[NDArray[np.int32]] = []
        ends = [0]
        known = self._spellings
        for text in texts:
            numbers = [known.get(word) or self._learn(word) for word in words_of(text)]
            chunk = np.array([number - 1 for number in numbers if number > 0], dtype=np.int32)
            chunks.append(chunk)
            ends.append(ends[-1] + len(chunk))
        flat = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.int32)
        return flat, np.array(ends, dtype=np.int64)

    def _learn(self, word: str) -> int:
        """Return the number of a spelling's term plus one, or -1 for a stop word."""
        term = term_of(word)
        number = self.terms.setdefault(term, len(self.terms)) + 1 if term else -1
        self._spellings[word] = number
        return number


Scheme = Literal["bm25", "tfidf"]
_KIND, _VERSION = "veil-lexical", 1
_REPORT_EVERY = 20_000
_MAX_DOCUMENTS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Lexical:
    """Postings by term: those of term t lie at ``indptr[t]:indptr[t + 1]``, in document order."""

    spelt: Strings  # the terms, by number
    indptr: Ids  # (V + 1,)
    docs: NDArray[np.int32]  # (postings,)
    counts: NDArray[np.int32]  # (postings,)
    lengths: NDArray[np.int32]  # (n,) terms per document

    @property
    def size(self) -> int:
        """Number of documents."""
        return len(self.lengths)

    @cached_property
    def terms(self) -> Mapping[str, int]:
        """Number of each term."""
        return {term: number for number, term in enumerate(self.spelt)}

    def ids(self, text: str) -> list[int]:
        """Return the terms of a text that occur in the index."""
        known = self.terms
        return [known[term] for term in analyse(text) if term in known]

    @cached_property
    def frequencies(self) -> Ids:
        """Number of documents of each term (V,)."""
        return np.diff(self.indptr)

    def weights(self, scheme: Scheme, k1: float = 1.2, b: float = 0.75) -> Singles:
        """Return what each posting adds to the score of its document (postings,)."""
        count = self.counts.astype(np.float64)
        share = np.asarray(self.frequencies, dtype=np.float64)
        if scheme == "bm25":
            idf = np.log1p((self.size - share + 0.5) / (share + 0.5))
            mean = max(float(self.lengths.mean()), 1e-9)
            long = k1 * (1 - b + b * self.lengths[self.docs] / mean)
            weights = np.repeat(idf, self.frequencies) * count / (count + long)
        else:
            idf = np.log1p(self.size / np.maximum(share, 1))
            weights = np.repeat(idf, self.frequencies) * (1 + np.log(count))
            norms = np.sqrt(np.bincount(self.docs, weights**2, minlength=self.size))
            weights /= np.maximum(norms, 1e-12)[self.docs]
            weights *= np.repeat(idf, self.frequencies)  # of the query's side
        return weights.astype(np.float32)

    def save(self, folder: Path, documents: str) -> None:
        """Write the index into a new folder; `documents` is the digest of what it is of."""
        arrays: dict[str, Array] = self.spelt.arrays("term") | {
            "indptr": self.indptr,
            "docs": self.docs,
            "counts": self.counts,
            "lengths": self.lengths,
        }
        save_arrays(folder, _KIND, _VERSION, arrays, {"documents": documents})


def open_lexical(folder: Path, documents: str) -> Lexical | None:
    """Open a saved index; None if it is not whole, or of other documents."""
    found = open_arrays(folder, _KIND, _VERSION)
    if found is None or found[1].get("documents") != documents:
        return None
    arrays = found[0]
    try:
        parts = [arrays[name] for name in ("indptr", "docs", "counts", "lengths")]
        return Lexical(Strings.from_arrays(arrays, "term"), *parts)
    except LookupError:
        return None


def build_lexical(texts: Sequence[str], report: Report = no_progress) -> Lexical:
    """Index texts."""
    if not 0 < len(texts) <= _MAX_DOCUMENTS:
        raise InputError("An index needs at least one document, and at most two thousand million.")
    analyser = Analyser()
    flat, starts = analyser.ids(_reported(texts, report))
    lengths = np.diff(starts)
    report("sorting the index", 0, 0)
    # One number per occurrence, term first: sorted, equal ones are the counts.
    keys = flat.astype(np.int64)
    keys *= len(texts)
    keys += np.repeat(np.arange(len(texts)), lengths)
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    counts = np.diff(first, append=len(keys)).astype(np.int32)
    terms, docs = np.divmod(keys[first], len(texts))
    indptr = np.searchsorted(terms, np.arange(len(analyser.terms) + 1))
    return Lexical(
        Strings.of(analyser.terms),
        indptr.astype(np.int64),
        docs.astype(np.int32),
        counts,
        lengths.astype(np.int32),
    )


def _reported(texts: Sequence[str], report: Report) -> Iterator[str]:
    for number, text in enumerate(texts):
        if number % _REPORT_EVERY == 0:
            report("indexing", number, len(texts))
        yield text


def top(scores: NDArray[np.floating], k: int, above: float = -np.inf) -> Ids:
    """Return the positions of the `k` highest scores above a floor, best first.

    Equal scores stand in the order of their positions.

    >>> top(np.array([1.0, 3.0, 0.0, 3.0, 2.0]), 3, above=0.0).tolist()
    [1, 3, 4]
    """
    found = np.flatnonzero(scores > above)
    if len(found) > k:
        values = scores[found]
        edge = np.partition(values, len(values) - k)[len(values) - k]
        better = found[values > edge]
        found = np.concatenate([better, found[values == edge][: k - len(better)]])
        found.sort()
    order: Ids = found[np.argsort(-scores[found], kind="stable")]
    return order
