"""Collections that ir_datasets knows; it downloads them on the user's machine."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from veil.core.errors import AssetError, InputError, MissingExtraError, UnknownNameError
from veil.corpus.collection import Collection
from veil.corpus.documents import Document, Documents
from veil.data.fetch import Report, silent

_TITLES = ("title", "headline")
_EVERY = 20_000


def read_irds(identifier: str, report: Report = silent) -> Collection:
    """Read documents, queries and judgements of an ir_datasets id, such as ``vaswani``."""
    with _had(identifier):
        return _read(_load(identifier), identifier, report)


def read_irds_queries(identifier: str) -> Iterator[str]:
    """Yield the queries of an ir_datasets id as a log has them."""
    with _had(identifier):
        dataset = _load(identifier)
        if not dataset.has_queries():
            raise InputError(f"irds:{identifier} has no queries; name one that has.")
        for query in dataset.queries_iter():
            yield _query(query)


def _load(identifier: str) -> Any:  # noqa: ANN401 - untyped
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError(
            "Collections and logs of ir_datasets need it: pip install 'veil[irds]'."
        ) from None
    try:
        return ir_datasets.load(identifier)
    except KeyError:
        raise UnknownNameError(
            f"ir_datasets knows no id '{identifier[:60]}'; see its catalogue for the ids."
        ) from None


@contextmanager
def _had(identifier: str) -> Iterator[None]:
    """Say what stands in the way of a download."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise AssetError(
            f"irds:{identifier} could not be had ({type(error).__name__}); check the connection,"
            " and what ir_datasets says about its licence."
        ) from None


def _read(dataset: Any, identifier: str, report: Report) -> Collection:  # noqa: ANN401 - untyped
    if not dataset.has_docs():
        raise InputError(f"irds:{identifier} has no documents; name one that has.")
    queries = {}
    if dataset.has_queries():
        queries = {str(query.query_id): _query(query) for query in dataset.queries_iter()}
    judgements: dict[str, dict[str, int]] = {}
    if dataset.has_qrels():
        for qrel in dataset.qrels_iter():
            judgements.setdefault(str(qrel.query_id), {})[str(qrel.doc_id)] = int(qrel.relevance)
    documents = Documents.of(_documents(dataset, report))
    return Collection(f"irds:{identifier}", documents, queries, judgements)


def _query(query: Any) -> str:  # noqa: ANN401
    """Return the text of a query; topics of TREC call it title."""
    for name in ("text", "title", "query"):
        found = getattr(query, name, None)
        if isinstance(found, str):
            return found
    return str(query.default_text())


def _documents(dataset: Any, report: Report) -> Iterator[Document]:  # noqa: ANN401
    total = int(dataset.docs_count() or 0)
    for number, doc in enumerate(dataset.docs_iter()):
        if number % _EVERY == 0:
            report("reading documents", number, total)
        title = next((getattr(doc, name) for name in _TITLES if hasattr(doc, name)), "") or ""
        text = getattr(doc, "text", None)
        if not isinstance(text, str):
            text, title = str(doc.default_text()), ""
        yield Document(str(doc.doc_id), str(title), text)
