r"""An inverted index: for each term its documents, and how often it occurs in them.

One index serves every weighting. With tf the count of term t in document d, df its number of
documents, n all documents and L the number of terms in a document:

``bm25``
    ln(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * L / mean L)), as in Lucene.
``tfidf``
    w(t, d) * ln(1 + n / df), where w(t, d) = (1 + ln tf) * ln(1 + n / df), scaled to unit length
    over each document: summed over the terms of a query it is the cosine of the two vectors, but
    for the length of the query's.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError
from veil.core.types import Ids, Singles
from veil.corpus.terms import Analyser, analyse
from veil.data.arrays import Array, Strings, open_arrays, save_arrays
from veil.data.fetch import Report, silent

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


def build_lexical(texts: Sequence[str], report: Report = silent) -> Lexical:
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
