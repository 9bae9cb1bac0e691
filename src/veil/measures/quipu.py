r"""The QuIPU score: one number for a whole curve in the risk-utility plane.

Each value of a mechanism's parameter gives a point (risk r, utility u). With the points in the
order of the parameter, from the most private value to the most useful one, the score is

.. math:: \int (u - r)\, d(r + u) = \sum_i \tfrac{1}{2} \left[(u_i - r_i) + (u_{i+1} - r_{i+1})
   \right] \left[(r_{i+1} + u_{i+1}) - (r_i + u_i)\right]

which is twice the signed area between the curve and the diagonal, measured along the diagonal. The
score is in [-1, 1]. No point is added at either end, so a single point has no area. Reversing the
order changes the sign of the score: k, a radius or a level must run from large to small, where
epsilon runs from small to large.

References
----------
De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
Retrieval. ECIR 2025, Section 3.3.

Notes
-----
The paper does not define how the area is computed. The sum above was recovered from its figures
and reproduces the printed scores wherever a figure shows every point.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.estimate import Estimate, interval, resamples
from veil.core.types import Floats

NAMED_POINTS: dict[str, tuple[float, float]] = {  # (risk, utility)
    "no utility": (0.0, 0.0),
    "no privacy": (1.0, 1.0),
    "optimal": (0.0, 1.0),
    "trash": (1.0, 0.0),
}
_MAX_CACHED = 1_000  # up to this many queries the weights stay in memory (16 MB)


def quipu(risk: ArrayLike, utility: ArrayLike) -> float:
    """Return the score of points in the order of the parameter, the most useful last.

    >>> quipu([0, 0, 1], [0, 1, 1])  # full utility at no risk, then full risk
    1.0
    >>> quipu([0.2], [0.9])
    0.0
    """
    r, u = _points(risk, utility, 1)
    return float(_area(r, u))


def quipu_interval(risks: ArrayLike, utilities: ArrayLike) -> Estimate:
    """Return the score of the mean curve, with its 95 % bootstrap interval over the queries.

    `risks` and `utilities` are (points, n): column j is the same query at every point and in both,
    and whole queries are resampled. The value of one query may be outside [0, 1] if it is a ratio
    of means (utility) or subtracts a baseline (risk); its mean over the queries is clipped.
    """
    r, u = _points(risks, utilities, 2)
    return interval(_of_means(r, u), _resampled(r, u), r.shape[1])


def quipu_difference(
    risks: ArrayLike, utilities: ArrayLike, other_risks: ArrayLike, other_utilities: ArrayLike
) -> Estimate:
    """Return the score of one curve minus that of another, with its 95 % bootstrap interval.

    Both curves are (points, n) as for `quipu_interval`, and may differ in their number of points.
    Column j is the same query in all four arrays. A resampled query counts for both curves, which
    cancels the effect of queries that are easy or hard for both. If the interval contains 0, the
    two curves cannot be distinguished.
    """
    r, u = _points(risks, utilities, 2)
    s, v = _points(other_risks, other_utilities, 2)
    if r.shape[1] != s.shape[1]:
        raise InputError(
            f"Two curves must have the same queries. Got {r.shape[1]} and {s.shape[1]} queries"
            " instead."
        )
    value = _of_means(r, u) - _of_means(s, v)
    return interval(value, _resampled(r, u) - _resampled(s, v), r.shape[1])


def _of_means(r: Floats, u: Floats) -> float:
    return float(_area(_unit(r.mean(axis=1)), _unit(u.mean(axis=1))))


def _unit(means: Floats) -> Floats:
    cut: Floats = np.clip(means, 0.0, 1.0)
    return cut


def _resampled(r: Floats, u: Floats) -> Floats:
    """Return the score of the mean curve in each resample, the same resamples for all curves."""
    points, n = r.shape
    stacked = np.concatenate([r, u])
    blocks = _cached_weights(n) if n <= _MAX_CACHED else _weights(n)
    means = (stacked @ weights.T for weights in blocks)
    return np.concatenate([_area(mean[:points], mean[points:]) for mean in map(_unit, means)])


@lru_cache(maxsize=4)
def _cached_weights(n: int) -> tuple[Floats, ...]:
    return tuple(_weights(n))


def _weights(n: int) -> Iterator[Floats]:
    """Yield the share of each query in each resample, in blocks (b, n) to multiply values with."""
    for indices in resamples(n):
        rows = np.repeat(np.arange(len(indices)), n) * n
        counts = np.bincount(rows + indices.ravel(), minlength=indices.size)
        yield counts.reshape(indices.shape) / n


def _area(r: Floats, u: Floats) -> Floats:
    above, along = u - r, u + r
    area: Floats = (0.5 * (above[1:] + above[:-1]) * (along[1:] - along[:-1])).sum(axis=0)
    return area


def _points(risk: ArrayLike, utility: ArrayLike, ndim: int) -> tuple[Floats, Floats]:
    shape = "one list of numbers" if ndim == 1 else "one list of numbers per point"
    try:
        r, u = (np.asarray(values, dtype=np.float64) for values in (risk, utility))
    except (TypeError, ValueError):
        raise InputError(f"Risk and utility must each be {shape}.") from None
    if r.ndim != ndim or u.ndim != ndim or not r.size:
        raise InputError(f"Risk and utility must each be {shape}, with at least one point.")
    if r.shape != u.shape:
        raise InputError(
            f"Risk and utility must have the same shape. Got {r.shape} and {u.shape} instead."
        )
    for name, values in (("risk", r), ("utility", u)):
        bounded = ndim == 1  # means are clipped later
        if not (((values >= 0) & (values <= 1)) if bounded else np.isfinite(values)).all():
            rule = "between 0 and 1" if bounded else "finite"
            raise InputError(f"Every {name} must be {rule}.")
    return r, u
