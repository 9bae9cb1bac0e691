"""How likely each document is sensitive, said by a model that has never seen it."""

from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.sensitive.calibrate import INNER, calibrated
from veil.sensitive.classifier import Classifier
from veil.sensitive.classifiers import classifier as classifier_of
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.features.reader import Reader
from veil.sensitive.folds import copies, folds_of
from veil.sensitive.mails import mails_of
from veil.sensitive.matching import best, matcher
from veil.sensitive.measures.calibration import auc, average_precision, brier, calibration_error

CANDIDATES = 100  # of a query, among which a strategy chooses


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
        is where a strategy has to tell them apart: the overall AUC flatters. nan without queries.
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
        model, scale = calibrated(chosen, reader.learnt, rows, labels, inner)
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
