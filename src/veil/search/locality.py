"""Open an engine by its spec, and tell whether its queries leave this machine."""

from typing import Literal

from veil.core.errors import ParameterError
from veil.core.types import Engine
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress
from veil.search.engines import ENGINES
from veil.search.engines.engine import leaves

DEFAULT = "icd10cm"  # what a local engine searches unless it is told otherwise


def open_engine(spec: str, collection: str | None = None, report: Report = no_progress) -> Engine:
    """Open an engine, with a collection if it needs one."""
    parsed = ENGINES.parse(spec)
    if collection is not None and not parsed.collects:
        raise ParameterError(f"{parsed.name} searches its own documents; leave --collection out.")
    if not parsed.collects or (dict(parsed).get("index") and collection is None):
        return parsed.open(None, report)
    return parsed.open(load_collection(collection or DEFAULT, report), report)


Locality = Literal["own", "stand-in", "elsewhere"]

HERE = (
    "These documents and the engine are on this machine: your query does not leave it, so it is"
    " searched as it is."
)
DEMONSTRATION = (
    "A demonstration: these documents and the engine are on this machine, so that nothing leaves"
    " it either way; this is what an engine elsewhere would see."
)


def locality(engine: Engine) -> Locality:
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
    >>> locality(SimpleNamespace(network=False))
    'stand-in'
    """
    if leaves(engine):
        return "elsewhere"
    return "own" if collection_name(engine) not in ("", DEFAULT) else "stand-in"


def collection_name(engine: Engine) -> str:
    """Return the name of the collection that an engine searches here, or nothing."""
    found = getattr(engine, "collection", None)
    return found.name if isinstance(found, Collection) else ""


def stand_in_notice(name: str) -> str:
    """Say that an engine on this machine is treated as one that is not.

    >>> stand_in_notice("icd10cm")
    'icd10cm on this machine stands in for an engine elsewhere: it is searched privately.'
    """
    return f"{name} on this machine stands in for an engine elsewhere: it is searched privately."
