"""The k-d tree of scipy, and how far one must go to have k people around."""

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


_ROWS = 2**14  # points asked for at a time


def radius_for_k(points: Points, population: Points, k: float) -> Floats:
    """Return metres (n,) to the place at which the cumulated weight of the population reaches k.

    People at the same distance are counted together; the point itself counts when it is in the
    population. The weights of the population are people; without them each place is one.
    """
    on = common(points.crs, population.crs)
    return reach(points.xy, population, k, on)


def reach(xy: Floats, population: Points, k: float, on: Surface, *, moved: bool = False) -> Floats:
    """Return the same for coordinates (n, 2); `moved` asks for a radius above 0.

    Where k people live at the very place the radius is 0: then it is that of the next place.
    """
    if not k > 0:
        raise ParameterError(f"The 'k' argument must be above 0. Got {k!r} instead.")
    people = np.ones(len(population)) if population.weights is None else population.weights
    if people.sum() < k:
        raise InputError(
            f"The population must have at least {k:g} people; it has {people.sum():g}."
        )
    index, here = tree(on.embed(population.xy)), on.embed(xy)
    radii = np.empty(len(xy))
    for start in range(0, len(xy), _ROWS):
        block = slice(start, start + _ROWS)
        radii[block] = on.metres(_chords(index, here[block], people, k, moved=moved))
    lost = np.flatnonzero(np.isinf(radii))
    if len(lost):
        raise InputError(
            f"{row_numbers(lost)} must have somebody at another place around; enlarge the"
            " population."
        )
    return radii


def _chords(index: Any, here: Floats, people: Floats, k: float, *, moved: bool) -> Floats:  # noqa: ANN401
    """Ask for more and more neighbours, until their weight is enough."""
    chords, left = np.full(len(here), np.inf), np.arange(len(here))
    most = len(people)
    count = min(most, max(2, int(np.ceil(k / max(1.0, people.mean()))) + 1))
    while len(left):
        apart, rows = index.query(here[left], k=count)
        apart, rows = apart.reshape(len(left), count), rows.reshape(len(left), count)
        enough = people[rows].cumsum(axis=1) >= k * (1 - 1e-12)
        if moved:
            enough &= apart > 0
        done = enough.any(axis=1)
        chords[left[done]] = np.take_along_axis(apart, enough.argmax(axis=1)[:, None], 1)[done, 0]
        left = left[~done]
        if count == most:
            break
        count = min(most, 2 * count)
    return chords
