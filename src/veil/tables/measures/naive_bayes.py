"""Naive Bayes from counts: what a release teaches about original rows."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from veil.core.types import Floats, Ids
from veil.tables.measures.bins import Bins, Placed
from veil.tables.measures.distance import counted, shares

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


def fitted(target: tuple[Bins, Placed], features: Sequence[tuple[Bins, Placed]]) -> NaiveBayes:
    """Count; labels are spread over the bins below them, those of the target too.

    Smoothing adds one to each bin that any row has, original or released.
    """
    bins, classes = target
    counts = shares(bins, classes)[: bins.named] * len(classes.codes)
    prior = np.log((counts + _LAPLACE) / (counts + _LAPLACE).sum())
    tables = []
    for column, placed in features:
        kinds = classes.weights.shape[0], placed.weights.shape[0]
        met = counted(classes.codes, placed.codes, kinds)
        joint = (classes.weights.T[: bins.named] @ met @ placed.weights).toarray()
        used = np.bincount(column.codes, minlength=column.size) > 0
        used |= joint.sum(axis=0) > 0
        joint += _LAPLACE * used
        with np.errstate(divide="ignore"):
            tables.append(np.log(joint / joint.sum(axis=1, keepdims=True)))
    return NaiveBayes(prior, tuple(tables))
