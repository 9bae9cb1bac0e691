"""A budget of a user: the fix that would exceed it is refused."""

import math
from threading import Lock
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field, PrivateAttr

from veil.core.component import Component
from veil.core.errors import BudgetError, InputError
from veil.core.types import Floats
from veil.places.method import Method
from veil.places.points import Points
from veil.places.traces import trails

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

    def spend(self, points: Points, method: Method, size: int = 1) -> None:
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
        return points.times

    @property
    def _most(self) -> float:
        return self.epsilon_total * (1 + 1e-9)

    def _sums(self, times: Floats, costs: Floats) -> Floats:
        """Add up the costs (m,) to each fix, within the window that ends there."""
        sums: Floats = np.cumsum(costs)
        if self.window is None:
            return sums
        gone = np.searchsorted(times, times - self.window, side="right")
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
