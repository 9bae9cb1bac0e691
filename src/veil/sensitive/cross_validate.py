"""Sensitivity probabilities: folds, calibration, and a model for new documents."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.formatting import brief
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.corpus.collection import Document, Documents
from veil.sensitive.candidates import best, matcher
from veil.sensitive.classifiers import Classifier, Fitted
from veil.sensitive.classifiers import classifier as classifier_of
from veil.sensitive.collection import Labels, SensitiveCollection
from veil.sensitive.features import Mail, Numbers, Reader, body_of, mail_of, mails_of
from veil.sensitive.measures import auc, average_precision, brier, calibration_error

INNER = 4  # folds
EDGE = 1e-6  # no model is certain: 0 and 1 are human labels
_STEPS = 100


@dataclass(frozen=True, slots=True)
class Platt:
    """p = 1/(1 + exp(-(slope * score + offset)))."""

    slope: float
    offset: float

    def apply(self, scores: Floats) -> Floats:
        """Return probabilities (n,), never exactly 0 or 1."""
        logits = np.clip(self.slope * scores + self.offset, -30, 30)
        return np.clip(1 / (1 + np.exp(-logits)), EDGE, 1 - EDGE)


def platt(scores: Floats, labels: Labels) -> Platt:
    """Return slope and offset of maximum likelihood, with Platt's smoothed targets.

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


def fit_calibrated(
    classifier: Classifier, numbers: Numbers, rows: Ids, labels: Labels, inner: Ids
) -> tuple[Fitted, Platt]:
    """Fit a model to `rows`, and its calibration to out-of-fold scores.

    `inner` (m,) is the fold of each of `rows`.
    """
    scores = np.empty(len(rows))
    for fold in np.unique(inner):
        out = inner == fold
        model = classifier.fit(numbers, rows[~out], labels)
        scores[out] = model.scores(numbers, rows[out])
    return classifier.fit(numbers, rows, labels), platt(scores, labels[rows])


_START = 200  # leading characters that two copies share
_SPACE = re.compile(r"\W+")


def copies(texts: Iterable[str]) -> Ids:
    """Return the group (n,) of each text; texts with the same beginning form a group.

    Mail headers are skipped, because copies have different ones.

    >>> copies(["Dear all,  hello", "dear all: Hello", "Bye"]).tolist()
    [0, 0, 1]
    """
    numbers: dict[str, int] = {}
    starts = (_SPACE.sub(" ", body_of(text).lower())[:_START] for text in texts)
    return np.array([numbers.setdefault(start, len(numbers)) for start in starts], dtype=np.int64)


def folds_of(labels: Labels, groups: Ids, folds: int, rng: Generator) -> Ids:
    """Return the fold (n,) of each document, with whole groups and evenly spread labels.

    Groups come in a random order, those with sensitive documents first and large ones before
    small ones; each goes to the fold with the fewest sensitive documents, then the fewest of all.
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= 100:
        raise ParameterError("The 'folds' argument must be an integer from 2 to 100.")
    number, members = np.unique(groups, return_inverse=True)
    sizes = np.bincount(members)
    hot = np.bincount(members, labels == 1).astype(np.int64)
    order = rng.permutation(len(number))
    order = order[np.lexsort((-sizes[order], -hot[order]))]
    full = np.zeros((folds, 2), dtype=np.int64)
    place = np.zeros(len(number), dtype=np.int64)
    for group in order.tolist():
        keys = (full[:, 1], full[:, 0]) if hot[group] else (full[:, 1],)
        fold = int(np.lexsort(keys)[0])
        place[group] = fold
        full[fold] += hot[group], sizes[group]
    _check(labels, place[members], folds)
    assigned: Ids = place[members]
    return assigned


def _check(labels: Labels, fold: Ids, folds: int) -> None:
    for number in range(folds):
        if len(np.unique(labels[fold == number])) < 2:
            raise InputError(
                "Each fold must have both classes. Use more documents of both classes, or fewer"
                " folds."
            )


CANDIDATES = 100  # number of candidates of a query


@brief("spec", "p")
@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Out-of-fold probabilities and their quality.

    Attributes
    ----------
    p
        (n,) in document order; nan without a label.
    fold
        (n,) test fold of each document; -1 without a label.
    auc, average_precision, brier, ece
        Over all labelled documents; ece is the expected calibration error in ten equal bins.
    candidate_auc, candidate_share
        AUC, and the share of sensitive documents, among the best 100 by BM25 of each query, where
        a mechanism has to tell them apart: the overall AUC is too optimistic. nan without queries.
    """

    p: Floats
    fold: Ids
    auc: float
    average_precision: float
    brier: float
    ece: float
    candidate_auc: float
    candidate_share: float
    spec: str


