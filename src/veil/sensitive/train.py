"""A classifier of everything that is labelled, for documents never seen."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import Randomness, generator
from veil.core.types import Floats
from veil.corpus.collection import Document, Documents
from veil.sensitive.calibrate import INNER, Platt, calibrated
from veil.sensitive.classifier import Classifier, Fitted
from veil.sensitive.classifiers import classifier as classifier_of
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.features.reader import Reader
from veil.sensitive.folds import copies, folds_of
from veil.sensitive.mails import Mail, mail_of, mails_of


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
    fitted, scale = calibrated(chosen, reader.learnt, own, labels[rows], inner)
    return Model(str(chosen), collection.hidden, reader, fitted, scale)


def _unpacked(documents: Documents) -> Iterable[Document]:
    return map(Document, documents.ids, documents.titles, documents.texts)
