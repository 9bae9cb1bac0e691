"""Utility of a release, from 0 to 1."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar, overload

import numpy as np
from pydantic import Field

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
    """What a release is still worth, from 0 to 1; 1 is the original itself."""

    @abstractmethod
    def score(self, pair: Pair) -> float:
        """Compare a release with its original."""


class CellUtility(Utility):
    """1 minus the mean loss of a cell.

    Numbers lose min(1, |x - x'|/(sqrt 2 sd)), generalised values the share of the domain that
    their label covers (ncp), changed ones and blanked ones 1; so do all cells of suppressed rows.
    """

    name: ClassVar[str] = "cells"

    def score(self, pair: Pair) -> float:
        """Compare every cell."""
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
    """Return the sample standard deviation of the numbers that are there; 0 of fewer than two."""
    there = column.values[~column.missing]
    return float(there.std(ddof=1)) if len(there) > 1 else 0.0


def _moved(original: Column, released: Column, sd: float) -> Floats:
    away = np.abs(original.values - released.values)
    scale = math.sqrt(2) * sd
    lost = np.minimum(1.0, away / scale) if scale > 0 else (away > 0).astype(np.float64)
    gaps = original.missing | released.missing
    changed = (original.missing != released.missing).astype(np.float64)
    made: Floats = np.where(gaps, changed, lost)
    return made


def label_losses(pair: Pair, name: str) -> Floats:
    """Return the loss of each value by its label (m,): 0, ncp, or 1."""
    column, released = pair.original.column(name), pair.released.column(name)
    rows = pair.required_rows
    level = pair.levels.get(name, 0)
    place = {} if level else {label: i for i, label in enumerate(column.categories)}
    meanings = pair.bins(name).meanings.of(released.categories)
    same = np.array([place.get(label, -2) for label in released.categories], dtype=np.int64)
    wide = np.array([one.loss for one in meanings])
    codes, known = released.codes, column.codes[rows]
    at, loss = np.append(same, -1)[codes], np.append(wide, 1.0)[codes]
    return np.where(at == known, 0.0, np.where(at == -2, loss, 1.0))


class Marginals(Utility):
    """1 minus the mean total variation distance over all pairs of released columns.

    Numbers of more than ten values are cut at the original's deciles. A generalised label spreads
    its record evenly over the values of the original column below it, a star or a suppressed row
    over all; a value that the original lacks is one extra bin. Of samples and synthetic data: the
    shares of what is released. One column alone: its own distance.
    """

    name: ClassVar[str] = "marginals"

    def score(self, pair: Pair) -> float:
        """Compare every pair of columns."""
        names = pair.columns
        together = list(combinations(names, min(2, len(names))))
        return max(0.0, 1 - float(np.mean([distance(pair, one) for one in together])))


_LAPLACE = 1.0


@dataclass(frozen=True, eq=False)
class NaiveBayes:
    """Log shares of the classes (k,), and per column of its bins in each class (k, bins)."""

    prior: Floats
    columns: tuple[Floats, ...]

    def predict(self, features: Sequence[Ids]) -> Ids:
        """Return the likeliest class of rows that are given by their bins; ties: the first."""
        scores = np.repeat(self.prior[:, None], len(features[0]), axis=1)
        for table, codes in zip(self.columns, features, strict=True):
            scores += table[:, codes]
        best: Ids = scores.argmax(axis=0)
        return best


def fit_naive_bayes(
    target: tuple[Bins, Placed], features: Sequence[tuple[Bins, Placed]]
) -> NaiveBayes:
    """Count; labels are spread over the bins below them, those of the target too.

    Smoothing adds one to each bin that any row has, original or released.
    """
    bins, classes = target
    counts = shares(bins, classes)[: bins.named] * len(classes.codes)
    prior = np.log((counts + _LAPLACE) / (counts + _LAPLACE).sum())
    tables = []
    for column, placed in features:
        kinds = classes.weights.shape[0], placed.weights.shape[0]
        met = contingency(classes.codes, placed.codes, kinds)
        joint = (classes.weights.T[: bins.named] @ met @ placed.weights).toarray()
        used = np.bincount(column.codes, minlength=column.size) > 0
        used |= joint.sum(axis=0) > 0
        joint += _LAPLACE * used
        with np.errstate(divide="ignore"):
            tables.append(np.log(joint / joint.sum(axis=1, keepdims=True)))
    return NaiveBayes(prior, tuple(tables))


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
        return train_and_test(pair, self.target).score


def train_and_test(pair: Pair, target: str = "", estimator: Any = None) -> Learnt:  # noqa: ANN401 - sklearn
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
    from veil.tables.measures.pair import sparse

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
            model = fit_naive_bayes(
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
    """Return what a release is still worth, from 0 to 1.

    Parameters
    ----------
    t, r
        The original, and its release; also a plain table, whose row i is row i. Cells, and a
        release of them, have one measure: what is left of 1 if all that is suppressed or changed
        is taken off, as a share of what there is.
    measure
        "marginals", "cells" or "ml", or a plugin's; also with parameters.
    columns
        Compared; by default all that both have.
    target, estimator
        Of "ml": the column to be predicted, and any object with ``fit`` and ``predict``.
    """
    if isinstance(t, Cells) or isinstance(r, CellRelease):
        if not (isinstance(t, Cells) and isinstance(r, CellRelease)):
            raise InputError("Cells are compared with a release of cells, which protect makes.")
        if measure != "marginals" or columns is not None or target or estimator is not None:
            raise ParameterError("Cells have one measure, and no columns to choose.")
        return cell_utility(t, r)
    chosen = UTILITIES.parse(measure) if isinstance(measure, str) else measure
    pair = Pair.of(t, r, columns)
    if isinstance(chosen, ML):
        return train_and_test(pair, target or chosen.target, estimator).score
    if target or estimator is not None:
        raise ParameterError("A target and an estimator are of the measure 'ml' alone.")
    return chosen.score(pair)
