"""State shared by pages and interface: the private search, plane, limits and stored answers."""

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
    """Limits the requests of all callers together to `rate` per minute.

    A request that counts as several may exceed it; the next one then waits longer.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._seen = float(rate), clock()

    def take(self) -> None:
        """Count a request, or reject it with the time to wait."""
        now = self._clock()
        self._left = min(self._rate, self._left + (now - self._seen) * self._rate / 60)
        self._seen = now
        if self._left < 1:
            wait = math.ceil((1 - self._left) * 60 / self._rate)
            raise StatusError(
                429,
                f"There must be at most {self._rate:,} requests per minute. Try again in"
                f" {wait:,} seconds.",
                "busy",
                retry_after=str(wait),
            )
        self._left -= 1

    def charge(self, count: int) -> None:
        """Count further requests, if a request counts as several."""
        self._left -= count


class WorkQueue:
    """Runs blocking work in threads: `at_once` concurrently, while `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._inside = 0
        self._slots: anyio.Semaphore | None = None
        self._threads: anyio.CapacityLimiter | None = None

    async def run(self, request: Request, work: Callable[[], T]) -> T:
        """Return the result of the work, unless the client disconnects."""
        if self._inside >= self._at_once + self._waiting:
            raise StatusError(
                503,
                "Too many searches are running, so this one was not started. Try again in a few"
                " seconds.",
                "busy",
                retry_after="5",
            )
        if self._slots is None or self._threads is None:  # they belong to the running loop
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
    """Stores the latest answers for at most an hour; the oldest are dropped first.

    A browser cannot go back to the answer to a form, or reload it, without sending the form
    again. So it is redirected to an address of the answer, which contains no query.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: OrderedDict[str, tuple[float, Response]] = OrderedDict()

    def put(self, answer: Response) -> str:
        """Store an answer and return its name."""
        name = secrets.token_urlsafe(16)
        self._answers[name] = self._clock() + _SECONDS, answer
        while len(self._answers) > _MOST:
            self._answers.popitem(last=False)
        return name

    def find(self, name: str) -> Response | None:
        """Return the answer with that name, or None if it was dropped."""
        now = self._clock()
        while self._answers and next(iter(self._answers.values()))[0] <= now:
            self._answers.popitem(last=False)
        answer = self._answers.get(name)
        return None if answer is None else answer[1]

    def clear(self) -> None:
        """Drop all answers."""
        self._answers.clear()


Vectors = Callable[[], Embeddings]


@dataclass(slots=True)
class Slider:
    """The position of the slider, in all tabs."""

    stop: int

    @classmethod
    def of(cls, desk: Desk, plane: MeasuredPlane) -> "Slider":
        """Return the position the user last chose, if that setting still exists."""
        setting = desk.chosen()
        index = plane.place(setting) if setting else None
        return cls(plane.default if index is None else index)


@dataclass(frozen=True, slots=True)
class Service:
    """Everything needed to answer requests.

    Attributes
    ----------
    searches, looks
        Queues for long work, and for the rest, so that pages open during searches.
    bucket
        Limit of searches and API calls per minute.
    slider, answers
        The last slider position, and the latest answers.
    patience
        Seconds within which a request must arrive completely.
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
    answers: AnswerCache = field(default_factory=AnswerCache)
    patience: float = 10.0
    database: "Database | None" = None
    sensitive: "Room | None" = None

    @property
    def own(self) -> bool:
        """Whether the user's own documents on this machine are searched."""
        return self.desk.standing == "own"

    def setting(self, stop: int) -> Configuration:
        """Return a setting of the slider."""
        if not 0 <= stop < len(self.plane.stops):
            raise StatusError(
                422,
                (
                    f"The setting of the slider must be from 0 to {len(self.plane.stops) - 1}."
                    f" Got {stop} instead."
                ),
            )
        return self.plane.stops[stop].setting

    async def common(self, request: Request) -> Common:
        """Return the data of all pages, with the current budget."""
        return self.common_of(await self.looks.run(request, self.desk.budget), self.slider.stop)

    def common_of(self, budget: Budget, stop: int) -> Common:
        """Return the data of all pages, with this budget and setting."""
        desk = self.desk
        return Common(
            desk.engine, desk.network, budget, self.plane, stop, desk.standing, desk.collection
        )
