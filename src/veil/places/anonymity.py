r"""Spatial k-anonymity of masked points, and the displacement of mechanisms.

k is the number of people among whom a point is hidden, by one of four definitions. It is a
measurement and not a guarantee. The overall k is the minimum over the points. The weights of the
population are numbers of people, by default one per place; the true place counts if it is in the
population. With z the place released for x:

actual
    The weight of all y with d(z, y) <= d(z, x). If it is 1, the true address is the nearest one.
estimated
    :math:`\pi r^2 \rho`, where r = d(z, x) and rho is the density of the 50 entries nearest to z.
    It suits populations that are only known as counts by area.
possible
    The number of y that could have become z, f(z|y) > 0. For gaussian and laplace this is
    everyone; use `effective` instead.
effective
    :math:`1 / \max_y P(y|z)` with :math:`P(y|z) \propto w_y f(z|y)`: one over the probability of
    the best single guess. It equals `possible` for uniform distributions and equal weights.
"""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from veil.core.errors import InputError, MissingExtraError, ParameterError
from veil.core.types import Floats
from veil.places.crs import row_numbers
from veil.places.mechanism import Displacement, Mechanism
from veil.places.mechanisms import mechanism
from veil.places.points import Points
from veil.places.projection import BLOCK, Surface, blocks, common
from veil.places.release import Masked, crs_of, releases_of


def displacement(spec: str | Mechanism) -> Displacement:
    """Return mean, root mean square and quantiles of the displacement, in metres.

    >>> displacement("disk(radius=300)").mean
    200.0
    """
    return mechanism(spec).displacement


Kind = Literal["actual", "estimated", "possible", "effective"]
_EXACT = 1 + 1e-12  # tolerance of d(z, y) <= d(z, x)
_NEIGHBOURS = 50
_ROWS = 2**12  # points per query


def spatial_k(
    original: Points,
    masked: Masked,
    population: Points,
    kind: Kind = "actual",
    method: str | Mechanism | None = None,
) -> Floats:
    """Return k (n,) of each point in the first release.

    ``possible`` and ``effective`` need `method`, and use its density.
    """
    if kind not in get_args(Kind):
        raise ParameterError(f"The 'kind' argument must be one of {', '.join(get_args(Kind))}.")
    on = common(original.crs, crs_of(masked, original), population.crs)
    released = releases_of(masked)[0]
    if len(released) != len(original):
        raise InputError(
            f"There must be {len(original):,} masked points, one per original. Got"
            f" {len(released):,} instead."
        )
    if kind in ("possible", "effective"):
        if method is None:
            raise ParameterError(f"The {kind} k needs the mechanism. Pass its spec as 'method'.")
        return _by_law(released, population, mechanism(method), on, kind)
    return (_actual if kind == "actual" else _estimated)(original.xy, released, population, on)


def _actual(xy: Floats, released: Floats, population: Points, on: Surface) -> Floats:
    """Count the people at most as far from z as x is."""
    places, here = on.embed(released), on.embed(xy)
    reach = np.sqrt(((places - here) ** 2).sum(axis=1)) * _EXACT
    index = _index(on.embed(population.xy))
    if population.weights is None:
        counts: Floats = index.query_ball_point(places, reach, return_length=True)
        return counts.astype(np.float64)
    return _weights(index, places, reach, population.weights)


def _index(places: Floats) -> Any:  # noqa: ANN401 - scipy has no types
    """Return a k-d tree of points (n, d) that is fast to build, for a single query."""
    try:
        from scipy.spatial import cKDTree
    except ImportError:
        raise MissingExtraError(
            "Counting people needs scipy: pip install 'veil[places]'."
        ) from None
    return cKDTree(places, balanced_tree=False, compact_nodes=False)


def _weights(index: object, places: Floats, reach: Floats, people: Floats) -> Floats:
    """Return the total weight within reach of each place."""
    sums = np.zeros(len(places))
    for start in range(0, len(places), _ROWS):
        rows = index.query_ball_point(  # type: ignore[attr-defined]
            places[start : start + _ROWS], reach[start : start + _ROWS]
        )
        sums[start : start + _ROWS] = [people[near].sum() for near in rows]
    return sums


def _estimated(xy: Floats, released: Floats, population: Points, on: Surface) -> Floats:
    """Multiply the area of the displacement by the density around z."""
    people = np.ones(len(population)) if population.weights is None else population.weights
    places, here = on.embed(released), on.embed(xy)
    index = _index(on.embed(population.xy))
    count = min(_NEIGHBOURS, len(population))
    gaps, _ = index.query(places, k=[count])
    empty = np.flatnonzero(gaps[:, 0] == 0)
    if len(empty):
        raise InputError(
            f"{row_numbers(empty)} cannot have a density, because the {count} nearest entries are"
            " at one place. Use another kind of k."
        )
    weight = _weights(index, places, gaps[:, 0] * _EXACT, people)
    moved = on.metres(np.sqrt(((places - here) ** 2).sum(axis=1)))
    k: Floats = weight * np.square(moved / on.metres(gaps[:, 0]))
    return k


def _by_law(
    released: Floats, population: Points, method: Mechanism, on: Surface, kind: Kind
) -> Floats:
    """Return k from the densities of all pairs, computed in blocks."""
    people = np.ones(len(population)) if population.weights is None else population.weights
    count: Callable[[Floats, Floats], Floats] = _possible if kind == "possible" else _effective
    k = np.empty(len(released))
    for block in blocks(len(released), len(population), BLOCK // 4):
        law = method.log_density(released[block], population.xy, on, population)
        k[block] = count(law, people)
    return k


def _possible(law: Floats, people: Floats) -> Floats:
    """Count the people who could have become z."""
    count: Floats = np.where(np.isneginf(law), 0.0, people).sum(axis=1)
    return count


def _effective(law: Floats, people: Floats) -> Floats:
    """Return one over the probability of the best guess; inf if nobody could have become z."""
    with np.errstate(divide="ignore", invalid="ignore"):
        belief = law + np.log(people)
        best = belief.max(axis=1, keepdims=True)
        shares: Floats = np.exp(belief - best).sum(axis=1)
    shares[np.isneginf(best[:, 0])] = np.inf
    shares[np.isposinf(best[:, 0])] = 1.0
    return shares
