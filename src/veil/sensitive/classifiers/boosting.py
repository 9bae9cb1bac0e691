"""Boosted trees on words and context, by LightGBM."""

from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.errors import MissingExtraError
from veil.core.types import Floats, Ids
from veil.sensitive.classifiers import Classifier, Fitted
from veil.sensitive.classifiers.logistic import Named
from veil.sensitive.collection import Labels
from veil.sensitive.features import Numbers, Sparse, Weights

LIGHT: dict[str, Any] = {
    "seed": 0,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # sums in another order give other trees
    "verbose": -1,
}


def lightgbm() -> Any:  # noqa: ANN401 - it has no types
    """Return LightGBM, or raise an error that names its extra."""
    try:
        import lightgbm as library
    except (ImportError, OSError):
        raise MissingExtraError("Boosting needs lightgbm: pip install 'veil[ml]'.") from None
    return library


class Boosting(Classifier):
    """Gradient boosting (LightGBM) on the most frequent words and on the context.

    References
    ----------
    Ke et al. LightGBM: A Highly Efficient Gradient Boosting Decision Tree. NeurIPS 2017.
    """

    name: ClassVar[str] = "boosting"

    features: Named = "all"
    trees: Annotated[int, Field(ge=1, le=5_000, description="number of trees")] = 150
    leaves: Annotated[int, Field(ge=2, le=1_024, description="leaves of a tree")] = 15
    words: Annotated[int, Field(ge=1, le=60_000, description="number of words to use")] = 2_500

    @override
    def fit(self, numbers: Numbers, rows: Ids, labels: Labels) -> Fitted:
        return _Trees(self, numbers, rows, labels)


class _Trees(Fitted):
    def __init__(self, spec: Boosting, numbers: Numbers, rows: Ids, labels: Labels) -> None:
        self._weights = (
            None if numbers.counts is None else Weights.of(numbers.counts, rows, spec.words)
        )
        data = lightgbm().Dataset(
            self._columns(numbers, rows), label=labels[rows], params={"verbose": -1}
        )
        options = LIGHT | {
            "objective": "binary",
            "num_leaves": spec.leaves,
            "learning_rate": 0.05,
            "min_data_in_leaf": 10,
            "feature_fraction": 0.3,
        }
        self._model: Any = lightgbm().train(options, data, spec.trees)

    def scores(self, numbers: Numbers, rows: Ids) -> Floats:
        return np.asarray(self._model.predict(self._columns(numbers, rows), raw_score=True))

    def _columns(self, numbers: Numbers, rows: Ids) -> Sparse:
        from scipy.sparse import csr_matrix, hstack

        parts = []
        if numbers.counts is not None and self._weights is not None:
            parts.append(csr_matrix(self._weights.apply(numbers.counts[rows])))
        if numbers.context is not None:
            parts.append(csr_matrix(numbers.context[rows]))
        return parts[0] if len(parts) == 1 else hstack(parts, format="csr")
