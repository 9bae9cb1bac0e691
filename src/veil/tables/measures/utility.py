"""Utility of a release, from 0 to 1."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, overload

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.component import Component
from veil.core.errors import InputError, ParameterError
from veil.core.registry import Registry
from veil.core.types import Floats, Ids
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import CellRelease, cell_utility
from veil.tables.column import Column
from veil.tables.measures.pair import Bins, Pair, Placed, Released, contingency, distance, shares
from veil.tables.table import Table


class Utility(Component):
    """The utility of a release, from 0 to 1; 1 is the original."""

    @abstractmethod
    def score(self, pair: Pair) -> float:
        """Compare a release with its original."""


class CellUtility(Utility):
    """1 minus the mean loss of a cell.

    Numbers lose min(1, |x - x'|/(sqrt 2 sd)), generalised values the share of the domain that
    their label covers (ncp), changed or blanked values 1; so do all cells of suppressed rows.
    """

    name: ClassVar[str] = "cells"

    @override
    def score(self, pair: Pair) -> float:
        rows = len(pair.required_rows)
        lost = sum(float(cell_losses(pair, name).sum()) for name in pair.columns)
        cells = (rows + pair.removed) * len(pair.columns)
        return 1 - (lost + pair.removed * len(pair.columns)) / max(1, cells)


def cell_losses(pair: Pair, name: str) -> Floats:
    """Return the loss of each released value of a column (m,), from 0 to 1."""
    rows, column = pair.required_rows, pair.original.column(name)
    released, original = pair.released.column(name), column.take(rows)
    if original.numeric and released.numeric:
        return _moved(original, released, spread(column))
    return label_losses(pair, name)


def spread(column: Column) -> float:
    """Return the sample standard deviation of the present numbers; 0 for fewer than two."""
    present = column.values[~column.missing]
    return float(present.std(ddof=1)) if len(present) > 1 else 0.0


def _moved(original: Column, released: Column, sd: float) -> Floats:
    difference = np.abs(original.values - released.values)
    scale = math.sqrt(2) * sd
    lost = (
        np.minimum(1.0, difference / scale) if scale > 0 else (difference > 0).astype(np.float64)
    )
    gaps = original.missing | released.missing
    changed = (original.missing != released.missing).astype(np.float64)
    losses: Floats = np.where(gaps, changed, lost)
    return losses


def label_losses(pair: Pair, name: str) -> Floats:
    """Return the loss of each value by its label (m,): 0, ncp, or 1."""
    column, released = pair.original.column(name), pair.released.column(name)
    rows = pair.required_rows
    level = pair.levels.get(name, 0)
    place = {} if level else {label: i for i, label in enumerate(column.categories)}
    meanings = pair.bins(name).meanings.of(released.categories)
    same = np.array([place.get(label, -2) for label in released.categories], dtype=np.int64)
    wide = np.array([meaning.loss for meaning in meanings])
    codes, original = released.codes, column.codes[rows]
    at, loss = np.append(same, -1)[codes], np.append(wide, 1.0)[codes]
    return np.where(at == original, 0.0, np.where(at == -2, loss, 1.0))


class Marginals(Utility):
    """1 minus the mean total variation distance over all pairs of released columns.

    Columns of more than ten numbers are cut at the original's deciles. A generalised label spreads
    its record evenly over the values of the original column below it, a star or a suppressed row
    over all values; values that the original lacks share an extra bin. For samples and synthetic
    data, shares are those of the release. With a single column it is that column's distance.
    """

    name: ClassVar[str] = "marginals"

    @override
    def score(self, pair: Pair) -> float:
        names = pair.columns
        together = list(combinations(names, min(2, len(names))))
        return max(0.0, 1 - float(np.mean([distance(pair, names_) for names_ in together])))


_LAPLACE = 1.0


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Log shares of the classes (k,) and, per column, of its bins in each class (k, bins)."""

    prior: Floats
    columns: tuple[Floats, ...]

    def predict(self, features: Sequence[Ids]) -> Ids:
        """Return the most likely class of rows, whose features are bins; ties go to the first."""
        scores = np.repeat(self.prior[:, None], len(features[0]), axis=1)
        for table, codes in zip(self.columns, features, strict=True):
            scores += table[:, codes]
        best: Ids = scores.argmax(axis=0)
        return best


def fit_naive_bayes(
    target: tuple[Bins, Placed], features: Sequence[tuple[Bins, Placed]]
) -> NaiveBayes:
    """Return the fitted model; labels are spread over the bins below them, also in the target.

    Smoothing adds one to each bin that occurs in original or released rows.
    """
    bins, classes = target
    counts = shares(bins, classes)[: bins.value_bins] * len(classes.codes)
    prior = np.log((counts + _LAPLACE) / (counts + _LAPLACE).sum())
    tables = []
    for column, placed in features:
        kinds = classes.weights.shape[0], placed.weights.shape[0]
        met = contingency(classes.codes, placed.codes, kinds)
        joint = (classes.weights.T[: bins.value_bins] @ met @ placed.weights).toarray()
        used = np.bincount(column.codes, minlength=column.size) > 0
        used |= joint.sum(axis=0) > 0
        joint += _LAPLACE * used
        with np.errstate(divide="ignore"):
            tables.append(np.log(joint / joint.sum(axis=1, keepdims=True)))
    return NaiveBayes(prior, tuple(tables))


_EVERY, _TESTED = 3, 2  # rows with index mod 3 = 2 are for testing


@dataclass(frozen=True)
class Learnt:
    """Accuracy of classifiers on original rows that they were not trained on.

    Attributes
    ----------
    accuracy, original
        Of classifiers trained on the release, and on the original.
    majority
        Of always predicting the most frequent class.
    """

    accuracy: float
    original: float
    majority: float

    @property
    def score(self) -> float:
        """Share of the accuracy beyond the majority that remains, from 0 to 1."""
        gained = self.original - self.majority
        if gained <= 0:
            raise InputError(
                "A classifier trained on the original is no better than the most frequent class."
                " Choose another target."
            )
        return min(1.0, max(0.0, (self.accuracy - self.majority) / gained))


class ML(Utility):
    """Accuracy of a classifier trained on the release, relative to one trained on the original.

    (accuracy' - majority)/(accuracy - majority), clipped to [0, 1]. Every third row of the
    original is for testing, and never masked. Naive Bayes with Laplace smoothing; columns of more
    than ten numbers are cut at the original's deciles, and labels are spread over the values below
    them.
    """

    name: ClassVar[str] = "ml"
    target: Annotated[
        str, Field(description="column to predict; by default the confidential one")
    ] = ""

    @override
    def score(self, pair: Pair) -> float:
        return train_and_test(pair, self.target).score


def train_and_test(pair: Pair, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
    """Train on the original and on the release, and test both on original rows.

    `estimator` is any object with ``fit(X, y)`` and ``predict(X)``, such as those of scikit-learn.
    X has a column for each bin, and y is the code of the class. All synthetic rows are used for
    training; they may derive from tested ones.
    """
    name = _target(pair, target)
    features = tuple(column for column in pair.columns if column != name)
    if not features:
        raise InputError("There is no column to predict from.")
    bins = pair.bins(name)
    numbers = np.arange(len(pair.original))
    has_class = bins.codes < bins.value_bins
    tested = np.flatnonzero((numbers % _EVERY == _TESTED) & has_class)
    train = np.flatnonzero((numbers % _EVERY != _TESTED) & has_class)
    used = numbers[: len(pair.released)]
    if pair.rows is not None:
        used = np.flatnonzero(pair.rows % _EVERY != _TESTED)
    if not len(tested) or not len(train) or not len(used):
        raise InputError("There are too few rows to learn from and to test with.")
    task = _Task(pair, name, features, tested, estimator)
    truth = bins.codes[tested]
    most = np.bincount(bins.codes[train], minlength=bins.value_bins)[: bins.value_bins].argmax()
    return Learnt(
        task.accuracy(
            {column: _released(pair.placed(column), used) for column in (name, *features)}
        ),
        task.accuracy(
            {column: _original(pair.bins(column), train) for column in (name, *features)}
        ),
        float((truth == most).mean()),
    )


def _target(pair: Pair, target: str) -> str:
    if not target:
        if len(pair.original.confidential) != 1:
            raise InputError("Name the column to predict with target=.")
        target = pair.original.confidential[0]
    pair.original.column(target)
    if target not in pair.columns:
        raise InputError(f"The release has no column '{target}' to predict.")
    return target


def _original(bins: Bins, rows: Ids) -> Placed:
    from veil.tables.measures.pair import sparse

    return Placed(bins.codes[rows], sparse().identity(bins.size, format="csr"))


def _released(placed: Placed, rows: Ids) -> Placed:
    return Placed(placed.codes[rows], placed.weights)


@dataclass(frozen=True, eq=False)
class _Task:
    """Predicts a column of the tested rows from other columns."""

    pair: Pair
    target: str
    features: tuple[str, ...]
    tested: Ids
    estimator: Any

    def accuracy(self, train: dict[str, Placed]) -> float:
        """Return the share of right predictions."""
        truth = self.pair.bins(self.target).codes[self.tested]
        if self.estimator is None:
            model = fit_naive_bayes(
                (self.pair.bins(self.target), train[self.target]),
                [(self.pair.bins(column), train[column]) for column in self.features],
            )
            tested = [self.pair.bins(column).codes[self.tested] for column in self.features]
            return float((model.predict(tested) == truth).mean())
        classes = train[self.target].codes
        single = np.flatnonzero(classes < self.pair.bins(self.target).value_bins)
        if not len(single):
            raise InputError("No released row has a class of the original.")
        self.estimator.fit(self._matrix(train, single), classes[single])
        exact = {
            column: _original(self.pair.bins(column), self.tested) for column in self.features
        }
        predicted = self.estimator.predict(self._matrix(exact, np.arange(len(self.tested))))
        return float((np.asarray(predicted) == truth).mean())

    def _matrix(self, placed: dict[str, Placed], rows: Ids) -> Floats:
        """Return the shares of rows in the bins of all features (rows, bins)."""
        parts = [
            placed[column].weights[placed[column].codes[rows]].toarray()
            for column in self.features
        ]
        return np.concatenate(parts, axis=1)


UTILITIES: Registry[Utility] = Registry(
    noun="measure of utility",
    group="veil.measures.tables",
    builtin={
        "cells": "veil.tables.measures.utility:CellUtility",
        "marginals": "veil.tables.measures.utility:Marginals",
        "ml": "veil.tables.measures.utility:ML",
    },
)


@overload
def utility(
    t: Table,
    r: Released,
    measure: str | Utility = "marginals",
    *,
    columns: Sequence[str] | None = None,
    target: str = "",
    estimator: Any = None,  # noqa: ANN401 - as of scikit-learn
) -> float: ...
@overload
def utility(t: Cells, r: CellRelease) -> float: ...
def utility(
    t: Any,
    r: Any,
    measure: str | Utility = "marginals",
    *,
    columns: Sequence[str] | None = None,
    target: str = "",
    estimator: Any = None,
) -> float:
    """Return the utility of a release, from 0 to 1.

    Parameters
    ----------
    t, r
        The original, and its release, or a table whose row i is row i of the original. Cells and
        their release have one measure: 1 minus the suppressed and changed amounts, as a share of
        the total.
    measure
        "marginals", "cells" or "ml", or a plugin's; also with parameters.
    columns
        Columns to compare; by default all shared ones.
    target, estimator
        For "ml": the column to predict, and any object with ``fit`` and ``predict``.
    """
    if isinstance(t, Cells) or isinstance(r, CellRelease):
        if not (isinstance(t, Cells) and isinstance(r, CellRelease)):
            raise InputError("Cells must be compared with a release of cells, from protect.")
        if measure != "marginals" or columns is not None or target or estimator is not None:
            raise ParameterError("Cells have one measure, and no columns to choose.")
        return cell_utility(t, r)
    metric = UTILITIES.parse(measure) if isinstance(measure, str) else measure
    pair = Pair.of(t, r, columns)
    if isinstance(metric, ML):
        return train_and_test(pair, target or metric.target, estimator).score
    if target or estimator is not None:
        raise ParameterError("Only the measure 'ml' has a target and an estimator.")
    return metric.score(pair)
