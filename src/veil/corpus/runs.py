"""Ranked lists as TREC writes them: one line per query and document.

Messages name a file and a line, never what stands in it.
"""

import math
from pathlib import Path

from veil.core.errors import InputError
from veil.data.lines import read_lines, require_file

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
