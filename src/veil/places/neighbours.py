"""The k-d tree of scipy, and the distance within which k people live."""

from typing import Any

import numpy as np

from veil.core.errors import InputError, MissingExtraError, ParameterError
from veil.core.types import Floats
from veil.places.crs import row_numbers
from veil.places.points import Points
from veil.places.projection import Surface, common


def tree(xy: "Floats") -> Any:  # noqa: ANN401 - scipy has no types
    """Return a k-d tree of points (n, d)."""
    try:
        from scipy.spatial import cKDTree
    except ImportError as error:
        raise MissingExtraError(
            "Neighbours on a map need scipy: pip install 'veil[places]'."
        ) from error
    return cKDTree(xy)


_ROWS = 2**14  # points per query


def radius_for_k(points: Points, population: Points, k: float) -> Floats:
    """Return the distance (n,) in metres within which k people of the population live.

    The weights of the population are numbers of people, by default one per place. People at the
    same distance are counted together; the point itself counts if it is in the population.
    """
    on = common(points.crs, population.crs)
    return reach(points.xy, population, k, on)


def reach(xy: Floats, population: Points, k: float, on: Surface, *, moved: bool = False) -> Floats:
    """Return `radius_for_k` for coordinates (n, 2).

    If k people live at the place of a point, its radius is 0, or with `moved` the distance to the
    next place.
    """
    if not k > 0:
        raise ParameterError(f"The 'k' argument must be above 0. Got {k!r} instead.")
    people = np.ones(len(population)) if population.weights is None else population.weights
    if people.sum() < k:
        raise InputError(
            f"The population must have at least {k:g} people. Got {people.sum():g} instead."
        )
    index, here = tree(on.embed(population.xy)), on.embed(xy)
    radii = np.empty(len(xy))
    for start in range(0, len(xy), _ROWS):
        block = slice(start, start + _ROWS)
        radii[block] = on.metres(_chords(index, here[block], people, k, moved=moved))
    lost = np.flatnonzero(np.isinf(radii))
    if len(lost):
        raise InputError(
            f"{row_numbers(lost)} must have someone at another place nearby. Enlarge the"
            " population."
        )
    return radii


def _chords(index: Any, here: Floats, people: Floats, k: float, *, moved: bool) -> Floats:  # noqa: ANN401
    """Return the distances in the embedding, by queries for more and more neighbours."""
    chords, pending = np.full(len(here), np.inf), np.arange(len(here))
    most = len(people)
    count = min(most, max(2, int(np.ceil(k / max(1.0, people.mean()))) + 1))
    while len(pending):
        gaps, rows = index.query(here[pending], k=count)
        gaps, rows = gaps.reshape(len(pending), count), rows.reshape(len(pending), count)
        enough = people[rows].cumsum(axis=1) >= k * (1 - 1e-12)
        if moved:
            enough &= gaps > 0
        done = enough.any(axis=1)
        radii = np.take_along_axis(gaps, enough.argmax(axis=1)[:, None], 1)[:, 0]
        chords[pending[done]] = radii[done]
        pending = pending[~done]
        if count == most:
            break
        count = min(most, 2 * count)
    return chords
