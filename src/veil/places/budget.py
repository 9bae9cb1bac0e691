"""A budget of a user: the fix that would exceed it is refused."""

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.component import Component
from veil.core.errors import BudgetError, InputError
from veil.core.types import Ids
from veil.places.method import Method
from veil.places.points import Points
from veil.places.traces import trails


class Budget(Component):
    """What a user may spend, in all or within any `window` of seconds.

    A fix costs the epsilon that its method asks for, times the releases of it; what finite
    precision and the curvature of the Earth add stands in the cost of the release. Counted is the
    worst case, before anything is drawn: a method whose steps may turn out cheaper is refused as
    if none did. Epsilon is never lowered: what does not fit is not released, nor is the rest.
    """

    name: ClassVar[str] = "budget"
    epsilon_total: Annotated[float, Field(gt=0, description="budget per metre", examples=[0.1])]
    window: Annotated[
        float | None, Field(gt=0, description="seconds; None: for ever", examples=[86_400.0])
    ] = None

    def check(self, points: Points, method: Method, size: int = 1) -> None:
        """Raise if the fixes of any user cost more."""
        each = getattr(method, "epsilon", math.inf)
        if method.guarantee.kind != "metric-dp" or not math.isfinite(each):
            raise BudgetError(
                f"A budget needs a method with a guarantee; nothing is proved of {method.name}."
            )
        if self.window is not None and points.times is None:
            raise InputError("A budget with a window needs the times of the fixes; hand them in.")
        most = math.floor(self.epsilon_total / (each * size) * (1 + 1e-9))
        for rows in trails(points):
            beyond = np.flatnonzero(self._counts(points, rows) > most)
            if len(beyond):
                raise BudgetError(
                    f"The fix of row {rows[beyond[0]] + 1:,} would exceed the budget of"
                    f" {self.epsilon_total:g} per metre: there is room for {most:,} of"
                    f" {each * size:g}. Nothing is released; thin the trace, or raise the budget."
                )

    def _counts(self, points: Points, rows: Ids) -> Ids:
        """Count the fixes (m,) of a user up to each, within the window that ends there."""
        numbers = np.arange(1, len(rows) + 1)
        if self.window is None or points.times is None:
            return numbers
        times = points.times[rows]
        gone: Ids = np.searchsorted(times, times - self.window, side="right")
        return numbers - gone
