"""Which queries of a log aim at the documents that variants find."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.corpus.lexical import Lexical, top
from veil.corpus.sources import Collection
from veil.data.fetch import Report, silent
from veil.text.attacks.log import QueryLog

_K1, _B = 0.9, 0.4  # as the mechanisms with a local collection have them
_OWN = 10  # documents of a query that count
_DEPTH = 100  # answers to a variant that count
_REPORT_EVERY = 1000


@dataclass(frozen=True, eq=False)
class Aims:
    """The best documents of every query of a log, by BM25 over a public collection."""

    index: "_Index"
    own: Ids  # (N, 10) documents, -1 where there are fewer

    @classmethod
    def of(cls, log: QueryLog, collection: Collection, report: Report = silent) -> "Aims":
        """Search for every query of a log; what was found is kept with the log."""
        key = ("aims", collection.documents.digest)
        found = log.memo.get(key)
        if not isinstance(found, Aims):
            index = _Index(collection.lexical(report))
            own = np.full((len(log), _OWN), -1, dtype=np.int64)
            for i, text in enumerate(log.texts):
                if i % _REPORT_EVERY == 0:
                    report("searching for the log", i, len(log))
                best = index.top(text, _OWN)
                own[i, : len(best)] = best
            found = log.memo[key] = cls(index, own)
        return found

    def worth(self, variants: Sequence[str]) -> Floats:
        """Return the summed discounted gain (N,) of each query's own documents."""
        gains = np.zeros(self.index.lexical.size + 1)  # the last is that of no document
        for variant in variants:
            answers = self.index.top(variant, _DEPTH)
            gains[answers] += 1 / np.log2(2 + np.arange(len(answers)))
        total: Floats = gains[self.own].sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class _Index:
    """An index with its weights."""

    lexical: Lexical
    weights: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", self.lexical.weights("bm25", _K1, _B))

    def top(self, text: str, k: int) -> Ids:
        scores = np.zeros(self.lexical.size)
        for term in self.lexical.ids(text):
            start, end = self.lexical.indptr[term : term + 2]
            scores[self.lexical.docs[start:end]] += self.weights[start:end]
        return top(scores, k, above=0.0)
