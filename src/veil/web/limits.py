"""How much is taken on: so many a minute, so many at once, and so many that wait."""

import math
import time
from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread

from veil.web.faults import GoneError, StatusError
from veil.web.messages import Request

T = TypeVar("T")


class Bucket:
    """Let `rate` things pass in a minute, for all who ask together.

    What is asked for at once may overdraw it; then it takes longer until the next one passes.
    """

    def __init__(self, rate: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._clock = rate, clock
        self._left, self._seen = float(rate), clock()

    def take(self) -> None:
        """Let one thing pass, or refuse and say when to come back."""
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
        """Count more things that come with one that passed."""
        self._left -= count


class Turns:
    """Run work that blocks in threads: `at_once` at a time, while `waiting` more wait."""

    def __init__(self, at_once: int, waiting: int) -> None:
        self._at_once, self._waiting = at_once, waiting
        self._inside = 0
        self._slots: anyio.Semaphore | None = None
        self._threads: anyio.CapacityLimiter | None = None

    async def run(self, request: Request, work: Callable[[], T]) -> T:
        """Do the work and return what comes of it, unless nobody waits for it any more."""
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
