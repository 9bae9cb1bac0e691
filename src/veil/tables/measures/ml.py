"""Utility by machine learning: what a classifier learns of the release."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.tables.measures.bins import Bins, Placed
from veil.tables.measures.measure import Utility
from veil.tables.measures.naive_bayes import fitted
from veil.tables.measures.pair import Pair

_EVERY, _TESTED = 3, 2  # rows with index mod 3 = 2 are for testing


@dataclass(frozen=True)
class Learnt:
    """How often a classifier is right about original rows that it never saw.

    Attributes
    ----------
    accuracy, original
        Trained on the release; trained on the original.
    majority
        Of who always says the most frequent class.
    """

    accuracy: float
    original: float
    majority: float

    @property
    def score(self) -> float:
        """What is left of what can be learnt beyond the majority, from 0 to 1."""
        gained = self.original - self.majority
        if gained <= 0:
            raise InputError(
                "The original itself teaches no more than the most frequent class; choose another"
                " target."
            )
        return min(1.0, max(0.0, (self.accuracy - self.majority) / gained))


class ML(Utility):
    """What a classifier that learns from the release keeps of one that learns from the original.

    (accuracy' - majority)/(accuracy - majority), cut to [0, 1]. Every third row of the original is
    for testing, and never masked. Naive Bayes with Laplace smoothing; numbers of more than ten
    values are cut at the original's deciles, and labels spread over the values below them.
    """

    name: ClassVar[str] = "ml"
    target: Annotated[
        str, Field(description="column to be predicted; else the confidential one")
    ] = ""

    def score(self, pair: Pair) -> float:
        """Learn and test."""
        return learnt(pair, self.target).score


def learnt(pair: Pair, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
    """Train on the original and on the release, and test both on original rows.

    `estimator` is any object with ``fit(X, y)`` and ``predict(X)``, as of scikit-learn; X has a
    column for each bin, and y is the class by its number. Synthetic rows all train: they may have
    been made of the tested ones.
    """
    name = _target(pair, target)
    features = tuple(one for one in pair.columns if one != name)
    if not features:
        raise InputError("There is no column to predict from.")
    bins = pair.bins(name)
    numbers = np.arange(len(pair.original))
    known = bins.codes < bins.named
    tested = np.flatnonzero((numbers % _EVERY == _TESTED) & known)
    train = np.flatnonzero((numbers % _EVERY != _TESTED) & known)
    used = numbers[: len(pair.released)]
    if pair.rows is not None:
        used = np.flatnonzero(pair.rows % _EVERY != _TESTED)
    if not len(tested) or not len(train) or not len(used):
        raise InputError("There are too few rows to learn from and to test with.")
    task = _Task(pair, name, features, tested, estimator)
    truth = bins.codes[tested]
    most = np.bincount(bins.codes[train], minlength=bins.named)[: bins.named].argmax()
    return Learnt(
        task.accuracy({one: _kept(pair.placed(one), used) for one in (name, *features)}),
        task.accuracy({one: _true(pair.bins(one), train) for one in (name, *features)}),
        float((truth == most).mean()),
    )


def _target(pair: Pair, target: str) -> str:
    if not target:
        if len(pair.original.confidential) != 1:
            raise InputError("Name the column to be predicted, by target=.")
        target = pair.original.confidential[0]
    pair.original.column(target)
    if target not in pair.columns:
        raise InputError(f"The release has no column '{target}' to be predicted.")
    return target


def _true(bins: Bins, rows: Ids) -> Placed:
    """Return original rows, each in its bin."""
    from veil.tables.measures.bins import sparse

    return Placed(bins.codes[rows], sparse().identity(bins.size, format="csr"))


def _kept(placed: Placed, rows: Ids) -> Placed:
    return Placed(placed.codes[rows], placed.weights)


@dataclass(frozen=True, eq=False)
class _Task:
    """Predict a column of the tested rows from others."""

    pair: Pair
    target: str
    features: tuple[str, ...]
    tested: Ids
    estimator: Any

    def accuracy(self, train: dict[str, Placed]) -> float:
        """Return how often the class is right."""
        truth = self.pair.bins(self.target).codes[self.tested]
        if self.estimator is None:
            model = fitted(
                (self.pair.bins(self.target), train[self.target]),
                [(self.pair.bins(one), train[one]) for one in self.features],
            )
            tested = [self.pair.bins(one).codes[self.tested] for one in self.features]
            return float((model.predict(tested) == truth).mean())
        classes = train[self.target].codes
        plain = np.flatnonzero(classes < self.pair.bins(self.target).named)
        if not len(plain):
            raise InputError("No released row has a class that the original has.")
        self.estimator.fit(self._matrix(train, plain), classes[plain])
        exact = {one: _true(self.pair.bins(one), self.tested) for one in self.features}
        found = self.estimator.predict(self._matrix(exact, np.arange(len(self.tested))))
        return float((np.asarray(found) == truth).mean())

    def _matrix(self, placed: dict[str, Placed], rows: Ids) -> Floats:
        """Return a column for each bin of each feature (rows, bins)."""
        parts = [placed[one].weights[placed[one].codes[rows]].toarray() for one in self.features]
        return np.concatenate(parts, axis=1)
