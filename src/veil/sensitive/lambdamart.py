"""LambdaMART: trees that order the documents of a query."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from veil.core.types import Floats, Ids
from veil.sensitive.boosted import LIGHT, lightgbm
from veil.sensitive.crossfit import Examples, Scorer

TREES, _LEAVES, _RATE = 120, 15, 0.05


def lambdamart(
    examples: Examples, labels: Ids, gains: Sequence[float], monotone: Sequence[int]
) -> Scorer:
    """Fit an order to labels whose gains are given; `monotone` says which way features go.

    References
    ----------
    Burges. From RankNet to LambdaRank to LambdaMART: An Overview. MSR-TR-2010-82.
    """
    options = LIGHT | {
        "objective": "lambdarank",
        "label_gain": list(gains),
        "num_leaves": _LEAVES,
        "learning_rate": _RATE,
        "lambdarank_truncation_level": 10,
        "monotone_constraints": list(monotone),
    }
    data = lightgbm().Dataset(
        examples.features, label=labels, group=examples.sizes, params={"verbose": -1}
    )
    return _scorer(lightgbm().train(options, data, TREES))


def expected_gain(examples: Examples) -> Scorer:
    """Fit the gain 2^grade - 1 that features of relevance let expect; never below 0."""
    options = LIGHT | {
        "objective": "regression",
        "num_leaves": 7,
        "learning_rate": _RATE,
        "min_data_in_leaf": 50,
        "monotone_constraints": [1] * examples.features.shape[1],
    }
    gains = 2.0**examples.grades - 1
    data = lightgbm().Dataset(examples.features, label=gains, params={"verbose": -1})
    model = _scorer(lightgbm().train(options, data, TREES))
    return lambda features: np.maximum(model(features), 0)


def _scorer(model: Any) -> Scorer:  # noqa: ANN401 - it has no types
    def score(features: Floats) -> Floats:
        return np.asarray(model.predict(features), dtype=np.float64)

    return score
