"""Documents, judgements and ranked lists as TREC writes them.

Messages name a file and a line, never what stands in it.

Ranked lists as TREC writes them: one line per query and document.
Messages name a file and a line, never what stands in it.
"""

import html
import math
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.collection import Document, Judgements
from veil.data.lines import MAX_LINE, Progress, read_lines, require_file

_TAG = re.compile(r"<[^<>]+>")
_GRADE = re.compile(r"-?[0-9]{1,9}")
_DOC = re.compile(r"<(/?)DOC(?:\s[^<>]*)?>", re.IGNORECASE)
_DOCNO = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.DOTALL | re.IGNORECASE)
_TITLE = re.compile(r"<(TITLE|HEADLINE|TTL)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_BODY = re.compile(r"<TEXT>(.*?)</TEXT>", re.DOTALL | re.IGNORECASE)


def read_judgements(path: Path) -> Judgements:
    """Read judgements: TREC's four columns, or three (query, document, grade) with a header."""
    found: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
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


def read_trec(path: Path, progress: Progress) -> Iterator[Document]:
    """Yield <DOC> ... </DOC> with <DOCNO>, and <TEXT> or whatever else stands in it."""
    name = path.name
    inside: list[str] = []
    start = size = 0
    for number, mark, piece in _pieces(read_lines(path, None, progress)):
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
            yield _document("".join(inside), start, name)
            inside, start, size = [], 0, 0
    if start:
        raise InputError(f"The <DOC> at line {start:,} of {name} has no </DOC>.")


def _pieces(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Cut lines at <DOC> and </DOC>: the line, the mark after the piece, or "", and the piece."""
    for number, line in enumerate(lines, start=1):
        at = 0
        for tag in _DOC.finditer(line):
            yield number, f"<{tag[1]}DOC>", line[at : tag.start()]
            at = tag.end()
        yield number, "", line[at:]


def _document(raw: str, line: int, name: str) -> Document:
    key = _DOCNO.search(raw)
    if key is None:
        raise InputError(f"The <DOC> at line {line:,} of {name} has no <DOCNO>.")
    title = _TITLE.search(raw)
    bodies = [body[1] for body in _BODY.finditer(raw)]
    rest = " ".join(bodies) if bodies else _TITLE.sub(" ", raw.replace(key[0], " "))
    return Document(key[1], _plain(title[2]) if title else "", _plain(rest))


def _plain(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


Run = dict[str, list[str]]  # the documents of each query, best first
_MAX_LINES = 20_000_000


def read_run(path: Path) -> Run:
    """Read a run: query Q0 document rank score tag, also .gz.

    As in trec_eval the score orders and not the rank, and of documents of one score the one whose
    name comes last in the alphabet stands first.
    """
    require_file(path, "a run")
    found: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        row = line.split()
        if not row:
            continue
        if number > _MAX_LINES:
            raise InputError(f"{path.name} has more than {_MAX_LINES:,} lines; cut its lists.")
        score = _score(row)
        if score is None:
            raise InputError(
                f"Line {number:,} of {path.name} is no result of a run; it must be: query Q0"
                " document rank score tag."
            )
        listed = found.setdefault(row[0], {})
        if row[2] in listed:
            raise InputError(
                f"Line {number:,} of {path.name} names a document for the second time; each"
                " stands once in the list of a query: fuse the lists of its variants first."
            )
        listed[row[2]] = score
    if not found:
        raise InputError(f"{path.name} is empty; it must be a run of TREC.")
    return {query: _ordered(listed) for query, listed in found.items()}


def _score(row: list[str]) -> float | None:
    if len(row) not in (5, 6):  # some leave the tag out
        return None
    try:
        score = float(row[4])
    except ValueError:
        return None
    return None if math.isnan(score) else score


def _ordered(listed: dict[str, float]) -> list[str]:
    return sorted(sorted(listed, reverse=True), key=lambda document: -listed[document])
