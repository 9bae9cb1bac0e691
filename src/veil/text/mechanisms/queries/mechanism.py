"""What every query mechanism declares."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Protocol

from veil.text.mechanisms.mechanism import TextMechanism


@dataclass(frozen=True, slots=True)
class Scrambled:
    """What stands in for one query.

    Attributes
    ----------
    queries
        The best first, without duplicates; none at all when nothing can be sent.
    kept
        Words of the text that are in the queries by policy, in order. `scramble` reads them off
        the queries that are sent, whatever is said here.
    protected
        Number of words of the text that were replaced or left out in at least one of the queries.
    """

    queries: tuple[str, ...]
    kept: tuple[str, ...]
    protected: int


class Scrambler(Protocol):
    """A mechanism with all that it needs at hand."""

    def scramble(self, text: str, size: int) -> Scrambled:
        """Return at most `size` queries to send instead of the text."""
        ...


class QueryMechanism(TextMechanism):
    """A map from a whole query to other queries, which need not have its words or its length."""

    @abstractmethod
    def bind(self) -> Scrambler:
        """Load what the mechanism works with: a dictionary, an index."""
