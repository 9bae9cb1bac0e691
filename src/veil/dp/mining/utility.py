"""What a private model keeps of what the exact one would give, from 0 to 1."""

import numpy as np

from veil.core.errors import ParameterError
from veil.core.types import Floats
from veil.dp.mining.given import numbers
from veil.dp.mining.spread import squares

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
