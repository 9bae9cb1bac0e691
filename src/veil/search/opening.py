"""Open an engine as a user names it: by its spec, and by the name of a collection."""

from veil.core.errors import ParameterError
from veil.core.types import Engine
from veil.corpus.sources import load_collection
from veil.data.fetch import Report, silent
from veil.search.engines import ENGINES

DEFAULT = "icd10cm"  # what a local engine searches unless it is told otherwise


def open_engine(spec: str, collection: str | None = None, report: Report = silent) -> Engine:
    """Open an engine, with a collection if it needs one."""
    parsed = ENGINES.parse(spec)
    if collection is not None and not parsed.collects:
        raise ParameterError(f"{parsed.name} searches its own documents; leave --collection out.")
    if not parsed.collects or (dict(parsed).get("index") and collection is None):
        return parsed.open(None, report)
    return parsed.open(load_collection(collection or DEFAULT, report), report)
