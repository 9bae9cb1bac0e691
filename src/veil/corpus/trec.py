"""Documents, judgements and ranked lists in TREC's formats.

Errors name a file and a line, never its content.
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
    """Return judgements, from TREC's four columns or from query, document, grade with header."""
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        row = line.split()
        graded = bool(row) and _GRADE.fullmatch(row[-1]) is not None
        if not row or (number == 1 and not graded):
            continue
        if len(row) not in (3, 4) or not graded:
            raise InputError(
                f"Line {number:,} of {path.name} must be a judgement: query 0 document grade."
                " Repair the file."
            )
        judgements.setdefault(row[0], {})[row[-2]] = int(row[-1])
    return judgements


def read_trec(path: Path, progress: Progress) -> Iterator[Document]:
    """Yield the documents in <DOC> ... </DOC>, with <DOCNO> and <TEXT> or other text."""
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
                " Repair the file."
            )
        if mark == "<DOC>":
            start = number
        elif mark and start:
            yield _document("".join(inside), start, name)
            inside, start, size = [], 0, 0
    if start:
        raise InputError(f"The <DOC> at line {start:,} of {name} has no </DOC>. Repair the file.")


def _pieces(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Yield line number, following tag or "", and text of each piece between <DOC> and </DOC>."""
    for number, line in enumerate(lines, start=1):
        at = 0
        for tag in _DOC.finditer(line):
            yield number, f"<{tag[1]}DOC>", line[at : tag.start()]
            at = tag.end()
        yield number, "", line[at:]


def _document(raw: str, line: int, name: str) -> Document:
    key = _DOCNO.search(raw)
    if key is None:
        raise InputError(f"The <DOC> at line {line:,} of {name} has no <DOCNO>. Repair the file.")
    title = _TITLE.search(raw)
    bodies = [body[1] for body in _BODY.finditer(raw)]
    rest = " ".join(bodies) if bodies else _TITLE.sub(" ", raw.replace(key[0], " "))
    return Document(key[1], _strip_tags(title[2]) if title else "", _strip_tags(rest))


def _strip_tags(markup: str) -> str:
    return " ".join(html.unescape(_TAG.sub(" ", markup)).split())


Run = dict[str, list[str]]  # the documents of each query, best first
_MAX_LINES = 20_000_000


def read_run(path: Path) -> Run:
    """Return the ranked lists of a run (query Q0 document rank score tag), which may be .gz.

    As in trec_eval, documents are ordered by score, not by rank, and ties by id in reverse
    alphabetical order.
    """
    require_file(path, "a run")
    lists: dict[str, dict[str, float]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        row = line.split()
        if not row:
            continue
        if number > _MAX_LINES:
            raise InputError(
                f"{path.name} must have at most {_MAX_LINES:,} lines. Shorten its lists."
            )
        score = _score(row)
        if score is None:
            raise InputError(
                f"Line {number:,} of {path.name} must be a result: query Q0 document rank score"
                " tag. Repair the file."
            )
        listed = lists.setdefault(row[0], {})
        if row[2] in listed:
            raise InputError(
                f"Line {number:,} of {path.name} repeats a document. A query's list must contain"
                " each document once. Fuse the lists of its variants first."
            )
        listed[row[2]] = score
    if not lists:
        raise InputError(f"{path.name} is empty. It must be a TREC run.")
    return {query: _ordered(listed) for query, listed in lists.items()}


def _score(row: list[str]) -> float | None:
    if len(row) not in (5, 6):  # the tag may be missing
        return None
    try:
        score = float(row[4])
    except ValueError:
        return None
    return None if math.isnan(score) else score


def _ordered(listed: dict[str, float]) -> list[str]:
    return sorted(sorted(listed, reverse=True), key=lambda document: -listed[document])
