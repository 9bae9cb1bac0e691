"""What the pages and the interface share: the desk, the plane, and the limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from veil.proxy.desk import Desk
from veil.proxy.slider import MeasuredPlane
from veil.proxy.types import Setting
from veil.text.vectors.embeddings import Embeddings
from veil.web.faults import StatusError
from veil.web.kept import Kept
from veil.web.limits import Bucket, Turns

if TYPE_CHECKING:
    from veil.dp.sql.database import Database
    from veil.web.sensitive import Room

Vectors = Callable[[], Embeddings]


@dataclass(slots=True)
class Slider:
    """Where the slider stands, for all tabs."""

    stop: int

    @classmethod
    def of(cls, desk: Desk, plane: MeasuredPlane) -> "Slider":
        """Put it where the user left it, if that is still a stop."""
        chosen = desk.chosen()
        place = plane.place(chosen) if chosen else None
        return cls(plane.default if place is None else place)


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that answers a request, apart from the request.

    Attributes
    ----------
    searches, looks
        Who may run what takes long, and what does not: pages open while searches run.
    bucket
        How many searches and calls of the interface pass in a minute.
    slider, kept
        What the pages remember: the stop chosen last, and the last answers.
    patience
        Seconds for a request to arrive as a whole.
    database
        What questions in SQL are answered from, with noise; None where none was named.
    sensitive
        The index of sensitive documents that is searched; None where none was named.
    """

    desk: Desk
    plane: MeasuredPlane
    vectors: Vectors
    bucket: Bucket
    searches: Turns
    looks: Turns
    slider: Slider
    kept: Kept = field(default_factory=Kept)
    patience: float = 10.0
    database: "Database | None" = None
    sensitive: "Room | None" = None

    @property
    def own(self) -> bool:
        """Whether documents of the user's own are searched, on this machine."""
        return self.desk.standing == "own"

    def setting(self, stop: int) -> Setting:
        """Return the setting of a stop of the slider."""
        if not 0 <= stop < len(self.plane.stops):
            raise StatusError(
                422, f"The slider has stops from 0 to {len(self.plane.stops) - 1}; choose one."
            )
        return self.plane.stops[stop].setting
