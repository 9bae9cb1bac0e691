"""Variants that wait to be sent: each until it is due, then any of those that are."""

import heapq
import itertools
import secrets
from collections.abc import Set as AbstractSet

from veil.proxy.mixing._mixing import Job

_RANDOM = secrets.SystemRandom()


class Pool:
    """The pending jobs of all searches; whoever uses it holds a lock."""

    def __init__(self) -> None:
        self._later: list[tuple[float, int, Job]] = []  # a heap, by the time they are due
        self._due: list[Job] = []
        self._count = itertools.count()  # jobs cannot be compared

    def __len__(self) -> int:
        return len(self._later) + len(self._due)

    def add(self, job: Job, now: float, spread: float) -> None:
        """Let a job wait for a uniformly random time from nothing to `spread` seconds."""
        due = now + _RANDOM.uniform(0.0, spread)
        heapq.heappush(self._later, (due, next(self._count), job))

    def take(self, now: float) -> Job | None:
        """Take any job that is due, each as likely as the others; None if none is."""
        while self._later and self._later[0][0] <= now:
            self._due.append(heapq.heappop(self._later)[2])
        if not self._due:
            return None
        place = _RANDOM.randrange(len(self._due))
        self._due[place], self._due[-1] = self._due[-1], self._due[place]
        return self._due.pop()

    def soonest(self) -> float:
        """Return when the next job is due, where none is yet; infinity where there is none."""
        return self._later[0][0] if self._later else float("inf")

    def withdraw(self, jobs: AbstractSet[Job]) -> None:
        """Drop jobs, wherever they stand."""
        self._due = [job for job in self._due if job not in jobs]
        self._later = [each for each in self._later if each[2] not in jobs]
        heapq.heapify(self._later)
