"""Collections as others write them: documents and queries in JSONL, TSV and TREC files."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.collection import Collection
from veil.corpus.documents import Document, Documents
from veil.corpus.trec import read_judgements, read_trec
from veil.data.fetch import Report, silent
from veil.data.lines import Progress, suffix_of
from veil.data.rows import Header, Layout, fold_name, read_rows

_IDS = ("id", "_id", "docno", "doc_id", "docid", "pid", "qid", "query_id")
_TEXTS = ("text", "contents", "content", "body", "abstract", "passage", "query")
_DOCS = ("docs", "documents", "corpus", "collection")
_QUERIES = ("queries", "topics")
_QRELS = ("qrels", "qrels/test")
_DOCUMENTS = (".jsonl", ".ndjson", ".tsv", ".trec", ".sgml", ".xml")
_ANY = (*_DOCUMENTS, ".txt", "")
_JSON = (".jsonl", ".ndjson")
_TABS = Layout("\t", quotes=False)


def read_source(path: Path, report: Report = silent) -> Collection:
    """Read a file of documents, or a folder with docs and perhaps queries and qrels."""
    if path.is_file():
        return Collection(_stem(path), Documents.of(read_documents(path, report)))
    docs = _find(path, _DOCS, _DOCUMENTS)
    if docs is None:
        raise InputError(
            f"{path} holds no documents; there must be a file docs.jsonl, docs.tsv or docs.trec"
            " (also .gz), or it must be an index that 'veil index' wrote. Notes, PDFs and mail are"
            " searched in an index: veil index FOLDER --out INDEX."
        )
    queries, qrels = _find(path, _QUERIES), _find(path, _QRELS)
    return Collection(
        path.name,
        Documents.of(read_documents(docs, report)),
        read_queries(queries) if queries else {},
        read_judgements(qrels) if qrels else {},
    )


def is_collection(folder: Path) -> bool:
    """Tell whether a folder has a file of documents by one of the usual names."""
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


def read_documents(path: Path, report: Report = silent) -> Iterator[Document]:
    """Yield the documents of a file, whose name tells the format."""
    suffix, size = suffix_of(path), path.stat().st_size
    if suffix not in _DOCUMENTS:
        raise InputError(
            f"{path.name} must end in .jsonl, .tsv, .trec, .sgml or .xml (also with .gz), which"
            " tells how documents are written in it."
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
            raise InputError(f"Query {number:,} of {path.name} has the id of an earlier one.")
        queries[row.id] = row.text
    return queries


def _documents(path: Path, progress: Progress = lambda _: None) -> Iterator[Document]:
    """Yield the documents of JSON lines, or else of lines with tabs."""
    layout = Layout() if suffix_of(path) in _JSON else _TABS
    for row in read_rows(path, _pick, layout, progress):
        key = _told(row.values[: len(_IDS)])
        text = _told(row.values[len(_IDS) : -1])
        if key is None or text is None:
            raise InputError(
                f"{row.where(path.name)} needs an 'id' and a 'text' (or one of their usual other"
                " names)."
            )
        yield Document(key, _told(row.values[-1:]) or "", text)


def _pick(header: Header) -> list[int]:
    """Return where each of the usual names stands: those of ids, of texts, and the title.

    Where tabs separate columns that have other names, or none, their order tells.
    """
    if header.kind == "plain":
        raise InputError(f"{header.where} must be a JSON object.")
    found = [header.find((name,)) for name in (*_IDS, *_TEXTS, "title")]
    if header.kind == "named" or min(header.find(_IDS), header.find(_TEXTS)) >= 0:
        return found
    width = len(header)
    if width not in (2, 3) or (header.kind == "cut" and fold_name(header.names[0]) not in _IDS):
        raise InputError(
            f"{header.where} has {width} columns; there must be id and text, or id, title and"
            " text."
        )
    key, text = [0, *[-1] * (len(_IDS) - 1)], [width - 1, *[-1] * (len(_TEXTS) - 1)]
    return [*key, *text, 1 if width == 3 else -1]


def _told(values: Sequence[object]) -> str | None:
    """Return the first value that is a string or a whole number."""
    for value in values:
        if isinstance(value, str | int) and not isinstance(value, bool):
            return str(value)
    return None
