"""Logistic regression on the vectors of an encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.types import Encoder, Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder as open_encoder
from veil.task.classifiers import Classifier, Texts, Train
from veil.task.labelled import Labelled

_STEPS = 5_000  # of descent, at most
_STILL = 1e-7  # a gradient that is as good as none


class Logistic(Classifier):
    r"""Learn a multinomial logistic regression on unit vectors of texts.

    .. math:: \min_W \frac{1}{n} \sum_i -\log \mathrm{softmax}(W x_i)_{y_i}
       + \frac{\lambda}{2 n} \lVert W \rVert^2

    with a constant in :math:`x` that is not held back. Nothing is drawn: the same texts give the
    same weights.

    References
    ----------
    Reimers, Gurevych. Sentence-BERT. EMNLP 2019, section 6 (SentEval): logistic regression on
    fixed sentence embeddings. arXiv:1908.10084
    """

    name: ClassVar[str] = "logistic"

    encoder: Annotated[str, Field(description="model of texts")] = "minilm"
    train: Train = "plain"
    texts: Texts = 2_000
    ridge: Annotated[float, Field(gt=0, description="how far weights are held back")] = 1.0

    @property
    def taught(self) -> int:
        """How many texts teach it, at most."""
        return self.texts

    @property
    def protected(self) -> bool:
        """Whether protected texts teach it."""
        return self.train == "protected"

    def key(self, report: Report = no_progress) -> str:
        """Name the weights of the encoder."""
        return open_encoder(self.encoder, report).key

    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> "LogisticModel":
        """Encode the texts and fit."""
        opened = open_encoder(self.encoder, report)
        at = {label: number for number, label in enumerate(classes)}
        codes = np.array([at[label] for label in taught.labels], dtype=np.int64)
        return LogisticModel(
            opened, fit(_with_one(opened, taught.texts), codes, len(classes), self.ridge)
        )


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """An encoder, and the weights (d + 1, classes) on its vectors."""

    encoder: Encoder
    weights: Floats

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) that each label has, for each text."""
        return softmax(_with_one(self.encoder, texts) @ self.weights)


def fit(rows: Floats, codes: Ids, classes: int, ridge: float) -> Floats:
    """Return the weights (d, classes) of the regression, the last row of them not held back.

    Accelerated descent with the step of the largest curvature, begun anew whenever it overshoots.
    """
    n, d = rows.shape
    wanted = np.zeros((n, classes))
    wanted[np.arange(n), codes] = 1.0
    held = np.full((d, 1), ridge / n)
    held[-1] = 0.0
    step = 1.0 / (0.5 * np.linalg.eigvalsh(rows.T @ rows / n)[-1] + ridge / n)
    weights = ahead = np.zeros((d, classes))
    speed = 1.0
    for _ in range(_STEPS):
        gradient = rows.T @ (softmax(rows @ ahead) - wanted) / n + held * ahead
        if np.abs(gradient).max() < _STILL:
            return ahead
        moved = ahead - step * gradient
        if float((gradient * (moved - weights)).sum()) > 0:
            speed = 1.0
        faster = (1 + np.sqrt(1 + 4 * speed * speed)) / 2
        ahead = moved + (speed - 1) / faster * (moved - weights)
        weights, speed = moved, faster
    return weights


def softmax(scores: Floats) -> Floats:
    """Return shares that are in the ratio of exponentials, row by row."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = raised / raised.sum(axis=1, keepdims=True)
    return shares


def _with_one(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Return the vectors of texts with a constant behind."""
    rows = encoder.encode(list(texts)).astype(np.float64)
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
