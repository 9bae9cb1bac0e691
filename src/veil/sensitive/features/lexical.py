"""Words and pairs of words, weighted by TF-IDF."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids
from veil.sensitive.mails import Mail

Sparse = Any  # scipy has no types
MOST = 60_000  # words and pairs
FEWEST = 2  # documents that a word or a pair must be in


def library() -> Any:  # noqa: ANN401 - scikit-learn has no types
    """Return scikit-learn, or say how to get it."""
    try:
        import sklearn
        import sklearn.feature_extraction.text
        import sklearn.linear_model
        import sklearn.metrics
    except ImportError:
        raise MissingExtraError(
            "Classifiers need scikit-learn and lightgbm: pip install 'veil[ml]'."
        ) from None
    return sklearn


class Vocabulary:
    """Counts words and pairs of words; those of fewer than two documents are not counted."""

    def __init__(self, mails: Sequence[Mail]) -> None:
        text = library().feature_extraction.text
        self._counter = text.CountVectorizer(ngram_range=(1, 2), dtype=np.float32)
        self._texts = [text_of(mail) for mail in mails]

    def learn(self) -> Sparse:
        """Return the counts (n, V) of the documents that it was made of."""
        counts = self._counter.fit_transform(self._texts).tocsc()
        del self._texts
        often = np.flatnonzero(np.diff(counts.indptr) >= FEWEST)
        names = self._counter.get_feature_names_out()[often]
        self._counter.vocabulary_ = {name: place for place, name in enumerate(names)}
        self._counter.fixed_vocabulary_ = True
        return counts[:, often].tocsr()

    def count(self, mails: Sequence[Mail]) -> Sparse:
        """Return the counts (n, V) of other documents."""
        return self._counter.transform([text_of(mail) for mail in mails]).tocsr()


@dataclass(frozen=True, eq=False)
class Weights:
    """The columns that are used, and the inverse document frequency of each."""

    columns: Ids
    idf: Floats

    @classmethod
    def of(cls, counts: Sparse, rows: Ids, most: int = MOST) -> "Weights":
        """Choose and weigh columns by some documents alone: the `most` frequent ones."""
        part = counts[rows]
        documents = np.bincount(part.indices, minlength=part.shape[1])
        often = np.flatnonzero(documents >= FEWEST)
        if len(often) > most:
            total = np.asarray(part.sum(axis=0)).ravel()[often]
            often = np.sort(often[np.argsort(-total, kind="stable")[:most]])
        return cls(often, np.log((1 + len(rows)) / (1 + documents[often])) + 1)

    def apply(self, counts: Sparse) -> Sparse:
        """Return (1 + ln tf) * idf, scaled to unit length over each document."""
        from scipy.sparse import diags_array

        part = counts[:, self.columns].astype(np.float64)
        part.data = 1 + np.log(part.data)
        part = part @ diags_array(self.idf)
        norms = np.sqrt(np.asarray(part.multiply(part).sum(axis=1)).ravel())
        return (diags_array(1 / np.maximum(norms, 1e-12)) @ part).tocsr()


def text_of(mail: Mail) -> str:
    """Return what is counted: subject and text."""
    return f"{mail.title}\n{mail.text}"
