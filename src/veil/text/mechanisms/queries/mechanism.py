"""What every query mechanism declares."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from veil.core.types import Ids
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


@runtime_checkable
class Addressed(Protocol):
    """A table whose groups of texts are sent whole: a release is an address, and nothing else.

    The law is exact: a query gives the group of its address for certain, and no other.
    """

    def address(self, texts: Sequence[str]) -> Ids:
        """Return the address (n,) of each query."""
        ...

    def group(self, address: int) -> tuple[str, ...]:
        """Return the texts that are sent for all queries of an address."""
        ...


class QueryMechanism(TextMechanism):
    """A map from a whole query to other queries, which need not have its words or its length.

    It draws nothing: who has it can run it on all queries that come into question.

    `whole` says that the queries for one text are one release, whose number is not the caller's
    choice: all of them are sent or none, also one that is the text itself, and the guarantee is of
    all of them together. Such a mechanism has a `size`, and its table is an `Addressed`.
    """

    whole: ClassVar[bool] = False
    foes: ClassVar[tuple[str, ...]] = ("rerun",)

    @property
    def size(self) -> int | None:
        """How many queries a release has, if that is fixed."""
        return None

    @abstractmethod
    def bind(self) -> Scrambler:
        """Load what the mechanism works with: a dictionary, an index."""


def table_of(mechanism: QueryMechanism) -> Addressed | None:
    """Open the table of a mechanism that sends whole groups; any other has none."""
    bound = mechanism.bind() if mechanism.whole else None
    for found in (bound, getattr(bound, "table", None)):
        if isinstance(found, Addressed):
            return found
    return None