def cross_validate(
    collection: SensitiveCollection,
    classifier: str | Classifier = "logistic",
    folds: int = 5,
    rng: Randomness = 0,
) -> CrossValidated:
    """Return calibrated probabilities, each from models that were not trained on the document.

    Folds have equally many sensitive documents, and copies (texts with the same beginning) share a
    fold. Calibration uses inner out-of-fold scores, never scores of training documents.
    """
    learner = classifier_of(classifier)
    labelled = collection.known()
    labels = collection.sensitive
    if len(np.unique(labels[labelled])) < 2:
        raise InputError("Training needs labelled documents of both classes. Label some.")
    random = generator(rng)
    reader = Reader(mails_of(collection), learner.features)
    groups = copies(collection.documents.texts)
    fold = np.full(len(labels), -1, dtype=np.int64)
    fold[labelled] = folds_of(labels[labelled], groups[labelled], folds, random)
    p = np.full(len(labels), np.nan)
    for number in range(folds):
        rows = np.flatnonzero((fold >= 0) & (fold != number))
        inner = folds_of(labels[rows], groups[rows], INNER, random)
        model, scale = fit_calibrated(learner, reader.learnt, rows, labels, inner)
        out = np.flatnonzero(fold == number)
        p[out] = scale.apply(model.scores(reader.learnt, out))
    estimates, truth = p[labelled], labels[labelled]
    near = candidates(collection)
    near = near[labels[near] >= 0]
    return CrossValidated(
        p=p,
        fold=fold,
        auc=auc(estimates, truth),
        average_precision=average_precision(estimates, truth),
        brier=brier(estimates, truth),
        ece=calibration_error(estimates, truth),
        candidate_auc=auc(p[near], labels[near]),
        candidate_share=float((labels[near] == 1).mean()) if len(near) else float("nan"),
        spec=str(learner),
    )


def candidates(collection: SensitiveCollection) -> Ids:
    """Return the best documents of every query, concatenated."""
    engine = matcher(collection) if collection.queries else None
    every = np.ones(len(collection.documents), dtype=np.bool_)
    rows = [
        best(engine.scores(text), CANDIDATES, every)
        for text in collection.queries.values()
        if engine is not None
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


@dataclass(frozen=True, eq=False)
class Model:
    """A calibrated classifier. It contains words of its training documents: keep it safe."""

    spec: str
    hidden: frozenset[str]
    _reader: Reader
    _fitted: Fitted
    _scale: Platt

    def predict(self, documents: Iterable[Document | Mail | Mapping[str, object] | str]) -> Floats:
        """Return the probability that each document (n,) is sensitive.

        A document is a `Document`, a text, or a mapping with title, text, date, from, recipients.
        """
        if isinstance(documents, str | Mapping):
            raise InputError("'documents' must be a list. Put a single document into one.")
        items = _unpacked(documents) if isinstance(documents, Documents) else documents
        mails = [mail_of(item, self.hidden) for item in items]
        if not mails:
            return np.empty(0)
        numbers = self._reader.read(mails)
        return self._scale.apply(self._fitted.scores(numbers, np.arange(len(mails))))


def train(
    collection: SensitiveCollection,
    classifier: str | Classifier = "logistic",
    rng: Randomness = 0,
) -> Model:
    """Fit a classifier to all labelled documents, calibrated on inner out-of-fold scores."""
    learner = classifier_of(classifier)
    rows, labels = collection.known(), collection.sensitive
    if len(np.unique(labels[rows])) < 2:
        raise InputError("Training needs labelled documents of both classes. Label some.")
    groups = copies(collection.documents.texts)
    inner = folds_of(labels[rows], groups[rows], INNER, generator(rng))
    mails = mails_of(collection)
    reader = Reader([mails[row] for row in rows], learner.features)
    own = np.arange(len(rows))
    fitted, scale = fit_calibrated(learner, reader.learnt, own, labels[rows], inner)
    return Model(str(learner), collection.hidden, reader, fitted, scale)


def _unpacked(documents: Documents) -> Iterable[Document]:
    return map(Document, documents.ids, documents.titles, documents.texts)
