"""Fit models both ways: for a topic and a document, one that has seen neither.

The same documents are candidates of every topic. Folds over topics alone let a tree learn single
documents by their features, p above all, and figures come out too high: nCS-DCG .947 instead of
.923 for the joint model on SARA. So models leave out a fold of topics and a fold of documents.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import generator
from veil.core.types import Floats, Ids
from veil.sensitive.candidates import Candidates, Retriever, retrieved
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.folds import copies, folds_of

FOLDS = 5
SAYS = (
    "Models were cross-fitted both ways: each scored a document for a topic that it was fitted"
    " without, and without that document, its copies and the others of its fold."
)


class Scorer(Protocol):
    """A fitted model."""

    def __call__(self, features: Floats) -> Floats:
        """Return a value (m,) of rows (m, d)."""
        ...


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows to learn from, query by query.

    Attributes
    ----------
    features, grades, sensitive
        (m, d), (m,) and (m,).
    sizes
        Number of rows of each query.
    """

    features: Floats
    grades: Ids
    sensitive: Ids
    sizes: list[int]


Fit = Callable[[Examples], Scorer]


class TwoWay:
    """Models of one kind, each fitted when it is first needed, and kept."""

    def __init__(
        self,
        collection: SensitiveCollection,
        retriever: Retriever,
        fit: Fit,
        extra: Floats | None = None,
    ) -> None:
        labels = collection.sensitive
        if (labels < 0).any() or not collection.judgements:
            raise InputError(
                "A strategy that learns needs judgements, and a label for every document."
            )
        self._collection, self._fit, self._extra = collection, fit, extra
        groups = copies(collection.documents.texts)
        self._documents = folds_of(labels, groups, FOLDS, generator(0))
        topics = sorted(collection.judged_topics)
        order = generator(1).permutation(len(topics))
        self._topics = {topics[place]: at % FOLDS for at, place in enumerate(order.tolist())}
        names = [query for query in collection.queries if collection.judgements.get(query)]
        self._of = [collection.topic(query) for query in names]
        self._found = retrieved(retriever, [collection.queries[query] for query in names])
        self._models: dict[tuple[int, int], Scorer] = {}

    def scores(self, found: Candidates, topic: str) -> Floats:
        """Return the value of each candidate of a query, by models that know neither."""
        values = np.empty(len(found.positions))
        fold = self._topics.get(topic, -1)  # of a query of no topic none is left out
        own = self._documents[found.positions]
        for number in np.unique(own).tolist():
            rows = own == number
            values[rows] = self._model(fold, number)(self._rows(found, rows))
        return values

    def _rows(self, found: Candidates, rows: np.ndarray) -> Floats:
        if self._extra is None:
            return np.asarray(found.features[rows])
        beside = self._extra[found.positions[rows]]
        return np.concatenate([found.features[rows], beside[:, None]], axis=1)

    def _model(self, fold: int, number: int) -> Scorer:
        if (fold, number) not in self._models:
            self._models[fold, number] = self._fit(self._examples(fold, number))
        return self._models[fold, number]

    def _examples(self, fold: int, number: int) -> Examples:
        """Gather the candidates of other topics among documents of other folds."""
        features, sensitive, sizes = [], [], []
        grades: list[int] = []
        for topic, found in zip(self._of, self._found, strict=True):
            rows = self._documents[found.positions] != number
            if self._topics[topic] == fold or not rows.any():
                continue
            judged = self._collection.judged_topics[topic]
            places = found.positions[rows]
            features.append(self._rows(found, rows))
            grades.extend(max(0, judged.get(place, 0)) for place in places.tolist())
            sensitive.append(self._collection.sensitive[places])
            sizes.append(int(rows.sum()))
        if not sizes:
            raise InputError("There are too few topics to learn from; two-way folds need five.")
        return Examples(
            np.concatenate(features),
            np.array(grades, dtype=np.int64),
            np.concatenate(sensitive).astype(np.int64),
            sizes,
        )


def logits(p: Floats) -> Floats:
    """Return the log-odds of probabilities, of 0 and 1 and unknown ones, too."""
    held = np.clip(np.nan_to_num(p, nan=1.0), 1e-6, 1 - 1e-6)
    odds: Floats = np.log(held / (1 - held))
    return odds
