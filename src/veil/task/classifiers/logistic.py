"""Logistic regression on text vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import MissingExtraError
from veil.core.types import Encoder, Floats, Ids
from veil.data.fetch import Report, no_progress
from veil.encoders.catalogue import encoder as open_encoder
from veil.task.classifiers import Classifier, Texts, Train
from veil.task.labelled import Labelled

_MAX_STEPS = 5_000
_TOLERANCE = 1e-9


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
        rows = encoder.encode(list(taught.texts)).astype(np.float64)
        return LogisticModel(encoder, fit(rows, codes, len(classes), self.ridge))


@dataclass(frozen=True, eq=False)
class LogisticModel:
    """An encoder, and the weights (d + 1, classes) for its vectors."""

    encoder: Encoder
    weights: Floats

    def shares(self, texts: Sequence[str]) -> Floats:
        """Return the share (n, classes) of each label for each text."""
        rows = self.encoder.encode(list(texts)).astype(np.float64)
        return softmax(rows @ self.weights[:-1] + self.weights[-1])


def fit(rows: Floats, codes: Ids, classes: int, ridge: float) -> Floats:
    """Return the weights (d + 1, classes) of the regression; the last row is the constant.

    A class without any row gets a share of 0.
    """
    weights = np.zeros((rows.shape[1] + 1, classes))
    weights[-1] = -np.inf
    present = np.unique(codes)
    if len(present) == 1:
        weights[-1, present] = 0.0
        return weights
    # scikit-learn fits one column for two classes; half of it for each, with opposite signs, has
    # half of its penalty.
    strength = ridge / 2 if len(present) == 2 else ridge
    model = linear_model().LogisticRegression(C=1 / strength, tol=_TOLERANCE, max_iter=_MAX_STEPS)
    model.fit(rows, codes)
    columns = np.vstack([model.coef_.T, model.intercept_])
    weights[:, present] = np.hstack([-columns / 2, columns / 2]) if len(present) == 2 else columns
    return weights


def linear_model() -> Any:  # noqa: ANN401 - scikit-learn has no types
    """Return the linear models of scikit-learn."""
    try:
        from sklearn import linear_model as models
    except ImportError:
        raise MissingExtraError(
            "The logistic classifier needs scikit-learn: pip install 'veil[ml]'."
        ) from None
    return models


def softmax(scores: Floats) -> Floats:
    """Return the softmax of each row."""
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares
