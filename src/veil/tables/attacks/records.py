"""The mean risk of records, with its interval and its worst case."""

from collections.abc import Mapping

import numpy as np

from veil.core.rng import generator
from veil.core.types import Floats
from veil.measures.estimate import RESAMPLES, Estimate, bootstrap, interval
from veil.tables.attacks.outcome import Attack

_FEW = 2_000  # records up to which they are drawn one by one
_VALUES = 5_000  # different values up to which they are drawn by how often they occur
_SEED = 20261118  # the same records give the same interval


def averaged(
    per_record: Floats,
    baseline: float | None = None,
    details: Mapping[str, object] | None = None,
) -> Attack:
    """Return an attack whose risk is the mean over records; the worst case stands beside it."""
    mean = estimated(per_record)
    largest = float(per_record.max(initial=0.0))
    certain = int((per_record >= 1).sum())
    told = {"largest": largest, "certain": certain, **(details or {})}
    return Attack(float(mean), per_record, baseline, None, mean.low, mean.high, told)


def estimated(values: Floats) -> Estimate:
    """Return the mean with its 95 % bootstrap interval over records.

    Of many records with few different values it is drawn how often each value occurs, which is the
    same law.
    """
    if len(values) <= _FEW:
        return bootstrap(values)
    different, counts = np.unique(values, return_counts=True)
    if len(different) > _VALUES:
        return bootstrap(values)
    n = len(values)
    drawn = generator(_SEED).multinomial(n, counts / n, size=RESAMPLES)
    return interval(float(values.mean()), drawn @ different / n, n)
