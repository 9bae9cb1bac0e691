"""How good probabilities are: whether they order, and whether they mean what they say."""

import numpy as np

from veil.core.types import Floats
from veil.sensitive.collection import Labels


def auc(p: Floats, labels: Labels) -> float:
    """Return how often a sensitive document has the higher value than another; ties count half."""
    hot = labels == 1
    pairs = int(hot.sum()) * int((~hot).sum())
    if not pairs:
        return float("nan")
    _, place, counts = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]  # the mean rank of equal values
    size = int(hot.sum())
    return float((ranks[hot].sum() - size * (size + 1) / 2) / pairs)


def average_precision(p: Floats, labels: Labels) -> float:
    """Return the mean precision where recall grows, from the highest value down."""
    order = np.argsort(-p, kind="stable")
    hot = (labels[order] == 1).astype(np.float64)
    if not hot.sum():
        return float("nan")
    last = np.append(np.diff(p[order]) != 0, True)  # equal values are one step
    found, seen = np.cumsum(hot)[last], np.flatnonzero(last) + 1
    gained = np.diff(found, prepend=0.0)
    return float((gained * found / seen).sum() / hot.sum())


def brier(p: Floats, labels: Labels) -> float:
    """Return the mean squared difference to the labels."""
    return float(np.mean((p - (labels == 1)) ** 2))


def calibration_error(p: Floats, labels: Labels, bins: int = 10) -> float:
    """Return the mean distance of p to the share of sensitive ones, in equal bins of p."""
    place = np.minimum((p * bins).astype(np.int64), bins - 1)
    size = np.bincount(place, minlength=bins)
    told = np.bincount(place, p, minlength=bins)
    true = np.bincount(place, (labels == 1).astype(np.float64), minlength=bins)
    return float(np.abs(told - true).sum() / size.sum())
