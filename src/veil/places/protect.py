r"""Release masked points, within a region and the budgets of users.

Remapping moves a released point z to the best guess under a public prior w over places y:

.. math:: \arg\min_c \sum_y P(y|z) \, d(c, y), \qquad P(y|z) \propto w_y f(z|y)

over the places c of the prior. It depends only on z and the prior, so it costs nothing if the
prior is public.

References
----------
Chatzikokolakis, ElSalamouny, Palamidessi. Efficient utility improvement for location privacy.
PETS 2017. doi:10.1515/popets-2017-0051 (cited from memory)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.random import Generator
from pydantic import Field, PrivateAttr

from veil.core.component import Component
from veil.core.errors import BudgetError, InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.places.crs import row_numbers
from veil.places.formats.columns import as_points
from veil.places.mechanism import Mechanism
from veil.places.mechanisms import mechanism as mechanism_of
from veil.places.mechanisms.laplace import Laplace, Predictive
from veil.places.neighbours import tree
from veil.places.points import Points, most_fixes, trails
from veil.places.projection import BLOCK, Surface, blocks, common, pairs, surface
from veil.places.region import Region
from veil.places.release import Release, Steps


def remap(released: Floats, method: Mechanism, prior: Points, on: Surface) -> Floats:
    """Return the best guesses (n, 2) for released points (n, 2)."""
    places = on.embed(prior.xy)
    people = np.ones(len(prior)) if prior.weights is None else prior.weights
    with np.errstate(divide="ignore"):
        beliefs = np.log(people)
    moved = np.empty_like(released)
    for block in blocks(len(released), len(prior), BLOCK // 4):
        logs = method.log_density(released[block], prior.xy, on) + beliefs
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs, out=logs)
        moved[block] = prior.xy[_best(shares, places, on)]
    return moved


def _best(shares: Floats, places: Floats, on: Surface) -> Ids:
    """Return, for each row of shares (n, m), the place with the least expected distance."""
    least = np.full(len(shares), np.inf)
    best = np.zeros(len(shares), dtype=np.int64)
    for block in blocks(len(places), len(places), BLOCK // 4):
        expected = shares @ pairs(on, places, places[block])
        place = expected.argmin(axis=1)
        value = expected[np.arange(len(shares)), place]
        better = value < least
        least[better], best[better] = value[better], place[better] + block.start
    return best


_EXACT = 2.0**53  # seconds, beyond which a double cannot represent all integers


def _minus(times: Floats, window: float) -> Floats:
    """Return times - window, rounded down, so that no fix within a window is omitted."""
    less = times - window
    back = times - less
    error = (times - (less + back)) + (back - window)  # exactly what rounding took off
    return np.where(error < 0, np.nextafter(less, -np.inf), less)


_NOTHING: tuple[Floats, Floats] = (np.empty(0), np.empty(0))


class Budget(Component):
    """The epsilon that each user may spend, in total or within any `window` of seconds.

    A fix costs the mechanism's epsilon times the number of releases; the cost of the release also
    has the terms for finite precision and the curvature of the Earth. The worst case is charged
    before anything is drawn, even if a mechanism's steps may turn out cheaper. Epsilon is never
    lowered: if one fix exceeds the budget, nothing is released and nothing is spent.

    This object stores the spending by the names in `Points.users`, for all calls that get the same
    object, also from several threads. It is not shared with other objects, with copies in other
    processes, or with later runs of a program.
    """

    name: ClassVar[str] = "budget"
    epsilon_total: Annotated[float, Field(gt=0, description="budget per metre", examples=[0.1])]
    window: Annotated[
        float | None, Field(gt=0, description="seconds; None: for ever", examples=[86_400.0])
    ] = None
    _spent: dict[str, tuple[Floats, Floats]] = PrivateAttr(default_factory=dict)
    _lock: Lock = PrivateAttr(default_factory=Lock)

    def spend(self, points: Points, method: Mechanism, size: int = 1) -> None:
        """Charge the fixes of all users, or raise if any user would exceed the budget.

        The charge comes before the draw and is not refunded if the release fails afterwards.
        """
        epsilon = getattr(method, "epsilon", math.inf)
        if method.guarantee.kind != "metric-dp" or not math.isfinite(epsilon):
            raise BudgetError(
                f"A budget needs a mechanism with a guarantee. {method.name} has none."
            )
        if points.users is None:  # the next call could not recognise them
            raise InputError("A budget needs the users of the points. Pass 'users'.")
        times = self._times(points)
        with self._lock:
            after: dict[str, tuple[Floats, Floats]] = {}
            for rows in trails(points):
                user = str(points.users[rows[0]])
                past = self._spent.get(user, _NOTHING)
                at = np.concatenate([past[0], times[rows]])
                costs = np.concatenate([past[1], np.full(len(rows), epsilon * size)])
                order = np.argsort(at, kind="stable")
                beyond = np.flatnonzero(self._sums(at[order], costs[order]) > self._most)
                if len(beyond):
                    fresh = order[: beyond[0] + 1] - len(past[0])
                    row = rows[fresh.max(initial=0)]  # the last of this call up to that fix
                    raise BudgetError(self._message(int(row), epsilon * size))
                after[user] = self._history(at[order], costs[order])
            self._spent.update(after)

    def _times(self, points: Points) -> Floats:
        if self.window is None:
            return np.zeros(len(points))
        if points.times is None:
            raise InputError("A budget with a window needs the times of the fixes. Pass 'times'.")
        far = np.flatnonzero(np.abs(points.times) >= _EXACT)
        if len(far):
            raise InputError(
                f"{row_numbers(far)} must have a time within 2^53 seconds of 0, beyond which"
                " numbers are not exact. Pass times in seconds."
            )
        return points.times

    @property
    def _most(self) -> float:
        return self.epsilon_total * (1 + 1e-9)

    def _sums(self, times: Floats, costs: Floats) -> Floats:
        """Return the total cost (m,) up to each fix, within the window that ends there."""
        sums: Floats = np.cumsum(costs)
        if self.window is None:
            return sums
        gone = np.searchsorted(times, _minus(times, self.window), side="right")
        within: Floats = sums - np.concatenate([[0.0], sums])[gone]
        return within

    def _history(self, times: Floats, costs: Floats) -> tuple[Floats, Floats]:
        """Return the spending to store: without a window the sum is enough."""
        return (times, costs) if self.window is not None else (times[:1], costs.sum(keepdims=True))

    def _message(self, row: int, cost: float) -> str:
        count = math.floor(self.epsilon_total / cost * (1 + 1e-9))
        return (
            f"The fix of row {row + 1:,} would exceed the budget of {self.epsilon_total:g} per"
            f" metre, which covers {count:,} fixes of {cost:g} including earlier ones. Nothing is"
            " released. Thin the trace, or raise the budget."
        )


_ROUNDS = 1_000
_STILL = 1e-6  # metres
_LOOKED = 1_000  # points per block in `_check`
_COUNTED = 2**15  # points per block in `still`


@dataclass(frozen=True, eq=False)
class Drawing:
    """The parameters of a release; `nodes` (m, 2) are the nodes inside the region."""

    method: Mechanism
    on: Surface
    population: Points | None = None
    region: Region | None = None
    prior: Points | None = None
    nodes: Floats | None = None

    def draw(self, points: Points, rng: Generator) -> tuple[Floats, Steps | None]:
        """Return one release (n, 2), or raise if a point cannot be placed in the region."""
        steps = None
        if isinstance(self.method, Predictive):
            moved, steps = self.method.follow(points, self.on, rng)
        else:
            moved = self.method.draw(points.xy, self.on, rng, self.population)
            self._check(moved, points)
        if self.prior is not None:
            moved = remap(moved, self.method, self.prior, self.on)
        if self.region is not None:
            moved = self._within(self.region, moved, points, rng)
        if self.nodes is not None:
            _, nearest = tree(self.on.embed(self.nodes)).query(self.on.embed(moved))
            moved = self.nodes[nearest]
        return moved, steps

    def _check(self, moved: Floats, points: Points) -> None:
        """Raise if no point moved; skipped with a guarantee, which such a check would break."""
        if self.method.guarantee.kind != "none":
            return
        for start in range(0, len(moved), _LOOKED):
            rows = slice(start, start + _LOOKED)
            if (self._metres(moved[rows], points.xy[rows]) >= _STILL).any():
                return
        raise InputError(
            f"{self.method.name} moved no point by a micrometre. Nothing is released. Try larger"
            " distances."
        )

    def still(self, moved: Floats, points: Points) -> int:
        """Return the number of points (n, 2) released in place, also after snapping.

        With a guarantee it is 0, because counting would break the guarantee.
        """
        if self.method.guarantee.kind != "none":
            return 0
        count = 0
        for start in range(0, len(moved), _COUNTED):
            rows = slice(start, start + _COUNTED)
            count += int((self._metres(moved[rows], points.xy[rows]) < _STILL).sum())
        return count

    def _metres(self, first: Floats, second: Floats) -> Floats:
        gap = self.on.embed(first) - self.on.embed(second)
        return self.on.metres(np.sqrt((gap**2).sum(axis=1)))

    def _within(self, region: Region, moved: Floats, points: Points, rng: Generator) -> Floats:
        """Redraw points outside the region, or project them if redrawing breaks the guarantee."""
        if not self.method.conditioned:
            return region.nearest(moved)
        outside = np.flatnonzero(~region.holds(moved))
        for _ in range(_ROUNDS - 1 if self.method.random else 0):
            if not len(outside):
                break
            fresh = self.method.draw(points.xy[outside], self.on, rng, self.population)
            inside = region.holds(fresh)
            moved[outside[inside]] = fresh[inside]
            outside = outside[~inside]
        if len(outside):
            raise InputError(
                f"{row_numbers(outside)} found no place inside the region. Nothing is released."
                " Try a larger region or larger distances."
            )
        return moved


def nodes_within(snap: Points, region: Region | None) -> Floats:
    """Return the nodes (m, 2) inside the region, or raise if there are none."""
    nodes: Floats = snap.xy if region is None else snap.xy[region.holds(snap.xy)]
    if not len(nodes):
        raise InputError("At least one node to snap to must be inside the region. Enlarge it.")
    return nodes


_OWN = {"ids": "id", "weights": "weight", "times": "time", "users": "user"}
_SNAPPED = (
    "Snapping costs nothing if the nodes are public and complete; nodes computed from the data"
    " reveal it."
)
_REMAPPED = "Remapping costs nothing if the prior is public."


def protect(
    points: Points,
    method: str | Mechanism,
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
        `Points` or a geopandas frame, and a mechanism or its spec.
    size
        Releases of each point; each one adds to the cost.
    within
        GeoJSON polygons (dict or file) that contain all released points: in metres for points of
        a plane, else in longitude and latitude. A mechanism with a guarantee moves points outside
        to the nearest point of the region, which preserves the guarantee. Any other mechanism
        redraws them up to 1,000 times, which is its distribution conditioned on the region. If a
        point cannot be placed, nothing is released.
    population
        Points of people, for the mechanisms ``density`` and ``swap``.
    snap
        Nodes or addresses; each released point moves to the nearest of them.
    prior
        Public places with weights; points released by laplace move to the best guess among them.
        Other mechanisms take no prior.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, for experiments: it is marked as seeded and **not private**.
    budget
        Limit per user, over all calls that get the same object; exceeding it raises
        `BudgetError`.
    """
    points, parsed = as_points(points), mechanism_of(method)
    size = _check(points, parsed, size, prior)
    for other in (population, snap, prior):
        if other is not None:
            common(points.crs, other.crs)
    on = surface(points.crs)
    cost = _cost(parsed.promise(on), points, size)
    cost = cost if snap is None else cost.with_caveat(_SNAPPED)
    cost = cost if prior is None else cost.with_caveat(_REMAPPED)
    region = None if within is None else Region.of(within, points.crs)
    nodes = None if snap is None else nodes_within(snap, region)
    drawing = Drawing(parsed, on, population, region, prior, nodes)
    draws, steps = generator(rng), []
    if budget is not None:  # after all checks, before the first draw
        budget.spend(points, parsed, size)
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
        str(parsed),
        cost,
        rng is not None,
        steps=_sum([taken for taken in steps if taken is not None]),
        columns=columns,
        id_column=id_column,
    )


def _check(points: Points, method: Mechanism, size: int, prior: Points | None) -> int:
    """Return the size as an int, or raise."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 1:
        raise ParameterError("The 'size' argument must be an integer >= 1.")
    if prior is not None and not isinstance(method, Laplace):
        raise ParameterError(f"The 'prior' argument is for laplace, not {method.name}.")
    if "users" in method.needs and points.users is None:
        raise InputError(f"{method.name} is for traces. Pass the users of the points.")
    return int(size)


def _cost(once: Guarantee, points: Points, size: int) -> Guarantee:
    """Compose over the releases, and over the fixes of the user with the most."""
    if points.users is None:
        return once.compose(size, once.unit)
    fixes = most_fixes(points)
    caveat = f"Each fix is a release; the user with the most fixes has {fixes:,}."
    return once.compose(size * fixes, "user").with_caveat(caveat)


def _still(count: int, total: int) -> str:
    """Return a caveat with the number of places released unchanged, but not which."""
    verb = "is" if count == 1 else "are"
    return f"{count:,} of {total:,} released places {verb} the true place."


def _sum(steps: list[Steps]) -> Steps | None:
    if not steps:
        return None
    worst = sum(taken.worst for taken in steps)  # an upper bound: the user may differ by release
    return Steps(sum(taken.hard for taken in steps), sum(taken.easy for taken in steps), worst)


def _columns(points: Points) -> tuple[dict[str, Any], str]:
    """Return the other columns of the points, and the name of the column of ids, "" if none."""
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
