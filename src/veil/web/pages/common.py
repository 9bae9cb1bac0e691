"""What every page shows."""

from dataclasses import dataclass

from veil.proxy.plane import Plane
from veil.proxy.types import Budget


@dataclass(frozen=True, slots=True)
class Common:
    """What every page shows: the engine, the budget, and the stops of the slider.

    Attributes
    ----------
    engine, network
        Spec of the engine, and whether variants leave the machine.
    budget
        What was spent in the last 24 hours, and what may be.
    plane
        What the slider moves along.
    stop
        Where the slider stands: a place in ``plane.stops``.
    """

    engine: str
    network: bool
    budget: Budget
    plane: Plane
    stop: int
