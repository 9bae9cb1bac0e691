"""The interface of a private search, used by the page and its API."""

from collections.abc import Sequence
from typing import Protocol

from veil.corpus.document_file import OpenedDocument
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import Budget, Configuration, Decision, Release
from veil.search.locality import Locality


class Desk(Protocol):
    """A private search. Every method blocks; call it from a thread."""

    @property
    def engine(self) -> str:
        """Spec of the engine, without secrets."""
        ...

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        ...

    @property
    def standing(self) -> Locality:
        """Locality of the engine: see `veil.search.locality.locality`."""
        ...

    @property
    def collection(self) -> str:
        """Name of the searched documents on this machine, or ""."""
        ...

    def gate(self, query: str) -> Decision:
        """Return what the rules decide about a query; nothing is sent."""
        ...

    def search(self, query: str, setting: Configuration, *, plain: bool = False) -> SearchOutcome:
        """Search privately; `plain` sends the query itself, if a rule allows it."""
        ...

    def search_here(self, query: str) -> SearchOutcome:
        """Search the user's own documents on this machine with the query itself."""
        ...

    def opened(self, name: str) -> OpenedDocument | None:
        """Open the user's file of a result; None if it has no file."""
        ...

    def search_all(self, queries: Sequence[str], setting: Configuration) -> list[SearchOutcome]:
        """Search privately for several queries."""
        ...

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        ...

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        """Return ledger entries, newest first; with `before`, only those with a lower number."""
        ...

    def choose(self, setting: Configuration) -> None:
        """Save the setting the user chose on the page."""
        ...

    def chosen(self) -> Configuration | None:
        """Return the setting the user chose last, or None."""
        ...

    def forget(self, number: int) -> bool:
        """Delete a ledger entry; False if there is no such entry."""
        ...
