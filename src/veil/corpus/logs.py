"""Read query logs, and labels for the topics of queries."""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from veil.core.errors import InputError
from veil.corpus.catalogue import read_irds_queries
from veil.corpus.icd10cm import Entry, icd10cm_folder, read_entries
from veil.corpus.tokens import fold_text
from veil.data.records import Columns, text_rows
from veil.data.rows import Header, Row

MAX_COUNT = 10**12  # so that sums of millions of counts fit in 64 bits
_COUNTS = ("count", "counts", "frequency")
_INTEGER = re.compile(r"0*([0-9]{1,13})(?:\.0*)?")  # also written as a float
_LOOK = 100  # rows that decide if a table without header has counts


def read_log(name: str | Path) -> Iterator[str]:
    """Yield the queries of ``irds:ID`` or of a file, which may be compressed.

    A file is plain text with one query per line, or a table (CSV, TSV, JSONL, Parquet) with a
    column ``query`` or ``text``. Queries are yielded once per row; `read_counted` also returns the
    counts of a table.
    """
    if isinstance(name, str) and name.startswith("irds:"):
        return read_irds_queries(name.removeprefix("irds:"))
    return (text for text, _ in read_counted(Path(name)))


def read_counted(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the queries of a file with their counts.

    The counts are in a column ``count``, ``counts`` or ``frequency``; without one, each count is
    1. A TSV with two columns and no header has ids and queries, unless only the second column
    contains integers: then it has queries and counts.

    Raises
    ------
    InputError
        If a count is not an integer of at least 1.
    """
    picked = _Picked()
    rows = text_rows(path, path.name, picked.pick)
    ahead = list(islice(rows, _LOOK))
    has_names = picked.bare and not _are_counts(ahead)
    for row in chain(ahead, rows):
        text, *count = row.values
        if has_names:
            yield count[0], 1
        else:
            yield text, _count(count[0], row, path.name) if count else 1


class _Picked:
    """Picks the columns of the queries and, if present, of their counts."""

    def __init__(self) -> None:
        self.bare = False  # two columns without names

    def pick(self, header: Header) -> tuple[int, ...]:
        text, *_ = Columns().pick(header)
        self.bare = header.kind == "bare"
        if self.bare:
            return 0, 1
        count = header.find(_COUNTS)
        return (text,) if count < 0 else (text, count)


def _are_counts(rows: list[Row[Any]]) -> bool:
    """Return whether rows with two columns are queries and counts, and not ids and queries."""
    firsts, seconds = ([_to_int(row.values[at]) for row in rows] for at in (0, 1))
    return None not in seconds and None in firsts


def _count(value: object, row: Row[Any], name: str) -> int:
    count = _to_int(value)
    if count is None or not 1 <= count <= MAX_COUNT:
        raise InputError(
            f"{row.where(name)} must have an integer count from 1 to {MAX_COUNT:,}. Repair the"
            " file, or rename the column."
        )
    return count


def _to_int(value: object) -> int | None:
    """Return an integer, also one written as a float, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    match = _INTEGER.fullmatch(str(value).strip()) if _is_short(value) else None
    return int(match[1]) if match else None


def _is_short(value: float | str) -> bool:
    """Return False for numbers with many digits, which must not be converted to text."""
    return len(value) < 100 if isinstance(value, str) else -1 < value < 10 * MAX_COUNT


ICD10CM = ("icd10cm-chapter", "icd10cm-category")
_MOST = 2**30  # bytes of a file of labels


def read_labels(path: Path) -> Mapping[str, str]:
    """Return the labels by folded query, from lines with a query, a tab and a label.

    The first label of a query counts. Empty lines are skipped.
    """
    labels: dict[str, str] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        query, tab, label = line.partition("\t")
        if not tab or not query.strip() or not label.strip() or "\t" in label:
            raise InputError(
                f"Line {number} of {path.name} must be a query, a tab and a label. Repair it."
            )
        labels.setdefault(fold_text(query), label.strip())
    return labels


def file_digest(path: Path) -> str:
    """Return the digest of a file of labels."""
    return hashlib.sha256(_text(path).encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST:
            raise InputError(f"{path.name} is too large. A file of labels has at most 1 GB.")
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} must be a UTF-8 text file. Convert it.") from None
    except OSError:
        raise InputError(
            f"The labels must be one of {', '.join(ICD10CM)}, or a readable file."
        ) from None


@lru_cache(maxsize=2)
def icd10cm_labels(kind: str) -> Mapping[str, str]:
    """Return the chapter or category of each folded description and inclusion term.

    If a text occurs at several codes, the first of the shortest codes counts.
    """
    icd10cm_folder()  # raises an error with the package to install if the data is missing
    entries = sorted(read_entries(), key=lambda entry: len(entry.code))
    chapters = _chapters() if kind == ICD10CM[0] else {}
    labels: dict[str, str] = {}
    for entry in entries:
        for text in (entry.description, *entry.terms):
            labels.setdefault(fold_text(text), chapters.get(entry.category, entry.category))
    return labels


def _chapters() -> dict[str, str]:
    """Return the chapter of each category."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd notes in the data
        import simple_icd_10_cm as icd
    return {
        code: f"chapter {icd.get_ancestors(code, prioritize_blocks=False)[-1]}"
        for code in icd.get_all_codes(with_dots=True)
        if icd.is_category(code) and len(code) == len(Entry(code, "", "").category)
    }
