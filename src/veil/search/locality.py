"""Open an engine by its spec, and infer whether its queries leave this machine."""

from typing import Literal

from veil.core.errors import ParameterError
from veil.core.types import Engine
from veil.corpus.catalogue import load_collection
from veil.corpus.collection import Collection
from veil.data.fetch import Report, no_progress
from veil.search.engines import ENGINES
from veil.search.engines.engine import leaves

DEFAULT = "icd10cm"  # the default collection of a local engine


def open_engine(spec: str, collection: str | None = None, report: Report = no_progress) -> Engine:
    """Return the engine of a spec, opened with a collection if it needs one."""
    parsed = ENGINES.parse(spec)
    if collection is not None and not parsed.collects:
        raise ParameterError(
            f"The {parsed.name} engine searches its own documents. Remove --collection."
        )
    if not parsed.collects or (dict(parsed).get("index") and collection is None):
        return parsed.open(None, report)
    return parsed.open(load_collection(collection or DEFAULT, report), report)


Locality = Literal["own", "stand-in", "elsewhere"]

HERE = (
    "These documents and the engine are on this machine. Your query does not leave it, so it is"
    " searched unprotected."
)
SIMULATION = (
    "This is a simulation of what a remote engine would see. The documents and the engine are on"
    " this machine, so nothing leaves it."
)


def locality(engine: Engine) -> Locality:
    """Return the locality of an engine, by which all interfaces decide how to search.

    own
        The engine searches a collection that the user named, on this machine. Nothing leaves it,
        and there is nobody to hide the query from.
    stand-in
        The engine is on this machine and shows what a remote engine would see: the embedded
        catalogue, a recording, or any engine without a collection.
    elsewhere
        Queries leave this process, for another machine or for another program on this one.

    >>> from types import SimpleNamespace
    >>> locality(SimpleNamespace(network=False))
    'stand-in'
    """
    if leaves(engine):
        return "elsewhere"
    return "own" if collection_name(engine) not in ("", DEFAULT) else "stand-in"


def collection_name(engine: Engine) -> str:
    """Return the name of the collection that a local engine searches, or ""."""
    collection = getattr(engine, "collection", None)
    return collection.name if isinstance(collection, Collection) else ""


def stand_in_notice(name: str) -> str:
    """Return the notice that a local engine is treated like a remote one.

    >>> stand_in_notice("icd10cm")
    'icd10cm on this machine is treated like a remote engine: it is searched privately.'
    """
    return f"{name} on this machine is treated like a remote engine: it is searched privately."
