"""Several means over the same users, with intervals from the same draws."""

from collections.abc import Mapping

import numpy as np

from veil.core.types import Floats
from veil.measures.estimate import Estimate, interval, resamples


def estimates(values: Mapping[str, Floats], sizes: Floats | None = None) -> dict[str, Estimate]:
    """Return the means of columns (n,) with 95 % bootstrap intervals over the n users.

    With `sizes` (n,) the columns are sums over as many cases of each user, and the mean is that of
    the cases. It is `veil.measures.estimate.bootstrap`, with one pass of draws for all columns.
    """
    if not values:
        return {}
    columns = np.stack(list(values.values()), axis=1)
    weights = np.ones(len(columns)) if sizes is None else sizes
    table = np.column_stack([columns, weights])
    means = []
    for drawn in resamples(len(table)):
        rows, n = drawn.shape
        flat = (drawn + np.arange(rows)[:, None] * n).ravel()
        times = np.bincount(flat, minlength=rows * n).reshape(rows, n)
        sums = times.astype(np.float64) @ table
        means.append(sums[:, :-1] / sums[:, -1:])
    resampled, whole = np.concatenate(means), columns.sum(axis=0) / weights.sum()
    return {
        name: interval(float(whole[at]), resampled[:, at], len(table))
        for at, name in enumerate(values)
    }
