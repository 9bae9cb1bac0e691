"""Checks of search among sensitive documents: mechanisms, attacks and classifiers."""

from typing import Any

import numpy as np

from veil import sensitive
from veil.core.types import Floats
from veil.corpus.collection import Document, Documents
from veil.sensitive.classifiers import Classifier
from veil.sensitive.collection import SensitiveCollection
from veil.sensitive.cross_validate import cross_validate
from veil.sensitive.evaluate import rank
from veil.sensitive.inputs import read_lists
from veil.sensitive.measures import Measure, Prices
from veil.sensitive.mechanism import Mechanism, Shown
from veil.testing.contract import (
    SEED,
    Attacking,
    Check,
    Part,
    Protection,
    declarations,
    fingerprint,
    parameters,
    require,
    share,
)

N, HOT, K = 100, 20, 10


def letters() -> SensitiveCollection:
    """Return letters of common and rare words; every fifth letter is sensitive."""
    rng = np.random.default_rng(3)
    common = [f"common{i}" for i in range(20)]
    rare = [f"rare{i}" for i in range(90)]
    labels = np.zeros(N, dtype=np.int8)
    labels[rng.permutation(N)[:HOT]] = 1
    documents = []
    for number, hot in enumerate(labels.tolist()):
        words = [*rng.choice(common, 8), *rng.choice(rare, 6), f"own{number}x", f"own{number}x"]
        words += ["diagnosis"] if hot and rng.random() < 0.7 else []
        documents.append(Document(f"d{number}", "", " ".join(words)))
    queries = {f"q{i}": f"common{i} rare{i}" for i in range(12)}
    grades = {
        name: {f"d{int(i)}": int(rng.integers(3)) for i in rng.permutation(N)[:30]}
        for name in queries
    }
    topics = {name: f"t{number // 2}" for number, name in enumerate(queries)}
    return SensitiveCollection(
        "letters", Documents.of(documents), queries, grades, sensitive=labels, topics=topics
    )


def judged(collection: SensitiveCollection) -> Floats:
    """Return probabilities of a classifier that misses four; two are withheld by hand."""
    p = np.where(collection.sensitive == 1, 0.9, 0.05)
    hot = np.flatnonzero(collection.sensitive == 1)
    p[hot[:4]], p[hot[4]], p[hot[5]] = 0.05, 1.0, np.nan
    return p


def _rank(mechanism: Mechanism, collection: SensitiveCollection, rng: Any) -> Shown:  # noqa: ANN401
    del rng  # nothing is drawn
    return rank(collection, mechanism, judged(collection), K)


_SHOWING = Protection(lambda _: letters(), _rank, list, lambda shown: shown.index)


def withholds(mechanism: Mechanism) -> None:
    """Check that documents judged sensitive, or not judged at all, are never shown."""
    collection = letters()
    p = judged(collection)
    shown = _rank(mechanism, collection, None)
    hidden = {collection.documents.ids[int(row)] for row in np.flatnonzero(~(p < 1))}
    require(
        not hidden & set(shown.items), "a document with p = 1 or without a p must not be shown"
    )
    require(shown.index.shape[0] == len(collection.queries), "there must be a list per query")
    for row, scores in zip(shown.index, shown.scores, strict=True):
        places = row[row >= 0].tolist()
        require(len(set(places)) == len(places), "a list must not show a document twice")
        require(bool((np.diff(scores[: len(places)]) <= 0).all()), "scores must not increase")


MECHANISM: tuple[Check, ...] = (*_SHOWING.checks, withholds)


def _attack(attack: Part, collection: SensitiveCollection, p: Floats) -> Any:  # noqa: ANN401
    return sensitive.attack(
        collection, "postfilter(threshold=0.5, refill=false)", p, attack, K, SEED
    )


def _open(_: Part) -> tuple[SensitiveCollection, Floats]:
    """Return an engine that withholds after ranking, from a classifier that misses some."""
    collection = letters()
    return collection, np.where(judged(collection) > 0.5, 0.9, 0.05)


def _shut(_: Part) -> Floats:
    """Return probabilities with which no sensitive document is shown, or leaves a gap."""
    return np.ones(N)


_ASKING = Attacking(_open, _attack, _shut)
ATTACK: tuple[Check, ...] = _ASKING.checks


def classifies_letters(classifier: Classifier) -> None:
    """Check the probabilities of a classifier, and that no other label is read."""
    collection = letters()
    before = fingerprint(collection.sensitive)
    p = cross_validate(collection, classifier, 3, 0).p
    require(p.shape == (N,) and share(p), "probabilities must be (n,) numbers from 0 to 1")
    require(fingerprint(collection.sensitive) == before, "a classifier must not modify the labels")
    require(
        bool(np.array_equal(p, cross_validate(collection, classifier, 3, 0).p)),
        "the same folds must give the same probabilities",
    )


def measures_lists(measure: Measure) -> None:
    """Check the values of a measure: their shape and limits, and that they can be repeated."""
    collection = letters()
    shown = rank(collection, "postfilter(threshold=0.5)", judged(collection), K)
    run = shown.run(list(collection.queries))
    lists = read_lists(run, collection.judgements, collection.labels, K)
    prices = Prices()
    before = fingerprint(lists.grades)
    values = measure.values(lists, prices)
    require(values.shape == (len(lists.queries),), "values must be (n,): one for each query")
    present = values[~np.isnan(values)]
    require(
        bool(((present >= measure.lowest - 1e-9) & (present <= measure.highest + 1e-9)).all()),
        "values must be between `lowest` and `highest`",
    )
    require(
        bool(np.array_equal(values, measure.values(lists, prices), equal_nan=True)),
        "the same lists must have the same values",
    )
    require(fingerprint(lists.grades) == before, "a measure must not modify its input")


MEASURE: tuple[Check, ...] = (declarations, parameters, measures_lists)
CLASSIFIER: tuple[Check, ...] = (declarations, parameters, classifies_letters)
