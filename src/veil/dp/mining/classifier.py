"""From a file to a private classifier, and what a private model keeps of an exact one."""

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
    """Return how much better than the majority a classifier is, over how much the exact one is.

    >>> round(classifier_utility(0.82, 0.85, 0.75), 9)
    0.7
    """
    if not max(exact, majority, accuracy) <= 1 or not min(exact, majority, accuracy) >= 0:
        raise ParameterError("Accuracies must be from 0 to 1.")
    if exact <= majority:
        raise ParameterError("The exact model must be better than the majority.")
    return float(np.clip((accuracy - majority) / (exact - majority), 0.0, 1.0))


def inertia(points: object, centres: object) -> float:
    """Return the mean squared distance of points from their nearest centres; it is not private.

    >>> inertia([[0.0], [1.0], [5.0]], [[0.0], [5.0]])
    0.3333333333333333
    """
    given = numbers(points, "Points")
    middles: Floats = numbers(centres, "Centres", given.shape[1])
    if not len(given) or not len(middles):
        raise ParameterError("There must be at least one point, and one centre.")
    parts = (given[start : start + _BLOCK] for start in range(0, len(given), _BLOCK))
    return float(sum(squares(part, middles).min(axis=1).sum() for part in parts) / len(given))


def kmeans_utility(found: float, exact: float, one: float) -> float:
    """Return 1 - (inertia - exact) / (one - exact): `one` is the inertia of a single centre.

    >>> kmeans_utility(3.0, 2.0, 6.0)
    0.75
    """
    if not 0 <= exact < one:
        raise ParameterError("The inertia of exact centres must be below that of one centre.")
    return float(np.clip(1 - (found - exact) / (one - exact), 0.0, 1.0))


Classifier = Literal["naive_bayes", "logistic"]


@dataclass(frozen=True, eq=False)
class Mined:
    """A model, and figures of the rows that were kept for the test, which are **not private**."""

    model: NaiveBayes | Logistic
    columns: tuple[Column, ...]
    trained: int
    tested: int
    accuracy: float
    majority: float

    @property
    def cost(self) -> Guarantee:
        """What the model costs."""
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
    """Learn the column `label` of a table from others, and test the model.

    Parameters
    ----------
    source
        The table to learn from.
    columns
        What to learn from, and how it is coded; all other columns as texts if there are none.
    classes
        All labels, if they are public. Without them those that occur are treated as public.
    test
        A table to test with. Without it a share (`holdout`) of the rows, chosen at random, is kept
        for that. The figures of the test are exact, and tell of its rows.
    """
    if method not in ("naive_bayes", "logistic"):
        raise ParameterError("The method must be 'naive_bayes' or 'logistic'.")
    kept_share = Fraction(share("holdout", holdout)) if test is None else Fraction(0)
    used = tuple(columns) or _all(source, label)
    draws = generator(rng)
    given, labels = _read(source, used, label)
    if test is None:
        kept = coins(kept_share, len(labels), draws)  # a row more moves no other
        other, truth = given[kept], labels[kept]
        given, labels = given[~kept], labels[~kept]
    else:
        other, truth = _read(test, used, label)
    if not (len(labels) and len(truth)):
        raise InputError("There must be at least one row to learn from, and one to test with.")
    sizes = [column.size for column in used]
    seeded = None if rng is None else draws
    model: NaiveBayes | Logistic
    if method == "naive_bayes":
        model = naive_bayes(given, labels, epsilon, sizes, classes=classes, rng=seeded)
        right = model.predict(other) == truth
    else:
        x, tested = indicators(given, sizes), indicators(other, sizes)
        model = logistic(x, labels, epsilon, delta, classes=classes, rng=seeded)
        right = model.predict(tested) == truth
    _, counts = np.unique(truth, return_counts=True)
    majority = float(counts.max() / len(truth))
    return Mined(model, used, len(labels), len(truth), float(right.mean()), majority)


def indicators(given: Ids, sizes: Sequence[int]) -> Floats:
    """Return codes as columns of 0 and 1, one for each value of each feature.

    >>> indicators(np.array([[1, 0]]), [2, 3]).tolist()
    [[0.0, 1.0, 1.0, 0.0, 0.0]]
    """
    made = np.zeros((len(given), sum(sizes)))
    starts = np.cumsum([0, *sizes[:-1]])
    np.put_along_axis(made, given + starts, 1.0, axis=1)
    return made


def _all(source: Path, label: str) -> tuple[Column, ...]:
    header, _ = read_table(source)
    found = tuple(Column(name) for name in header.names if name != label)
    if not found:
        raise InputError("The table must have columns besides that of the labels.")
    return found


def _read(source: Path, columns: Sequence[Column], label: str) -> tuple[Ids, Array]:
    if label in {column.name for column in columns}:
        raise ParameterError("The column of the labels cannot be learnt from.")
    _, rows = read_table(source, [*(column.name for column in columns), label])
    fields = list(zip(*(row.values for row in rows), strict=True))
    if not fields:
        return np.empty((0, len(columns)), dtype=np.int64), np.empty(0, dtype=np.str_)
    coded = [column.codes(field) for column, field in zip(columns, fields, strict=False)]
    return np.stack(coded, axis=1), np.array(fields[-1], dtype=np.str_)
