"""Choose an event on half of the samples, and bound how well it tells two inputs apart."""

import math

import numpy as np

from veil.core.types import Ids
from veil.measures.binomial import lower_share, upper_share


def log_ratio(one: Ids, other: Ids, share: float) -> tuple[float, tuple[int, int]]:
    """Choose an event on the first halves, and bound its log-ratio on the second."""
    half = len(one) // 2
    event = _event(one[:half], other[:half], share)
    hits = (int(np.isin(one[half:], event).sum()), int(np.isin(other[half:], event).sum()))
    trials = len(one) - half
    low, high = lower_share(hits[0], trials, share), upper_share(hits[1], trials, share)
    return (max(0.0, math.log(low / high)) if low > 0 else 0.0), hits


def _event(one: Ids, other: Ids, share: float) -> Ids:
    """Return the outputs, likeliest under the first word, whose ratio can best be shown.

    They are taken in the order of their ratio, as many as maximise a rough bound; any choice is
    valid, because it is made on samples that are not used again.
    """
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    counts = [np.bincount(part, minlength=len(values)) for part in np.split(place, [len(one)])]
    covered = values >= 0
    values, (hits, misses) = values[covered], (count[covered] for count in counts)
    if not len(values):
        return values
    order = np.argsort(-(hits + 0.5) / (misses + 0.5), kind="stable")
    more, less = np.cumsum(hits[order]), np.cumsum(misses[order])
    z = math.sqrt(2 * math.log(1 / share))
    low = np.maximum(more - z * np.sqrt(more), 1e-9)
    high = less + z * np.sqrt(less) + z * z / 2
    return values[order[: int(np.argmax(low / high)) + 1]]
