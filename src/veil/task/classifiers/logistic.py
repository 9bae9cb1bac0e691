"""Logistic regression on text vectors."""

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

_MAX_STEPS = 5_000  # of gradient descent
_TOLERANCE = 1e-7  # largest entry of the gradient at convergence


class Logistic(Classifier):
    r"""Fit a multinomial logistic regression on unit vectors of texts.

    .. math:: \min_W \frac{1}{n} \sum_i -\log \mathrm{softmax}(W x_i)_{y_i}
       + \frac{\lambda}{2 n} \lVert W \rVert^2

    with an unpenalised constant in :math:`x`. There is no randomness: the same texts give the same
    weights.

    References
    ----------
    Reimers, Gurevych. Sentence-BERT. EMNLP 2019, section 6 (SentEval): logistic regression on
    fixed sentence embeddings. arXiv:1908.10084
    """

    name: ClassVar[str] = "logistic"

    encoder: Annotated[str, Field(description="encoder of the texts")] = "minilm"
    train: Train = "plain"
    texts: Texts = 2_000
    ridge: Annotated[float, Field(gt=0, description="strength of the L2 penalty")] = 1.0

    @property
    def taught(self) -> int:
        """Maximum number of training texts."""
        return self.texts

    @property
    def protected(self) -> bool:
        """Whether the training texts are protected."""
        return self.train == "protected"

    def key(self, report: Report = no_progress) -> str:
        """Return the key of the encoder."""
        return open_encoder(self.encoder, report).key

    def learn(
        self, taught: Labelled, classes: Sequence[str], report: Report = no_progress
    ) -> "LogisticModel":
        """Encode the texts and fit the weights."""
        encoder = open_encoder(self.encoder, report)
        index = {label: number for number, label in enumerate(classes)}
        codes = np.array([index[label] for label in taught.labels], dtype=np.int64)
        rows = _encode_with_constant(encoder, taught.texts)
        return LogisticModel(encoder, fit(rows, codes, len(classes), self.ridge))


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """An encoder, and the weights (d + 1, classes) for its vectors."""

    encoder: Encoder
    weights: Floats

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) of each label for each text."""
        return softmax(_encode_with_constant(self.encoder, texts) @ self.weights)


def fit(rows: Floats, codes: Ids, classes: int, ridge: float) -> Floats:
    """Return the weights (d, classes) of the regression, without a penalty on the last row.

    Accelerated gradient descent, with a step for the largest curvature and a restart whenever it
    overshoots.
    """
    n, d = rows.shape
    targets = np.zeros((n, classes))
    targets[np.arange(n), codes] = 1.0
    penalty = np.full((d, 1), ridge / n)
    penalty[-1] = 0.0
    step = 1.0 / (0.5 * np.linalg.eigvalsh(rows.T @ rows / n)[-1] + ridge / n)
    weights = ahead = np.zeros((d, classes))
    momentum = 1.0
    for _ in range(_MAX_STEPS):
        gradient = rows.T @ (softmax(rows @ ahead) - targets) / n + penalty * ahead
        if np.abs(gradient).max() < _TOLERANCE:
            return ahead
        following = ahead - step * gradient
        if float((gradient * (following - weights)).sum()) > 0:
            momentum = 1.0
        increased = (1 + np.sqrt(1 + 4 * momentum * momentum)) / 2
        ahead = following + (momentum - 1) / increased * (following - weights)
        weights, momentum = following, increased
    return weights


def softmax(scores: Floats) -> Floats:
    """Return the softmax of each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


def _encode_with_constant(encoder: Encoder, texts: Sequence[str]) -> Floats:
    """Return the vectors of texts, with a last column of ones."""
    rows = encoder.encode(list(texts)).astype(np.float64)
    return np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
