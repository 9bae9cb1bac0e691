"""Charges in memory, for all threads of a process."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from veil.dp.accounting.cost import Cost
from veil.dp.accounting.event import Event


class Memory:
    """A book that ends with its process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._counts: Counter[Cost] = Counter()
        self._events: list[Event] = []

    @property
    def _now(self) -> datetime:
        return datetime.now().astimezone()

    def counts(self) -> Counter[Cost]:
        """Return how often each cost was charged."""
        with self._lock:
            return self._counts.copy()

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""
        with self._lock:
            return tuple(self._events)

    @contextmanager
    def writing(self) -> Iterator["_Page"]:
        """Give a page; what was added to it counts when nothing was raised."""
        with self._lock:
            page = _Page(self._counts.copy())
            yield page
            for cost, times, note in page.added:
                self._counts[cost] += times
                number = len(self._events) + 1
                self._events.append(Event(number, self._now, cost, times, note))


class _Page:
    def __init__(self, counts: Counter[Cost]) -> None:
        self.counts = counts
        self.added: list[tuple[Cost, int, str]] = []

    def add(self, cost: Cost, times: int, note: str) -> None:
        self.added.append((cost, times, note))
