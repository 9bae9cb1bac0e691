"""Where charges are kept: what a budget needs of it."""

from collections import Counter
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from veil.dp.accounting.cost import Cost
from veil.dp.accounting.event import Event


class Terms(NamedTuple):
    """What a budget was made for."""

    epsilon: float
    delta: float
    accountant: str


class Page(Protocol):
    """The charges as they stand, for one change that nobody else comes between."""

    @property
    def counts(self) -> Counter[Cost]:
        """How often each cost was charged."""

    def add(self, cost: Cost, times: int, note: str) -> None:
        """Charge a cost."""


class Book(Protocol):
    """Charges, in memory or in a file."""

    def counts(self) -> Counter[Cost]:
        """Return how often each cost was charged."""

    def events(self) -> tuple[Event, ...]:
        """Return all charges, the oldest first."""

    def writing(self) -> AbstractContextManager[Page]:
        """Give a page for one change: all of it is kept afterwards, or nothing if it raises."""
