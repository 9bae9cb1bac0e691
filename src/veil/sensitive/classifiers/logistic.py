"""A linear model of words."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.types import Floats, Ids
from veil.sensitive.classifiers import Classifier, Fitted
from veil.sensitive.collection import Labels
from veil.sensitive.features import Features, Numbers, Sparse, Weights, library

_SHARE = 0.1  # context features of size one would outweigh unit rows of words

Named = Annotated[
    Features, Field(description="words (lexical), time, metadata and style (context), or all")
]


class Logistic(Classifier):
    """Logistic regression on TF-IDF of words and word pairs, and optionally on the context.

    The columns, weights and scales come only from the training documents.
    """

    name: ClassVar[str] = "logistic"

    features: Named = "lexical"
    C: Annotated[
        float, Field(gt=0, le=1e6, description="inverse strength of the regularisation")
    ] = 10.0

    @override
    def fit(self, numbers: Numbers, rows: Ids, labels: Labels) -> Fitted:
        return _Linear(self, numbers, rows, labels)


class _Linear(Fitted):
    def __init__(self, spec: Logistic, numbers: Numbers, rows: Ids, labels: Labels) -> None:
        wide = numbers.counts is not None  # far more columns than documents: the dual is faster
        self._weights = Weights.of(numbers.counts, rows) if wide else None
        context = _context(numbers, rows)
        self._mean, self._scale = context.mean(axis=0), np.maximum(context.std(axis=0), 1e-9)
        self._model: Any = library().linear_model.LogisticRegression(
            C=spec.C, solver="liblinear", dual=wide, random_state=0, tol=1e-3, max_iter=5_000
        )
        self._model.fit(self._columns(numbers, rows), labels[rows])

    def scores(self, numbers: Numbers, rows: Ids) -> Floats:
        return np.asarray(self._model.decision_function(self._columns(numbers, rows)))

    def _columns(self, numbers: Numbers, rows: Ids) -> Sparse:
        from scipy.sparse import csr_array, hstack

        scaled = (_context(numbers, rows) - self._mean) / self._scale
        if self._weights is None or numbers.counts is None:
            return csr_array(scaled)
        words = self._weights.apply(numbers.counts[rows])
        return hstack([words, csr_array(_SHARE * scaled)], format="csr")


def _context(numbers: Numbers, rows: Ids) -> Floats:
    """Return the features besides words: the context, or only the length."""
    if numbers.context is None:
        return numbers.lengths[rows][:, None]
    return numbers.context[rows]
