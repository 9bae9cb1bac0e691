r"""The QuIPU score: one number for a whole curve of the risk-utility plane.

Each value of a mechanism's parameter gives a point (risk r, utility u). In order of the parameter,
from the most private value to the most useful one:

.. math:: \int (u - r)\, d(r + u) = \sum_i \tfrac{1}{2} \left[(u_i - r_i) + (u_{i+1} - r_{i+1})
   \right] \left[(r_{i+1} + u_{i+1}) - (r_i + u_i)\right]

which is twice the signed area between the curve and the diagonal, measured along the diagonal. It
lies in [-1, 1]; no point is added at either end, and one single point has no area. The same points
the other way round have the opposite score: k, a radius or a level run against epsilon.

References
----------
De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
Retrieval. ECIR 2025, Section 3.3.

Notes
-----
The paper leaves open how the area is computed; the sum above was recovered from its figures, and
reproduces the printed scores wherever the figures show every point.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from veil.core.errors import InputError
from veil.core.types import Floats
from veil.measures.estimate import Estimate, interval, resamples

NAMED_POINTS: dict[str, tuple[float, float]] = {  # (risk, utility)
    "no utility": (0.0, 0.0),
    "no privacy": (1.0, 1.0),
    "optimal": (0.0, 1.0),
    "trash": (1.0, 0.0),
}
_KEPT = 1_000  # queries up to which the resamples are kept for the next curve (16 MB)


def quipu(risk: ArrayLike, utility: ArrayLike) -> float:
    """Return the score of points given in the order of the parameter, the most useful last.

    >>> quipu([0, 0, 1], [0, 1, 1])  # all the utility at no risk, then all the risk
    1.0
    >>> quipu([0.2], [0.9])
    0.0
    """
    r, u = _points(risk, utility, 1)
    return float(_area(r, u))


def quipu_interval(risks: ArrayLike, utilities: ArrayLike) -> Estimate:
    """Return the score of the mean curve, with its 95 % bootstrap interval over the queries.

    `risks` and `utilities` are (points, n): column j is the same query at every point and in both,
    and whole queries are drawn. A value of one query may lie outside [0, 1], where it is a utility
    that is a ratio of means, or a risk that subtracts a baseline: its mean is cut to that.
    """
    r, u = _points(risks, utilities, 2)
    return interval(_of_means(r, u), _resampled(r, u), r.shape[1])


def quipu_difference(
    risks: ArrayLike, utilities: ArrayLike, other_risks: ArrayLike, other_utilities: ArrayLike
) -> Estimate:
    """Return the score of one curve minus that of another, with its 95 % bootstrap interval.

    Both are (points, n) as for `quipu_interval`, with as many points as each has. Column j is the
    same query in all four, and a drawn query counts for both curves: what makes a query easy or
    hard for both leaves the difference. Where the interval holds 0 the two cannot be told apart.
    """
    r, u = _points(risks, utilities, 2)
    s, v = _points(other_risks, other_utilities, 2)
    if r.shape[1] != s.shape[1]:
        raise InputError(
            f"Two curves must be of the same queries: {r.shape[1]} of one, {s.shape[1]} of the"
            " other."
        )
    value = _of_means(r, u) - _of_means(s, v)
    return interval(value, _resampled(r, u) - _resampled(s, v), r.shape[1])


def _of_means(r: Floats, u: Floats) -> float:
    return float(_area(_unit(r.mean(axis=1)), _unit(u.mean(axis=1))))


def _unit(means: Floats) -> Floats:
    cut: Floats = np.clip(means, 0.0, 1.0)
    return cut


def _resampled(r: Floats, u: Floats) -> Floats:
    """Return the score of the mean curve of each resample, the same ones for every curve."""
    points, n = r.shape
    both = np.concatenate([r, u])
    blocks = _kept_weights(n) if n <= _KEPT else _weights(n)
    means = (both @ weights.T for weights in blocks)
    return np.concatenate([_area(mean[:points], mean[points:]) for mean in map(_unit, means)])


@lru_cache(maxsize=4)
def _kept_weights(n: int) -> tuple[Floats, ...]:
    return tuple(_weights(n))


def _weights(n: int) -> Iterator[Floats]:
    """Give each query's share of each resample as blocks (b, n): a product gives all means."""
    for drawn in resamples(n):
        rows = np.repeat(np.arange(len(drawn)), n) * n
        counts = np.bincount(rows + drawn.ravel(), minlength=drawn.size)
        yield counts.reshape(drawn.shape) / n


def _area(r: Floats, u: Floats) -> Floats:
    """Sum along the first axis."""
    above, along = u - r, u + r
    area: Floats = (0.5 * (above[1:] + above[:-1]) * (along[1:] - along[:-1])).sum(axis=0)
    return area


def _points(risk: ArrayLike, utility: ArrayLike, ndim: int) -> tuple[Floats, Floats]:
    shape = "one row of numbers" if ndim == 1 else "one row of numbers per point"
    try:
        r, u = (np.asarray(values, dtype=np.float64) for values in (risk, utility))
    except (TypeError, ValueError):
        raise InputError(f"Risk and utility must each be {shape}.") from None
    if r.ndim != ndim or u.ndim != ndim or not r.size:
        raise InputError(f"Risk and utility must each be {shape}, and at least one point.")
    if r.shape != u.shape:
        raise InputError(
            f"Risk and utility must be of the same points: {r.shape} of one, {u.shape} of the"
            " other."
        )
    for name, values in (("risk", r), ("utility", u)):
        alone = ndim == 1  # means are cut later
        if not (((values >= 0) & (values <= 1)) if alone else np.isfinite(values)).all():
            raise InputError(f"Every {name} must lie between 0 and 1.")
    return r, u
