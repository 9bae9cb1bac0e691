"""One private search from beginning to end: the only door of the page and of its interface."""

from collections.abc import Sequence
from typing import Protocol

from veil.corpus.document_file import OpenedDocument
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import Budget, Configuration, Decision, Release
from veil.search.locality import Locality


class Desk(Protocol):
    """What the page asks of the proxy. Everything blocks; call it from a thread."""

    @property
    def engine(self) -> str:
        """Spec of the engine, without anything secret."""
        ...

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        ...

    @property
    def standing(self) -> Locality:
        """What the engine is to the user: see `veil.search.locality.locality`."""
        ...

    @property
    def collection(self) -> str:
        """Name of the documents on this machine that are searched, or nothing."""
        ...

    def gate(self, query: str) -> Decision:
        """Say what the rules say of a query; nothing is sent."""
        ...

    def search(self, query: str, setting: Configuration, *, plain: bool = False) -> SearchOutcome:
        """Search privately; `plain` sends the query itself, if a rule lets it pass."""
        ...

    def search_here(self, query: str) -> SearchOutcome:
        """Search the user's own documents, on this machine, for the query as it is."""
        ...

    def opened(self, name: str) -> OpenedDocument | None:
        """Open the file of the user's own that a result is of; None if the index has none."""
        ...

    def search_all(self, queries: Sequence[str], setting: Configuration) -> list[SearchOutcome]:
        """Search privately for many queries, one after the other."""
        ...

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        ...

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        """Return entries of the ledger, newest first, from `before` on."""
        ...

    def choose(self, setting: Configuration) -> None:
        """Keep the setting that the user chose on the page."""
        ...

    def chosen(self) -> Configuration | None:
        """Return the setting that the user chose last, or None."""
        ...

    def forget(self, number: int) -> bool:
        """Forget an entry; False if there is none."""
        ...
