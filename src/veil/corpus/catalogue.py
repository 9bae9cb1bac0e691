"""Load collections by name, from ir_datasets, and from files (JSONL, TSV, TREC)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from veil.core.errors import AssetError, InputError, MissingExtraError, UnknownNameError
from veil.corpus.collection import KIND, Collection, Document, Documents, open_collection
from veil.corpus.icd10cm import NAMES, load_icd10cm
from veil.corpus.trec import read_judgements, read_trec
from veil.data.arrays import kind_of_folder
from veil.data.fetch import Report, no_progress
from veil.data.lines import Progress, suffix_of
from veil.data.rows import DelimitedLayout, Header, fold_name, read_rows

_IDS = ("id", "_id", "docno", "doc_id", "docid", "pid", "qid", "query_id")
_TEXTS = ("text", "contents", "content", "body", "abstract", "passage", "query")
_DOCS = ("docs", "documents", "corpus", "collection")
_QUERIES = ("queries", "topics")
_QRELS = ("qrels", "qrels/test")
_DOCUMENTS = (".jsonl", ".ndjson", ".tsv", ".trec", ".sgml", ".xml")
_ANY = (*_DOCUMENTS, ".txt", "")
_JSON = (".jsonl", ".ndjson")
_TABS = DelimitedLayout("\t", quotes=False)


def read_source(path: Path, report: Report = no_progress) -> Collection:
    """Read a file of documents, or a folder with docs and optionally queries and qrels."""
    if path.is_file():
        return Collection(_stem(path), Documents.of(read_documents(path, report)))
    docs = _find(path, _DOCS, _DOCUMENTS)
    if docs is None:
        raise InputError(
            f"{path} contains no documents. It must have a file docs.jsonl, docs.tsv or docs.trec"
            " (also .gz), or be an index written by 'veil index'. To search notes, PDFs and mail,"
            " write an index: veil index FOLDER --out INDEX."
        )
    queries, qrels = _find(path, _QUERIES), _find(path, _QRELS)
    return Collection(
        path.name,
        Documents.of(read_documents(docs, report)),
        read_queries(queries) if queries else {},
        read_judgements(qrels) if qrels else {},
    )


def is_collection(folder: Path) -> bool:
    """Return whether a folder has a file of documents with one of the usual names."""
    return _find(folder, _DOCS, _DOCUMENTS) is not None


def _find(folder: Path, names: tuple[str, ...], suffixes: tuple[str, ...] = _ANY) -> Path | None:
    for name in names:
        for suffix in suffixes:
            for packed in ("", ".gz"):
                file = folder / f"{name}{suffix}{packed}"
                if file.is_file():
                    return file
    return None


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def read_documents(path: Path, report: Report = no_progress) -> Iterator[Document]:
    """Yield the documents of a file. Its suffix determines the format."""
    suffix, size = suffix_of(path), path.stat().st_size
    if suffix not in _DOCUMENTS:
        raise InputError(
            f"{path.name} must end in .jsonl, .tsv, .trec, .sgml or .xml (also with .gz). Rename"
            " the file by its format."
        )

    def progress(done: int) -> None:
        report("reading documents", done, size)

    tabled = suffix in (*_JSON, ".tsv")
    return _documents(path, progress) if tabled else read_trec(path, progress)


def read_queries(path: Path) -> dict[str, str]:
    """Read queries from JSONL ({"id", "text"}) or TSV (id, text)."""
    queries: dict[str, str] = {}
    for number, row in enumerate(_documents(path), start=1):
        if row.id in queries:
            raise InputError(
                f"Query {number:,} of {path.name} has the id of an earlier query. Make ids unique."
            )
        queries[row.id] = row.text
    return queries


def _documents(path: Path, progress: Progress = lambda _: None) -> Iterator[Document]:
    """Yield the documents of a JSONL or TSV file."""
    layout = DelimitedLayout() if suffix_of(path) in _JSON else _TABS
    for row in read_rows(path, _pick, layout, progress):
        key = _first_text(row.values[: len(_IDS)])
        text = _first_text(row.values[len(_IDS) : -1])
        if key is None or text is None:
            raise InputError(
                f"{row.where(path.name)} must have an 'id' and a 'text' (or one of their usual"
                " synonyms). Repair the file."
            )
        yield Document(key, _first_text(row.values[-1:]) or "", text)


def _pick(header: Header) -> list[int]:
    """Return the index of each usual column name (ids, texts, title), -1 if it is missing.

    Tab-separated columns with other names, or without names, are recognised by their order.
    """
    if header.kind == "plain":
        raise InputError(f"{header.where} must be a JSON object.")
    columns = [header.find((name,)) for name in (*_IDS, *_TEXTS, "title")]
    if header.kind == "named" or min(header.find(_IDS), header.find(_TEXTS)) >= 0:
        return columns
    width = len(header)
    if width not in (2, 3) or (header.kind == "cut" and fold_name(header.names[0]) not in _IDS):
        raise InputError(
            f"{header.where} must have the columns id and text, or id, title and text. Got"
            f" {width} columns instead."
        )
    key, text = [0, *[-1] * (len(_IDS) - 1)], [width - 1, *[-1] * (len(_TEXTS) - 1)]
    return [*key, *text, 1 if width == 3 else -1]


def _first_text(values: Sequence[object]) -> str | None:
    """Return the first value that is a string or an integer, as a string."""
    for value in values:
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None


_TITLES = ("title", "headline")
_EVERY = 20_000


def read_irds(identifier: str, report: Report = no_progress) -> Collection:
    """Return documents, queries and judgements of an ir_datasets id, such as ``vaswani``."""
    with _explain_failure(identifier):
        return _read(_load(identifier), identifier, report)


def read_irds_queries(identifier: str) -> Iterator[str]:
    """Yield the queries of an ir_datasets id."""
    with _explain_failure(identifier):
        dataset = _load(identifier)
        if not dataset.has_queries():
            raise InputError(f"irds:{identifier} has no queries. Choose another id.")
        for query in dataset.queries_iter():
            yield _query(query)


def _load(identifier: str) -> Any:  # noqa: ANN401 - untyped
    try:
        import ir_datasets
    except ImportError:
        raise MissingExtraError(
            "Collections and logs irds:ID need ir_datasets: pip install 'veil[irds]'."
        ) from None
    try:
        return ir_datasets.load(identifier)
    except KeyError:
        raise UnknownNameError(
            f"ir_datasets has no id '{identifier[:60]}'. See its catalogue for the ids."
        ) from None


@contextmanager
def _explain_failure(identifier: str) -> Iterator[None]:
    """Turn a failed download into an `AssetError`."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        raise AssetError(
            f"Cannot download irds:{identifier} ({type(error).__name__}). Check the connection,"
            " and whether ir_datasets requires you to accept its licence."
        ) from None


