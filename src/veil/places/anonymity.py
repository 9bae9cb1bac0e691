r"""Among how many people a point is hidden, and how far a method moves points.

Among how many a point is hidden: three definitions, which are never mixed.

k is a measurement and no guarantee. The overall k is the least over the points. People are counted
by the weights of the population, one each where there are none; the true place counts when it is
in the population. With z what is released for x:

actual
    The weight of all y with d(z, y) <= d(z, x): 1 says that the true address is the nearest.
estimated
    :math:`\pi r^2 \rho`, r = d(z, x), with the density rho around z of the 50 nearest entries: for
    who has only counts by area.
possible
    The number of y that could have become z, f(z|y) > 0. Under gaussian and laplace that is
    everybody and says nothing; then there is
effective
    :math:`1 / \max_y P(y|z)` with :math:`P(y|z) \propto w_y f(z|y)`: one over the chance of the
    best single guess. It is `possible` for uniform laws and equal weights.
"""

from collections.abc import Callable
from typing import Any, Literal, get_args

import numpy as np

from veil.core.errors import InputError, MissingExtraError, ParameterError
from veil.core.types import Floats
from veil.places.crs import row_numbers
from veil.places.mechanism import Displacement, Mechanism
from veil.places.mechanisms import mechanism
from veil.places.mechanisms import mechanism as named
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
_EXACT = 1 + 1e-12  # d(z, y) <= d(z, x), but for the last digits
_NEIGHBOURS = 50
_ROWS = 2**12  # points whose neighbours are listed at a time


def spatial_k(
    original: Points,
    masked: Masked,
    population: Points,
    kind: Kind = "actual",
    method: str | Mechanism | None = None,
) -> Floats:
    """Return k (n,) of each point; of several releases the first one is looked at.

    `method` is needed for ``possible`` and ``effective``, which use its law.
    """
    if kind not in get_args(Kind):
        raise ParameterError(f"The 'kind' argument must be one of {', '.join(get_args(Kind))}.")
    on = common(original.crs, crs_of(masked, original), population.crs)
    released = releases_of(masked)[0]
    if len(released) != len(original):
        raise InputError(
            f"There must be as many masked points as originals: {len(original):,} and not"
            f" {len(released):,}."
        )
    if kind in ("possible", "effective"):
        if method is None:
            raise ParameterError(f"The {kind} k needs the method: hand in its spec.")
        return _by_law(released, population, named(method), on, kind)
    return (_actual if kind == "actual" else _estimated)(original.xy, released, population, on)


def _actual(xy: Floats, released: Floats, population: Points, on: Surface) -> Floats:
    """Count the people who are as near to z as x is."""
    there, here = on.embed(released), on.embed(xy)
    reach = np.sqrt(((there - here) ** 2).sum(axis=1)) * _EXACT
    index = _index(on.embed(population.xy))
    if population.weights is None:
        counts: Floats = index.query_ball_point(there, reach, return_length=True)
        return counts.astype(np.float64)
    return _weights(index, there, reach, population.weights)


def _index(there: Floats) -> Any:  # noqa: ANN401 - scipy has no types
    """Return a k-d tree of points (n, d) that is built fast: it is asked one question only."""
    try:
        from scipy.spatial import cKDTree
    except ImportError:
        raise MissingExtraError(
            "Counting people needs scipy: pip install 'veil[places]'."
        ) from None
    return cKDTree(there, balanced_tree=False, compact_nodes=False)


def _weights(index: object, there: Floats, reach: Floats, people: Floats) -> Floats:
    """Sum the weights within reach of each point."""
    sums = np.zeros(len(there))
    for start in range(0, len(there), _ROWS):
        rows = index.query_ball_point(  # type: ignore[attr-defined]
            there[start : start + _ROWS], reach[start : start + _ROWS]
        )
        sums[start : start + _ROWS] = [people[near].sum() for near in rows]
    return sums


def _estimated(xy: Floats, released: Floats, population: Points, on: Surface) -> Floats:
    """Multiply the area of the displacement with the density around z."""
    people = np.ones(len(population)) if population.weights is None else population.weights
    there, here = on.embed(released), on.embed(xy)
    index = _index(on.embed(population.xy))
    count = min(_NEIGHBOURS, len(population))
    apart, _ = index.query(there, k=[count])
    empty = np.flatnonzero(apart[:, 0] == 0)
    if len(empty):
        raise InputError(
            f"{row_numbers(empty)}: the {count} nearest entries lie at one place, so that there is"
            " no density; use another kind of k."
        )
    weight = _weights(index, there, apart[:, 0] * _EXACT, people)
    moved = on.metres(np.sqrt(((there - here) ** 2).sum(axis=1)))
    k: Floats = weight * np.square(moved / on.metres(apart[:, 0]))
    return k


def _by_law(
    released: Floats, population: Points, method: Mechanism, on: Surface, kind: Kind
) -> Floats:
    """Go through the law of all pairs in blocks."""
    people = np.ones(len(population)) if population.weights is None else population.weights
    count: Callable[[Floats, Floats], Floats] = _possible if kind == "possible" else _effective
    k = np.empty(len(released))
    for block in blocks(len(released), len(population), BLOCK // 4):
        law = method.log_density(released[block], population.xy, on, population)
        k[block] = count(law, people)
    return k


def _possible(law: Floats, people: Floats) -> Floats:
    """Count the people of whom z is possible."""
    count: Floats = np.where(np.isneginf(law), 0.0, people).sum(axis=1)
    return count


def _effective(law: Floats, people: Floats) -> Floats:
    """Return one over the chance of the best guess; infinite if nobody can have become z."""
    with np.errstate(divide="ignore", invalid="ignore"):
        belief = law + np.log(people)
        best = belief.max(axis=1, keepdims=True)
        shares: Floats = np.exp(belief - best).sum(axis=1)
    shares[np.isneginf(best[:, 0])] = np.inf
    shares[np.isposinf(best[:, 0])] = 1.0
    return shares
