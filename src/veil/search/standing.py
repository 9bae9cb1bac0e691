"""Where the engine stands: whether a query that it is asked with leaves this machine."""

from typing import Literal

from veil.core.types import Engine
from veil.corpus.collection import Collection
from veil.search.engines.engine import leaves
from veil.search.opening import DEFAULT

Place = Literal["own", "stand-in", "elsewhere"]

HERE = (
    "These documents and the engine are on this machine: your query does not leave it, so it is"
    " searched as it is."
)
DEMONSTRATION = (
    "A demonstration: these documents and the engine are on this machine, so that nothing leaves"
    " it either way; this is what an engine elsewhere would see."
)


def standing(engine: Engine) -> Place:
    """Say what an engine is to the user; all doors decide by this how to search.

    own
        It searches a collection that the user named, on this machine: nothing would leave it, and
        there is nobody to hide the query from.
    stand-in
        It is on this machine and shows what an engine elsewhere would see: the embedded catalogue,
        a recording, or whatever has no collection.
    elsewhere
        Queries leave this machine, also to another program on it.

    >>> from types import SimpleNamespace
    >>> standing(SimpleNamespace(network=False))
    'stand-in'
    """
    if leaves(engine):
        return "elsewhere"
    return "own" if collection_name(engine) not in ("", DEFAULT) else "stand-in"


def collection_name(engine: Engine) -> str:
    """Return the name of the collection that an engine searches here, or nothing."""
    found = getattr(engine, "collection", None)
    return found.name if isinstance(found, Collection) else ""


def told_of_stand_in(name: str) -> str:
    """Say that an engine on this machine is treated as one that is not.

    >>> told_of_stand_in("icd10cm")
    'icd10cm on this machine stands in for an engine elsewhere: it is searched privately.'
    """
    return f"{name} on this machine stands in for an engine elsewhere: it is searched privately."
