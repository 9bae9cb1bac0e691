"""What numbers lose: distances row by row, and changes of means, variances and correlations."""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from veil.core.types import Floats
from veil.tables.measures.cells import spread
from veil.tables.measures.pair import Pair

Figures = dict[str, float]


def row_losses(pair: Pair, name: str) -> Figures:
    """Return what a column of numbers loses row by row, in standard deviations of the original.

    `mean_variation` is over values that are not 0; `left_out` counts those that are. `blanked` is
    the share of values that are missing now and were not: they are in no mean.
    """
    rows = pair.required_rows
    before, after = pair.original[name][rows], pair.released[name]
    sd = spread(pair.original.column(name))
    there, both = ~np.isnan(before), ~(np.isnan(before) | np.isnan(after))
    away, from_ = np.abs(before - after)[both], np.abs(before[both])
    varied = from_ > 0
    gone = float((there & np.isnan(after)).sum())
    return {
        "il1s": _mean(away) / (math.sqrt(2) * sd),
        "mse": _mean(away**2) / sd**2,
        "mae": _mean(away) / sd,
        "mean_variation": _mean(away[varied] / from_[varied]),
        "left_out": float((~varied).sum()),
        "blanked": gone / max(1.0, float(there.sum())),
    }


def moments(pair: Pair, name: str) -> Figures:
    """Return the change of a column's mean, in standard deviations, and of its variance."""
    before, after = pair.original.column(name), pair.released.column(name)
    sd, seen = spread(before), after.values[~after.missing]
    if not len(seen):
        return {"means": math.nan, "variances": math.nan}
    mean = float(before.values[~before.missing].mean())
    change = spread(after) ** 2 / sd**2 - 1 if len(seen) > 1 else math.nan
    return {"means": (float(seen.mean()) - mean) / sd, "variances": change}


def together(pair: Pair, names: Sequence[str]) -> Figures:
    """Return the mean |change| of the correlations, and of covariances over both deviations.

    `singular` counts the dimensions that the columns of the original lack, as totals of others do:
    no matrix is inverted. A correlation with a column that the release made constant counts as 0.
    """
    if len(names) < 2:
        return {}
    before, after = (_complete(one, names) for one in (pair.original, pair.released))
    if min(len(before), len(after)) < 2:
        return {}
    sd = before.std(axis=0, ddof=1)
    if not (sd > 0).all():
        return {}
    true, seen = np.cov(before, rowvar=False), np.cov(after, rowvar=False)
    rank = int(np.linalg.matrix_rank(true / np.outer(sd, sd), hermitian=True))
    places = np.array(list(combinations(range(len(names)), 2))).T
    at = (places[0], places[1])
    return {
        "correlations": float(np.abs(_correlations(true) - _correlations(seen))[at].mean()),
        "covariances": float(np.abs((true - seen) / np.outer(sd, sd))[at].mean()),
        "singular": float(len(names) - rank),
    }


def _correlations(covariances: Floats) -> Floats:
    sd = np.sqrt(np.diag(covariances))
    scale = np.outer(sd, sd)
    found: Floats = np.divide(covariances, scale, out=np.zeros_like(covariances), where=scale > 0)
    return found


def _complete(table: Mapping[str, Floats] | object, names: Sequence[str]) -> Floats:
    """Return the rows without a missing value (m, columns)."""
    matrix = np.stack([table[name] for name in names], axis=1)  # type: ignore[index]
    whole: Floats = matrix[~np.isnan(matrix).any(axis=1)]
    return whole


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan
