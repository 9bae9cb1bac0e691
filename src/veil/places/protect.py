r"""From points to a release, within a region and the budget of a user.

Move released points to the place of a prior that is the best guess.
For a released z and a public prior w over places y the point is

.. math:: \arg\min_c \sum_y P(y|z) \, d(c, y), \qquad P(y|z) \propto w_y f(z|y)

over the places c of the prior: a function of z and the prior alone, so that it costs nothing as
long as the prior is public.

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
from veil.places.mechanisms import mechanism as named
from veil.places.mechanisms.laplace import Laplace, Predictive
from veil.places.neighbours import tree
from veil.places.points import Points, most_fixes, trails
from veil.places.projection import BLOCK, Surface, blocks, common, pairs, surface
from veil.places.region import Region
from veil.places.release import Release, Steps


def remap(released: Floats, method: Mechanism, prior: Points, on: Surface) -> Floats:
    """Return the best guesses (n, 2) for released points (n, 2)."""
    there = on.embed(prior.xy)
    people = np.ones(len(prior)) if prior.weights is None else prior.weights
    with np.errstate(divide="ignore"):
        beliefs = np.log(people)
    moved = np.empty_like(released)
    for block in blocks(len(released), len(prior), BLOCK // 4):
        logs = method.log_density(released[block], prior.xy, on) + beliefs
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs, out=logs)
        moved[block] = prior.xy[_best(shares, there, on)]
    return moved


def _best(shares: Floats, there: Floats, on: Surface) -> Ids:
    """Return, for each row of shares (n, m), the place with the least expected distance."""
    least = np.full(len(shares), np.inf)
    best = np.zeros(len(shares), dtype=np.int64)
    for block in blocks(len(there), len(there), BLOCK // 4):
        expected = shares @ pairs(on, there, there[block])
        place = expected.argmin(axis=1)
        value = expected[np.arange(len(shares)), place]
        better = value < least
        least[better], best[better] = value[better], place[better] + block.start
    return best


_EXACT = 2.0**53  # seconds, from which on a double leaves some out


def _minus(times: Floats, window: float) -> Floats:
    """Return times - window, rounded down: a fix within a window is never left out."""
    less = times - window
    back = times - less
    error = (times - (less + back)) + (back - window)  # exactly what rounding took off
    return np.where(error < 0, np.nextafter(less, -np.inf), less)


_NOTHING: tuple[Floats, Floats] = (np.empty(0), np.empty(0))


class Budget(Component):
    """What a user may spend, in all or within any `window` of seconds, over all calls.

    A fix costs the epsilon that its method asks for, times the releases of it; what finite
    precision and the curvature of the Earth add stands in the cost of the release. Counted is the
    worst case, before anything is drawn: a method whose steps may turn out cheaper is refused as
    if none did. Epsilon is never lowered: what does not fit is not released, nor is the rest, and
    then nothing is spent.

    What each user spent is remembered in this object, by the names in `Points.users`, and counts
    in every later call that is handed the same object, also from several threads. Another object,
    a copy in another process and the next run of a program know nothing of it.
    """

    name: ClassVar[str] = "budget"
    epsilon_total: Annotated[float, Field(gt=0, description="budget per metre", examples=[0.1])]
    window: Annotated[
        float | None, Field(gt=0, description="seconds; None: for ever", examples=[86_400.0])
    ] = None
    _spent: dict[str, tuple[Floats, Floats]] = PrivateAttr(default_factory=dict)
    _lock: Lock = PrivateAttr(default_factory=Lock)

    def spend(self, points: Points, method: Mechanism, size: int = 1) -> None:
        """Count the fixes of all users, or raise if any user would have spent too much.

        It is spent before the draw: a release that fails afterwards has been paid.
        """
        each = getattr(method, "epsilon", math.inf)
        if method.guarantee.kind != "metric-dp" or not math.isfinite(each):
            raise BudgetError(
                f"A budget needs a method with a guarantee; nothing is proved of {method.name}."
            )
        if points.users is None:  # nobody could be told again in the next call
            raise InputError("A budget needs the users of the points; hand them in.")
        times = self._times(points)
        with self._lock:
            after: dict[str, tuple[Floats, Floats]] = {}
            for rows in trails(points):
                user = str(points.users[rows[0]])
                past = self._spent.get(user, _NOTHING)
                at = np.concatenate([past[0], times[rows]])
                costs = np.concatenate([past[1], np.full(len(rows), each * size)])
                order = np.argsort(at, kind="stable")
                beyond = np.flatnonzero(self._sums(at[order], costs[order]) > self._most)
                if len(beyond):
                    fresh = order[: beyond[0] + 1] - len(past[0])
                    row = rows[fresh.max(initial=0)]  # of this call, the last up to there
                    raise BudgetError(self._sentence(int(row), each * size))
                after[user] = self._kept(at[order], costs[order])
            self._spent.update(after)

    def _times(self, points: Points) -> Floats:
        if self.window is None:
            return np.zeros(len(points))
        if points.times is None:
            raise InputError("A budget with a window needs the times of the fixes; hand them in.")
        far = np.flatnonzero(np.abs(points.times) >= _EXACT)
        if len(far):
            raise InputError(
                f"{row_numbers(far)} must have a time within 2^53 seconds of 0, beyond which"
                " seconds cannot be told apart; hand in seconds."
            )
        return points.times

    @property
    def _most(self) -> float:
        return self.epsilon_total * (1 + 1e-9)

    def _sums(self, times: Floats, costs: Floats) -> Floats:
        """Add up the costs (m,) to each fix, within the window that ends there."""
        sums: Floats = np.cumsum(costs)
        if self.window is None:
            return sums
        gone = np.searchsorted(times, _minus(times, self.window), side="right")
        within: Floats = sums - np.concatenate([[0.0], sums])[gone]
        return within

    def _kept(self, times: Floats, costs: Floats) -> tuple[Floats, Floats]:
        """Return what is to be remembered: without a window the sum is enough."""
        return (times, costs) if self.window is not None else (times[:1], costs.sum(keepdims=True))

    def _sentence(self, row: int, each: float) -> str:
        room = math.floor(self.epsilon_total / each * (1 + 1e-9))
        return (
            f"The fix of row {row + 1:,} would exceed the budget of {self.epsilon_total:g} per"
            f" metre: there is room for {room:,} of {each:g}, with what was spent before. Nothing"
            " is released; thin the trace, or raise the budget."
        )


_ROUNDS = 1_000
_STILL = 1e-6  # metres
_LOOKED = 1_000  # points looked at together
_COUNTED = 2**15  # points compared together


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a release is drawn with; `nodes` (m, 2) are those inside the region."""

    method: Mechanism
    on: Surface
    population: Points | None = None
    region: Region | None = None
    prior: Points | None = None
    nodes: Floats | None = None

    def draw(self, points: Points, rng: Generator) -> tuple[Floats, Steps | None]:
        """Return one release (n, 2), or raise if any point finds no place."""
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
        """Raise if no point moved at all; where something is proved, a look would break that."""
        if self.method.guarantee.kind != "none":
            return
        for start in range(0, len(moved), _LOOKED):
            rows = slice(start, start + _LOOKED)
            if (self._metres(moved[rows], points.xy[rows]) >= _STILL).any():
                return
        raise InputError(
            f"{self.method.name} moved no point by a micrometre; choose larger distances."
            " Nothing is released."
        )

    def still(self, moved: Floats, points: Points) -> int:
        """Count the points that a release (n, 2) leaves where they were, after the nodes, too.

        Where something is proved nothing is counted: a look would break that.
        """
        if self.method.guarantee.kind != "none":
            return 0
        count = 0
        for start in range(0, len(moved), _COUNTED):
            rows = slice(start, start + _COUNTED)
            count += int((self._metres(moved[rows], points.xy[rows]) < _STILL).sum())
        return count

    def _metres(self, one: Floats, other: Floats) -> Floats:
        """Return metres (n,) between the rows of two arrays (n, 2)."""
        apart = self.on.embed(one) - self.on.embed(other)
        return self.on.metres(np.sqrt((apart**2).sum(axis=1)))

    def _within(self, region: Region, moved: Floats, points: Points, rng: Generator) -> Floats:
        """Project what a proof stands on; draw everything else again, all points at once."""
        if not self.method.conditioned:
            return region.nearest(moved)
        left = np.flatnonzero(~region.holds(moved))
        for _ in range(_ROUNDS - 1 if self.method.random else 0):
            if not len(left):
                break
            fresh = self.method.draw(points.xy[left], self.on, rng, self.population)
            inside = region.holds(fresh)
            moved[left[inside]] = fresh[inside]
            left = left[~inside]
        if len(left):
            raise InputError(
                f"{row_numbers(left)} found no place inside the region; enlarge it, or the"
                " distances of the method. Nothing is released."
            )
        return moved


def nodes_within(snap: Points, region: Region | None) -> Floats:
    """Return the nodes (m, 2) that lie inside the region; there must be any."""
    nodes: Floats = snap.xy if region is None else snap.xy[region.holds(snap.xy)]
    if not len(nodes):
        raise InputError("Some node to snap to must lie inside the region; enlarge it.")
    return nodes


_OWN = {"ids": "id", "weights": "weight", "times": "time", "users": "user"}
_SNAPPED = "Snapping costs nothing if the nodes are public and complete; nodes made of data tell."
_REMAPPED = "Remapping costs nothing as long as the prior is public."


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


def _check(points: Points, method: Mechanism, size: int, prior: Points | None) -> int:
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
