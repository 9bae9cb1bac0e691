"""Probabilities of being sensitive: folds, calibration, and a model for new documents."""

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


def fit_calibrated(
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


_START = 200  # characters of the folded text that make two documents copies
_SPACE = re.compile(r"\W+")


def copies(texts: Iterable[str]) -> Ids:
    """Return the group (n,) of each text; those that begin alike are one group.

    Heads of mails do not count: copies have others.

    >>> copies(["Dear all,  hello", "dear all: Hello", "Bye"]).tolist()
    [0, 0, 1]
    """
    numbers: dict[str, int] = {}
    starts = (_SPACE.sub(" ", body_of(text).lower())[:_START] for text in texts)
    return np.array([numbers.setdefault(start, len(numbers)) for start in starts], dtype=np.int64)


def folds_of(labels: Labels, groups: Ids, folds: int, rng: Generator) -> Ids:
    """Return the fold (n,) of each document: whole groups, and labels spread evenly.

    Groups come in a random order, those with sensitive documents first and large ones before
    small ones; each goes where the fewest sensitive documents are, then the fewest of all.
    """
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or not 2 <= folds <= 100:
        raise ParameterError("The 'folds' argument must be a whole number from 2 to 100.")
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
    found: Ids = place[members]
    return found


def _check(labels: Labels, fold: Ids, folds: int) -> None:
    for number in range(folds):
        if len(np.unique(labels[fold == number])) < 2:
            raise InputError(
                "A fold has fewer than two classes; give more documents of both kinds, or fewer"
                " folds."
            )


CANDIDATES = 100  # of a query, among which a mechanism chooses


@brief("spec", "p")
@dataclass(frozen=True, eq=False)
class CrossValidated:
    """Out-of-fold probabilities and how good they are.

    Attributes
    ----------
    p
        (n,) in document order; nan where nobody has given a label.
    fold
        (n,) which fold each document was tested in; -1 without a label.
    auc, average_precision, brier, ece
        Over all labelled documents; ece is the expected calibration error in ten equal bins.
    candidate_auc, candidate_share
        AUC, and the share of sensitive documents, among the best 100 by BM25 of each query, which
        is where a mechanism has to tell them apart: the overall AUC flatters. nan without queries.
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
    """Return calibrated probabilities; each comes from models that left the document out.

    Folds have as many sensitive documents each, and copies (texts that begin alike) are in one.
    Calibration is fitted to inner out-of-fold scores, never to those of training.
    """
    chosen = classifier_of(classifier)
    known = collection.known()
    labels = collection.sensitive
    if len(np.unique(labels[known])) < 2:
        raise InputError("Learning needs labelled documents of both kinds.")
    random = generator(rng)
    reader = Reader(mails_of(collection), chosen.features)
    groups = copies(collection.documents.texts)
    fold = np.full(len(labels), -1, dtype=np.int64)
    fold[known] = folds_of(labels[known], groups[known], folds, random)
    p = np.full(len(labels), np.nan)
    for number in range(folds):
        rows = np.flatnonzero((fold >= 0) & (fold != number))
        inner = folds_of(labels[rows], groups[rows], INNER, random)
        model, scale = fit_calibrated(chosen, reader.learnt, rows, labels, inner)
        out = np.flatnonzero(fold == number)
        p[out] = scale.apply(model.scores(reader.learnt, out))
    told, truth = p[known], labels[known]
    near = candidates(collection)
    near = near[labels[near] >= 0]
    return CrossValidated(
        p=p,
        fold=fold,
        auc=auc(told, truth),
        average_precision=average_precision(told, truth),
        brier=brier(told, truth),
        ece=calibration_error(told, truth),
        candidate_auc=auc(p[near], labels[near]),
        candidate_share=float((labels[near] == 1).mean()) if len(near) else float("nan"),
        spec=str(chosen),
    )


def candidates(collection: SensitiveCollection) -> Ids:
    """Return the best documents of every query, one after the other."""
    found = matcher(collection) if collection.queries else None
    every = np.ones(len(collection.documents), dtype=np.bool_)
    rows = [
        best(found.scores(text), CANDIDATES, every)
        for text in collection.queries.values()
        if found is not None
    ]
    return np.concatenate([np.empty(0, dtype=np.int64), *rows])


@dataclass(frozen=True, eq=False)
class Model:
    """A calibrated classifier. It holds words of the documents it was trained on: keep it safe."""

    spec: str
    hidden: frozenset[str]
    _reader: Reader
    _fitted: Fitted
    _scale: Platt

    def predict(self, documents: Iterable[Document | Mail | Mapping[str, object] | str]) -> Floats:
        """Return how likely each document (n,) is sensitive.

        A document is a `Document`, a text, or a mapping with title, text, date, from, recipients.
        """
        if isinstance(documents, str | Mapping):
            raise InputError("Documents are a list; put a single one into a list.")
        given = _unpacked(documents) if isinstance(documents, Documents) else documents
        mails = [mail_of(one, self.hidden) for one in given]
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
    chosen = classifier_of(classifier)
    rows, labels = collection.known(), collection.sensitive
    if len(np.unique(labels[rows])) < 2:
        raise InputError("Learning needs labelled documents of both kinds.")
    groups = copies(collection.documents.texts)
    inner = folds_of(labels[rows], groups[rows], INNER, generator(rng))
    mails = mails_of(collection)
    reader = Reader([mails[row] for row in rows], chosen.features)
    own = np.arange(len(rows))
    fitted, scale = fit_calibrated(chosen, reader.learnt, own, labels[rows], inner)
    return Model(str(chosen), collection.hidden, reader, fitted, scale)


def _unpacked(documents: Documents) -> Iterable[Document]:
    return map(Document, documents.ids, documents.titles, documents.texts)
