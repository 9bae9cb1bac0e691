"""The one door from points to a release."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.places.budget import Budget
from veil.places.drawing import Drawing, nodes_within
from veil.places.formats.frame import as_points
from veil.places.method import Method
from veil.places.methods import method as named
from veil.places.methods.laplace import Laplace
from veil.places.points import Points
from veil.places.projection import common, surface
from veil.places.region import Region
from veil.places.release import Release, Steps
from veil.places.traces import most_fixes

_OWN = {"ids": "id", "weights": "weight", "times": "time", "users": "user"}
_SNAPPED = "Snapping costs nothing if the nodes are public and complete; nodes made of data tell."
_REMAPPED = "Remapping costs nothing as long as the prior is public."


def protect(
    points: Points,
    method: str | Method,
    size: int = 1,
    within: dict[str, Any] | str | Path | None = None,
    population: Points | None = None,
    snap: Points | None = None,
    prior: Points | None = None,
    rng: Randomness = None,
    *,
    budget: Budget | None = None,
) -> Release:
    """Release `size` masked places of each point, or none at all.

    Parameters
    ----------
    points, method
        What to protect (Points, or a frame of geopandas), and the method or its spec.
    size
        Releases of each point; each one adds to the cost.
    within
        GeoJSON polygons (dict or file) that released points keep to: in metres for points of a
        plane, else in longitude and latitude. By the methods of which
        something is proved a point outside is moved to the nearest point of the region, which
        leaves the proof as it is; by all others it is drawn again, which is their law given the
        region, at most 1,000 times. A point that finds no place stops the whole release.
    population
        People around, for the methods that need them (``density``, ``swap``).
    snap
        Nodes or addresses: each released point becomes the nearest of them.
    prior
        Public places with weights; laplace alone is then remapped to the best guess among them.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, which is for experiments: it is marked as seeded and **not private**.
    budget
        What each user may spend, in all calls that are handed the same object; a fix beyond it
        raises `BudgetError`.
    """
    points, chosen = as_points(points), named(method)
    size = _check(points, chosen, size, prior)
    for other in (population, snap, prior):
        if other is not None:
            common(points.crs, other.crs)
    on = surface(points.crs)
    cost = _cost(chosen.promise(on), points, size)
    cost = cost if snap is None else cost.with_caveat(_SNAPPED)
    cost = cost if prior is None else cost.with_caveat(_REMAPPED)
    region = None if within is None else Region.of(within, points.crs)
    nodes = None if snap is None else nodes_within(snap, region)
    drawing = Drawing(chosen, on, population, region, prior, nodes)
    draws, steps = generator(rng), []
    if budget is not None:  # after all that may be refused, before anything is drawn
        budget.spend(points, chosen, size)
    xy, still = np.empty((size, *points.xy.shape)), 0
    for release in xy:
        release[:], taken = drawing.draw(points, draws)
        steps.append(taken)
        still += drawing.still(release, points)
    cost = cost.with_caveat(_still(still, size * len(points))) if still else cost
    columns, id_column = _columns(points)
    return Release(
        xy,
        points.crs,
        str(chosen),
        cost,
        rng is not None,
        steps=_sum([taken for taken in steps if taken is not None]),
        columns=columns,
        id_column=id_column,
    )


def _check(points: Points, method: Method, size: int, prior: Points | None) -> int:
    """Return the size as Python has it, or raise."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ParameterError("The 'size' argument must be a whole number >= 1.")
    if prior is not None and not isinstance(method, Laplace):
        raise ParameterError(f"The 'prior' argument is for laplace, not {method.name}.")
    if "users" in method.needs and points.users is None:
        raise InputError(f"{method.name} is for traces: hand in the users of the points.")
    return int(size)


def _cost(once: Guarantee, points: Points, size: int) -> Guarantee:
    """Compose over the releases, and over the fixes of the user who has most."""
    if points.users is None:
        return once.compose(size, once.unit)
    fixes = most_fixes(points)
    told = f"Each fix is a release; the user with most fixes has {fixes:,}."
    return once.compose(size * fixes, "user").with_caveat(told)


def _still(count: int, total: int) -> str:
    """Say how many places are true ones, and not which."""
    lie = "lies" if count == 1 else "lie"
    return f"{count:,} of {total:,} released places {lie} where the truth does, unhidden."


def _sum(steps: list[Steps]) -> Steps | None:
    if not steps:
        return None
    worst = sum(taken.worst for taken in steps)  # at most: users differ from release to release
    return Steps(sum(taken.hard for taken in steps), sum(taken.easy for taken in steps), worst)


def _columns(points: Points) -> tuple[dict[str, Any], str]:
    """Return what stands beside the points, and the name of the column of ids, if any."""
    columns = dict(points.columns)
    id_column = "" if points.ids is None else _same(columns, points.ids.tolist())
    for attribute, name in _OWN.items():
        values = getattr(points, attribute)
        if values is not None and name not in columns and not (name == "id" and id_column):
            columns[name] = values
    return columns, id_column or ("id" if points.ids is not None else "")


def _same(columns: Mapping[str, Sequence[object]], ids: list[str]) -> str:
    """Return the name of the column that the ids were read from."""
    return next((name for name in columns if [str(value) for value in columns[name]] == ids), "")