def _read(dataset: Any, identifier: str, report: Report) -> Collection:  # noqa: ANN401 - untyped
    if not dataset.has_docs():
        raise InputError(f"irds:{identifier} has no documents. Choose another id.")
    queries = {}
    if dataset.has_queries():
        queries = {str(query.query_id): _query(query) for query in dataset.queries_iter()}
    judgements: dict[str, dict[str, int]] = {}
    if dataset.has_qrels():
        for qrel in dataset.qrels_iter():
            judgements.setdefault(str(qrel.query_id), {})[str(qrel.doc_id)] = int(qrel.relevance)
    documents = Documents.of(_irds_documents(dataset, report))
    return Collection(f"irds:{identifier}", documents, queries, judgements)


def _query(query: Any) -> str:  # noqa: ANN401
    """Return the text of a query, which is the title of a TREC topic."""
    for name in ("text", "title", "query"):
        text = getattr(query, name, None)
        if isinstance(text, str):
            return text
    return str(query.default_text())


def _irds_documents(dataset: Any, report: Report) -> Iterator[Document]:  # noqa: ANN401
    total = int(dataset.docs_count() or 0)
    for number, doc in enumerate(dataset.docs_iter()):
        if number % _EVERY == 0:
            report("reading documents", number, total)
        title = next((getattr(doc, name) for name in _TITLES if hasattr(doc, name)), "") or ""
        text = getattr(doc, "text", None)
        if not isinstance(text, str):
            text, title = str(doc.default_text()), ""
        yield Document(str(doc.doc_id), str(title), text)


def load_collection(name: str | Path, report: Report = no_progress) -> Collection:
    """Return a collection by name or path.

    ``icd10cm`` and ``icd10cm-full``, the US classification of diagnoses, are built in. ``irds:ID``
    is any id of ir_datasets. A path is a folder written by ``veil index``, a folder with docs,
    queries and qrels, or a file of documents (JSONL, TSV, TREC).
    """
    if isinstance(name, str):
        if name in NAMES:
            return load_icd10cm(name, report)
        if name.startswith("irds:"):
            return read_irds(name.removeprefix("irds:"), report)
    path = Path(name)
    if path.is_dir() and kind_of_folder(path) == KIND:
        return open_collection(path)
    if not path.exists():
        raise UnknownNameError(
            f"The collection is not a known name, folder or file. Known names: {', '.join(NAMES)},"
            " irds:ID."
        )
    return read_source(path, report)


__all__ = ["Collection", "load_collection"]
