r"""The QuIPU score: one number for a whole curve of the risk-utility plane.

Each value of a mechanism's parameter gives a point (risk r, utility u). In order of the parameter:

.. math:: \int (u - r)\, d(r + u) = \sum_i \tfrac{1}{2} \left[(u_i - r_i) + (u_{i+1} - r_{i+1})
   \right] \left[(r_{i+1} + u_{i+1}) - (r_i + u_i)\right]

which is twice the signed area between the curve and the diagonal, measured along the diagonal. It
lies in [-1, 1]; no point is added at either end, and one single point has no area.

References
----------
De Faveri, Faggioli, Ferro. Measuring Actual Privacy of Obfuscated Queries in Information
Retrieval. ECIR 2025, Section 3.3.

Notes
-----
The paper leaves open how the area is computed; the sum above was recovered from its figures, and
reproduces the printed scores wherever the figures show every point.
"""

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


def quipu(risk: ArrayLike, utility: ArrayLike) -> float:
    """Return the score of points given in the order of the parameter.

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
    and whole queries are drawn.
    """
    r, u = _points(risks, utilities, 2)
    n = r.shape[1]
    resampled = []
    for drawn in resamples(n):
        # How often each query was drawn, (b, n): a product then gives every mean at once.
        rows = np.repeat(np.arange(len(drawn)), n) * n
        weights = np.bincount(rows + drawn.ravel(), minlength=drawn.size).reshape(drawn.shape) / n
        resampled.append(_area(r @ weights.T, u @ weights.T))
    value = float(_area(r.mean(axis=1), u.mean(axis=1)))
    return interval(value, np.concatenate(resampled), n)


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
        if not ((values >= 0) & (values <= 1)).all():
            raise InputError(f"Every {name} must lie between 0 and 1.")
    return r, u
