"""State that the pages and the interface share: desk, plane, limits, and kept answers."""

import math
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import anyio
from anyio import to_thread

from veil.proxy.desk import Desk
from veil.proxy.settings import Budget, Configuration
from veil.proxy.slider import MeasuredPlane
from veil.text.vectors.embeddings import Embeddings
from veil.web.messages import GoneError, Request, Response, StatusError
from veil.web.pages import Common

if TYPE_CHECKING:
    from veil.dp.sql.database import Database
    from veil.web.sensitive import Room


T = TypeVar("T")


class RateLimit:
    """Let `rate` requests pass in a minute, of all callers together.

    A request that counts for several may overdraw it; the next one then waits longer.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._seen = float(rate), clock()

    def take(self) -> None:
        """Let one request pass, or refuse it and say when to come back."""
        now = self._clock()
        self._left = min(self._rate, self._left + (now - self._seen) * self._rate / 60)
        self._seen = now
        if self._left < 1:
            wait = math.ceil((1 - self._left) * 60 / self._rate)
            raise StatusError(
                429,
                f"More than {self._rate:,} requests were made in a minute; try again in"
                f" {wait:,} seconds.",
                "busy",
                retry_after=str(wait),
            )
        self._left -= 1

    def charge(self, count: int) -> None:
        """Count further requests, for one that passed and counts for several."""
        self._left -= count


class WorkQueue:
    """Run work that blocks in threads: `at_once` at a time, while `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._inside = 0
        self._slots: anyio.Semaphore | None = None
        self._threads: anyio.CapacityLimiter | None = None

    async def run(self, request: Request, work: Callable[[], T]) -> T:
        """Return the result of the work, unless nobody waits for it any more."""
        if self._inside >= self._at_once + self._waiting:
            raise StatusError(
                503,
                "Too many searches are under way, so that this one was not begun; try again in a"
                " few seconds.",
                "busy",
                retry_after="5",
            )
        if self._slots is None or self._threads is None:  # they belong to the loop that runs
            self._slots = anyio.Semaphore(self._at_once)
            self._threads = anyio.CapacityLimiter(self._at_once)
        self._inside += 1
        try:
            async with self._slots:
                if await request.is_disconnected():
                    raise GoneError
                return await to_thread.run_sync(work, limiter=self._threads)
        finally:
            self._inside -= 1


_MOST = 32
_SECONDS = 3_600.0


class AnswerCache:
    """Keep the last answers, for an hour at most; the oldest go first.

    A browser cannot go back to the answer to a form, nor reload it, without sending the form
    again. So it is redirected to an address for this answer, which holds no query.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Response]] = OrderedDict()

    def put(self, answer: Response) -> str:
        """Keep an answer and return its name."""
        name = secrets.token_urlsafe(16)
        self._answers[name] = self._clock() + _SECONDS, answer
        while len(self._answers) > _MOST:
            self._answers.popitem(last=False)
        return name

    def find(self, name: str) -> Response | None:
        """Return the answer of that name, or None if it is not kept any more."""
        now = self._clock()
        while self._answers and next(iter(self._answers.values()))[0] <= now:
            self._answers.popitem(last=False)
        answer = self._answers.get(name)
        return None if answer is None else answer[1]

    def clear(self) -> None:
        """Keep nothing any more."""
        self._answers.clear()


Vectors = Callable[[], Embeddings]


@dataclass(slots=True)
class Slider:
    """The position of the slider, in all tabs."""

    stop: int

    @classmethod
    def of(cls, desk: Desk, plane: MeasuredPlane) -> "Slider":
        """Return the position in which the user left it, if that is still a stop."""
        chosen = desk.chosen()
        place = plane.place(chosen) if chosen else None
        return cls(plane.default if place is None else place)


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that answers requests.

    Attributes
    ----------
    searches, looks
        Queues for work that takes long, and for the rest: pages open while searches run.
    bucket
        How many searches and calls of the interface pass in a minute.
    slider, kept
        What the pages remember: the last stop, and the last answers.
    patience
        Seconds for a request to arrive as a whole.
    database
        The database for questions in SQL, or None.
    sensitive
        The index of sensitive documents, or None.
    """

    desk: Desk
    plane: MeasuredPlane
    vectors: Vectors
    bucket: RateLimit
    searches: WorkQueue
    looks: WorkQueue
    slider: Slider
    kept: AnswerCache = field(default_factory=AnswerCache)
    patience: float = 10.0
    database: "Database | None" = None
    sensitive: "Room | None" = None

    @property
    def own(self) -> bool:
        """Whether the user's own documents are searched, on this machine."""
        return self.desk.standing == "own"

    def setting(self, stop: int) -> Configuration:
        """Return the setting of a stop of the slider."""
        if not 0 <= stop < len(self.plane.stops):
            raise StatusError(
                422, f"The slider has stops from 0 to {len(self.plane.stops) - 1}; choose one."
            )
        return self.plane.stops[stop].setting

    async def common(self, request: Request) -> Common:
        """Return what every page shows, with the budget as it is now."""
        return self.common_of(await self.looks.run(request, self.desk.budget), self.slider.stop)

    def common_of(self, budget: Budget, stop: int) -> Common:
        """Return what every page shows, with this budget and stop."""
        desk = self.desk
        return Common(
            desk.engine, desk.network, budget, self.plane, stop, desk.standing, desk.collection
        )
