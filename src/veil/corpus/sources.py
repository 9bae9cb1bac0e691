"""Read documents, queries and judgements as others write them: JSONL, TSV and TREC files.

Messages name a file and a line, never what stands in it.
"""

import html
import re
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.collection import Collection, Judgements
from veil.corpus.documents import Document, Documents
from veil.data.fetch import Report, silent
from veil.data.lines import MAX_LINE, read_lines, suffix_of
from veil.data.rows import json_row, normal, place

_IDS = ("id", "_id", "docno", "doc_id", "docid", "pid", "qid", "query_id")
_TEXTS = ("text", "contents", "content", "body", "abstract", "passage", "query")
_DOCS = ("docs", "documents", "corpus", "collection")
_QUERIES = ("queries", "topics")
_QRELS = ("qrels", "qrels/test")
_SUFFIXES = (".jsonl", ".ndjson", ".tsv", ".trec", ".sgml", ".xml", ".txt")
_TAG = re.compile(r"<[^<>]+>")
_GRADE = re.compile(r"-?[0-9]{1,9}")
_DOC = re.compile(r"<(/?)DOC(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|TTL)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_BODY = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)


def read_source(path: Path, report: Report = silent) -> Collection:
    """Read a file of documents, or a folder with docs and perhaps queries and qrels."""
    if path.is_file():
        return Collection(_stem(path), Documents.of(read_documents(path, report)))
    docs = _find(path, _DOCS)
    if docs is None:
        raise InputError(
            f"{path} holds no documents; there must be a file docs.jsonl, docs.tsv or docs.trec"
            " (also .gz), or it must be an index that 'veil index' wrote."
        )
    queries, qrels = _find(path, _QUERIES), _find(path, _QRELS)
    return Collection(
        path.name,
        Documents.of(read_documents(docs, report)),
        read_queries(queries) if queries else {},
        read_judgements(qrels) if qrels else {},
    )


def _find(folder: Path, names: tuple[str, ...]) -> Path | None:
    for name in names:
        for suffix in (*_SUFFIXES, ""):
            for packed in ("", ".gz"):
                file = folder / f"{name}{suffix}{packed}"
                if file.is_file():
                    return file
    return None


def _stem(path: Path) -> str:
    return path.name.split(".")[0]


def read_documents(path: Path, report: Report = silent) -> Iterator[Document]:
    """Yield the documents of a file, whose name tells the format."""
    suffix = suffix_of(path)
    if suffix not in _SUFFIXES or suffix == ".txt":
        raise InputError(
            f"{path.name} must end in .jsonl, .tsv, .trec, .sgml or .xml (also with .gz), which"
            " tells how documents are written in it."
        )
    lines = _lines(path, report)
    if suffix in (".jsonl", ".ndjson"):
        return _json_documents(lines, path.name)
    return _tab_documents(lines, path.name) if suffix == ".tsv" else _trec(lines, path.name)


def read_queries(path: Path) -> dict[str, str]:
    """Read queries from JSONL ({"id", "text"}) or TSV (id, text)."""
    rows = (
        _json_documents(_lines(path), path.name)
        if suffix_of(path) in (".jsonl", ".ndjson")
        else _tab_documents(_lines(path), path.name)
    )
    queries: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row.id in queries:
            raise InputError(f"Query {number:,} of {path.name} has the id of an earlier one.")
        queries[row.id] = row.text
    return queries


def read_judgements(path: Path) -> Judgements:
    """Read judgements: TREC's four columns, or three (query, document, grade) with a header."""
    found: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        row = line.split()
        graded = bool(row) and _GRADE.fullmatch(row[-1]) is not None
        if not row or (number == 1 and not graded):
            continue
        if len(row) not in (3, 4) or not graded:
            raise InputError(
                f"Line {number:,} of {path.name} is no judgement; it must be: query 0 document"
                " grade."
            )
        found.setdefault(row[0], {})[row[-2]] = int(row[-1])
    return found


def _lines(path: Path, report: Report = silent) -> Iterator[tuple[int, str]]:
    """Yield numbered lines of a text file, also a compressed one."""
    number = 0
    size = path.stat().st_size
    try:
        lines = read_lines(path, None, lambda done: report("reading documents", done, size))
        for number, line in enumerate(lines, start=1):
            yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path.name} cannot be read after line {number:,} ({type(error).__name__})."
        ) from None
    except UnicodeError:
        raise InputError(f"Line {number + 1:,} of {path.name} is not UTF-8; convert it.") from None


def _json_documents(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Document]:
    full = ((line, content) for line, content in lines if content.strip())
    for number, (line, content) in enumerate(full, start=1):
        where = place(name, number, line)
        value = json_row(content, where)
        if not isinstance(value, dict):
            raise InputError(f"{where} must be a JSON object.")
        told = {normal(column): each for column, each in value.items()}
        key, text = _pick(told, _IDS), _pick(told, _TEXTS)
        if key is None or text is None:
            raise InputError(
                f"{where} needs an 'id' and a 'text' (or one of their usual other names)."
            )
        yield Document(key, _pick(told, ("title",)) or "", text)


def _pick(value: Mapping[str, object], names: tuple[str, ...]) -> str | None:
    for name in names:
        found = value.get(name)
        if isinstance(found, str | int) and not isinstance(found, bool):
            return str(found)
    return None


def _tab_documents(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Document]:
    number = 0
    for line, content in lines:
        row = content.rstrip("\r\n").split("\t")
        if row == [""] or (line == 1 and normal(row[0]) in _IDS):
            continue
        number += 1
        if len(row) not in (2, 3):
            raise InputError(
                f"{place(name, number, line)} has {len(row)} columns; there must be id and text,"
                " or id, title and text."
            )
        yield Document(row[0], row[1] if len(row) == 3 else "", row[-1])


def _trec(lines: Iterator[tuple[int, str]], name: str) -> Iterator[Document]:
    """Read <DOC> ... </DOC> with <DOCNO>, and <TEXT> or whatever else stands in it."""
    inside: list[str] = []
    start = size = 0
    for number, mark, piece in _pieces(lines):
        if start:
            inside.append(piece)
            size += len(piece)
        if start and (mark == "<DOC>" or size > MAX_LINE):
            raise InputError(
                f"The <DOC> at line {start:,} of {name} has no </DOC>, or is longer than 64 MB."
            )
        if mark == "<DOC>":
            start = number
        elif mark and start:
            yield _trec_document("".join(inside), start, name)
            inside, start, size = [], 0, 0
    if start:
        raise InputError(f"The <DOC> at line {start:,} of {name} has no </DOC>.")


def _pieces(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, str]]:
    """Cut lines at <DOC> and </DOC>: the line, the mark after the piece, or "", and the piece."""
    for number, line in lines:
        at = 0
        for tag in _DOC.finditer(line):
            yield number, f"<{tag[1]}DOC>", line[at : tag.start()]
            at = tag.end()
        yield number, "", line[at:]


def _trec_document(raw: str, line: int, name: str) -> Document:
    key = _DOCNO.search(raw)
    if key is None:
        raise InputError(f"The <DOC> at line {line:,} of {name} has no <DOCNO>.")
    title = _TITLE.search(raw)
    bodies = [body[1] for body in _BODY.finditer(raw)]
    rest = " ".join(bodies) if bodies else _TITLE.sub(" ", raw.replace(key[0], " "))
    return Document(key[1], _plain(title[2]) if title else "", _plain(rest))


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())
