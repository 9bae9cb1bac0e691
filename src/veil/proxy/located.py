"""Results of one's own files: where they lie, and what is in them."""

from dataclasses import replace

from veil.core.types import Engine
from veil.corpus.collection import Collection
from veil.corpus.document_file import Opened, open_document
from veil.proxy.found import Item
from veil.search.engines.engine import leaves


def located(items: tuple[Item, ...], engine: Engine) -> tuple[Item, ...]:
    """Give results the path of the file that they are of, where the engine searches files."""
    collection = _searched(engine)
    files = None if collection is None else collection.files
    if files is None:
        return items
    found = ((item, files.file_of(item.id)) for item in items)
    return tuple(
        item if file is None else replace(item, path=str(files.root / file[0].path))
        for item, file in found
    )


def open_result(name: str, engine: Engine) -> Opened | None:
    """Open the file of a result by its id; None if there is none."""
    collection = _searched(engine)
    return None if collection is None else open_document(collection, name)


def _searched(engine: Engine) -> Collection | None:
    """Return the collection of an engine on this machine; one elsewhere names no files here."""
    found = getattr(engine, "collection", None)
    return found if isinstance(found, Collection) and not leaves(engine) else None
