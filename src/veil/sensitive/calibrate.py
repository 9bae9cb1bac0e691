"""Scores to probabilities, by scores of documents that the model did not learn from."""

from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.sensitive.classifier import Classifier, Fitted
from veil.sensitive.collection import Labels
from veil.sensitive.features.reader import Numbers

INNER = 4  # folds
EDGE = 1e-6  # no model is certain: 0 and 1 are what a human says
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Platt:
    """p = 1/(1 + exp(-(slope * score + offset)))."""

    slope: float
    offset: float

    def apply(self, scores: Floats) -> Floats:
        """Return probabilities (n,), never quite 0 or 1."""
        logits = np.clip(self.slope * scores + self.offset, -30, 30)
        return np.clip(1 / (1 + np.exp(-logits)), EDGE, 1 - EDGE)


def platt(scores: Floats, labels: Labels) -> Platt:
    """Fit slope and offset by likelihood, with the smoothed targets of Platt.

    References
    ----------
    Platt. Probabilistic Outputs for Support Vector Machines. 1999, section 2.2.
    """
    positive = float((labels == 1).sum())
    negative = len(labels) - positive
    target = np.where(labels == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
    scale = max(float(np.std(scores)), 1e-9)
    design = np.stack([scores / scale, np.ones(len(scores))], axis=1)
    weights = np.array([0.0, np.log((positive + 1) / (negative + 1))])  # flat scores stay flat
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(design @ weights, -30, 30)))
        slope = design.T @ (target - p)
        curve = (design * (p * (1 - p))[:, None]).T @ design + 1e-9 * np.eye(2)
        step = np.linalg.solve(curve, slope)
        weights = weights + step * min(1.0, 2 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-10:
            break
    return Platt(float(weights[0] / scale), float(weights[1]))


def calibrated(
    classifier: Classifier, numbers: Numbers, rows: Ids, labels: Labels, inner: Ids
) -> tuple[Fitted, Platt]:
    """Fit a model to `rows`, and its calibration to scores of models that left a part out.

    `inner` (m,) is the fold of each of `rows`.
    """
    held = np.empty(len(rows))
    for fold in np.unique(inner):
        out = inner == fold
        model = classifier.fit(numbers, rows[~out], labels)
        held[out] = model.scores(numbers, rows[out])
    return classifier.fit(numbers, rows, labels), platt(held, labels[rows])
