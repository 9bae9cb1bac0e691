"""What every page shows."""

from dataclasses import dataclass

from veil.proxy.slider import MeasuredPlane
from veil.proxy.types import Budget
from veil.search.locality import Place


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
    standing, collection
        What the engine is to the user, and the name of the documents that it searches here.
    """

    engine: str
    network: bool
    budget: Budget
    plane: MeasuredPlane
    stop: int
    standing: Place = "elsewhere"
    collection: str = ""

    @property
    def own(self) -> bool:
        """Whether documents of the user's own are searched, on this machine."""
        return self.standing == "own"

    @property
    def foreign(self) -> bool:
        """Whether the figures of the plane were measured on other documents, or not here."""
        return self.collection != self.plane.collection
