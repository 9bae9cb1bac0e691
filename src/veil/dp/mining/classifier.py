"""Train private classifiers from files, and measure the utility of private models."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.data.rows import read_table
from veil.dp.exact.coins import coins
from veil.dp.inputs import share
from veil.dp.mechanism import Array
from veil.dp.mining.columns import Column, numbers
from veil.dp.mining.kmeans import squares
from veil.dp.mining.logistic import Logistic, logistic
from veil.dp.mining.naive_bayes import NaiveBayes, naive_bayes

_BLOCK = 2**16  # points at a time


def classifier_utility(accuracy: float, exact: float, majority: float) -> float:
    """Return the gain of a classifier over the majority, relative to the exact model's gain.

    >>> round(classifier_utility(0.82, 0.85, 0.75), 9)
    0.7
    """
    if not max(exact, majority, accuracy) <= 1 or not min(exact, majority, accuracy) >= 0:
        raise ParameterError("Accuracies must be from 0 to 1.")
    if exact <= majority:
        raise ParameterError("The exact model must be better than the majority.")
    return float(np.clip((accuracy - majority) / (exact - majority), 0.0, 1.0))


def inertia(points: object, centres: object) -> float:
    """Return the mean squared distance of points to their nearest centres; not private.

    >>> inertia([[0.0], [1.0], [5.0]], [[0.0], [5.0]])
    0.3333333333333333
    """
    array = numbers(points, "Points")
    middles: Floats = numbers(centres, "Centres", array.shape[1])
    if not len(array) or not len(middles):
        raise ParameterError("There must be at least one point and one centre.")
    parts = (array[start : start + _BLOCK] for start in range(0, len(array), _BLOCK))
    return float(sum(squares(part, middles).min(axis=1).sum() for part in parts) / len(array))


def kmeans_utility(private: float, exact: float, single: float) -> float:
    """Return 1 - (private - exact) / (single - exact); `single` is the inertia of one centre.

    >>> kmeans_utility(3.0, 2.0, 6.0)
    0.75
    """
    if not 0 <= exact < single:
        raise ParameterError("The inertia of exact centres must be below that of one centre.")
    return float(np.clip(1 - (private - exact) / (single - exact), 0.0, 1.0))


Classifier = Literal["naive_bayes", "logistic"]


@dataclass(frozen=True, eq=False)
class Mined:
    """A model, and its figures on the test rows, which are **not private**."""

    model: NaiveBayes | Logistic
    columns: tuple[Column, ...]
    trained: int
    tested: int
    accuracy: float
    majority: float

    @property
    def cost(self) -> Guarantee:
        """Cost of the model."""
        return self.model.cost


def mine(
    source: Path,
    method: Classifier,
    label: str,
    epsilon: float,
    delta: float = 0.0,
    *,
    columns: Sequence[Column] = (),
    classes: Sequence[str] | None = None,
    test: Path | None = None,
    holdout: float = 0.3,
    rng: Randomness = None,
) -> Mined:
    """Train a model for the column `label` of a table, and test it.

    Parameters
    ----------
    source
        Table to train on.
    columns
        Feature columns and their encoding; by default all other columns, as text.
    classes
        All labels, if they are public. By default the labels in the data are treated as public.
    test
        Table to test on. By default a random share (`holdout`) of the rows is held out. Test
        figures are exact, so they reveal information about the test rows.
    """
    if method not in ("naive_bayes", "logistic"):
        raise ParameterError("The method must be 'naive_bayes' or 'logistic'.")
    kept_share = Fraction(share("holdout", holdout)) if test is None else Fraction(0)
    used = tuple(columns) or _all(source, label)
    draws = generator(rng)
    features, labels = _read(source, used, label)
    if test is None:
        in_test = coins(kept_share, len(labels), draws)  # independent of other rows
        test_features, truth = features[in_test], labels[in_test]
        features, labels = features[~in_test], labels[~in_test]
    else:
        test_features, truth = _read(test, used, label)
    if not (len(labels) and len(truth)):
        raise InputError("There must be at least one row to train on, and one to test on.")
    sizes = [column.size for column in used]
    seeded = None if rng is None else draws
    model: NaiveBayes | Logistic
    if method == "naive_bayes":
        model = naive_bayes(features, labels, epsilon, sizes, classes=classes, rng=seeded)
        right = model.predict(test_features) == truth
    else:
        x, test_columns = indicators(features, sizes), indicators(test_features, sizes)
        model = logistic(x, labels, epsilon, delta, classes=classes, rng=seeded)
        right = model.predict(test_columns) == truth
    _, counts = np.unique(truth, return_counts=True)
    majority = float(counts.max() / len(truth))
    return Mined(model, used, len(labels), len(truth), float(right.mean()), majority)


def indicators(codes: Ids, sizes: Sequence[int]) -> Floats:
    """Return codes as 0/1 columns, one per value of each feature.

    >>> indicators(np.array([[1, 0]]), [2, 3]).tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0]]
    """
    columns = np.zeros((len(codes), sum(sizes)))
    starts = np.cumsum([0, *sizes[:-1]])
    np.put_along_axis(columns, codes + starts, 1.0, axis=1)
    return columns


def _all(source: Path, label: str) -> tuple[Column, ...]:
    header, _ = read_table(source)
    columns = tuple(Column(name) for name in header.names if name != label)
    if not columns:
        raise InputError("The table must have columns besides the label.")
    return columns


def _read(source: Path, columns: Sequence[Column], label: str) -> tuple[Ids, Array]:
    if label in {column.name for column in columns}:
        raise ParameterError("The label column cannot be a feature.")
    _, rows = read_table(source, [*(column.name for column in columns), label])
    fields = list(zip(*(row.values for row in rows), strict=True))
    if not fields:
        return np.empty((0, len(columns)), dtype=np.int64), np.empty(0, dtype=np.str_)
    coded = [column.codes(field) for column, field in zip(columns, fields, strict=False)]
    return np.stack(coded, axis=1), np.array(fields[-1], dtype=np.str_)
