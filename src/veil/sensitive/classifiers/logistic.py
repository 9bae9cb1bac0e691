"""A linear model of words."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Floats, Ids
from veil.sensitive.classifiers import Classifier, Fitted
from veil.sensitive.collection import Labels
from veil.sensitive.features import Features, Numbers, Sparse, Weights, library

_SHARE = 0.1  # unit rows of words would drown beside many numbers of size one

Named = Annotated[
    Features, Field(description="words (lexical), time, metadata and style (context), or all")
]


class Logistic(Classifier):
    """Logistic regression on TF-IDF of words and pairs of words, and perhaps on the context.

    Column choice, weights and scales come from the training documents alone.
    """

    name: ClassVar[str] = "logistic"

    features: Named = "lexical"
    C: Annotated[
        float, Field(gt=0, le=1e6, description="how little the weights are held back")
    ] = 10.0

    def fit(self, numbers: Numbers, rows: Ids, labels: Labels) -> Fitted:
        """Fit one weight per column."""
        return _Linear(self, numbers, rows, labels)


class _Linear(Fitted):
    def __init__(self, spec: Logistic, numbers: Numbers, rows: Ids, labels: Labels) -> None:
        wide = numbers.counts is not None  # far more columns than documents: the dual is quicker
        self._weights = Weights.of(numbers.counts, rows) if wide else None
        beside = _beside(numbers, rows)
        self._mean, self._scale = beside.mean(axis=0), np.maximum(beside.std(axis=0), 1e-9)
        self._model: Any = library().linear_model.LogisticRegression(
            C=spec.C, solver="liblinear", dual=wide, random_state=0, tol=1e-3, max_iter=5_000
        )
        self._model.fit(self._columns(numbers, rows), labels[rows])

    def scores(self, numbers: Numbers, rows: Ids) -> Floats:
        return np.asarray(self._model.decision_function(self._columns(numbers, rows)))

    def _columns(self, numbers: Numbers, rows: Ids) -> Sparse:
        from scipy.sparse import csr_array, hstack

        scaled = (_beside(numbers, rows) - self._mean) / self._scale
        if self._weights is None or numbers.counts is None:
            return csr_array(scaled)
        words = self._weights.apply(numbers.counts[rows])
        return hstack([words, csr_array(_SHARE * scaled)], format="csr")


def _beside(numbers: Numbers, rows: Ids) -> Floats:
    """Return what stands beside the words: the context, or the length alone."""
    if numbers.context is None:
        return numbers.lengths[rows][:, None]
    return numbers.context[rows]
