"""Queries that people asked, one after the other, and labels of what they are about."""

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

MAX_COUNT = 10**12  # so that sums of millions of counts fit 64 bits
_COUNTS = ("count", "counts", "frequency")
_WHOLE = re.compile(r"0*([0-9]{1,13})(?:\.0*)?")  # also as a float that is whole
_LOOK = 100  # rows by which a table without a header line is told to be of queries and counts


def read_log(name: str | Path) -> Iterator[str]:
    """Yield the queries of ``irds:ID``, or of a file, also a compressed one.

    A file is plain text, one query per line, or a table (CSV, TSV, JSONL, Parquet) with a column
    ``query`` or ``text``. Queries come as often as they stand there: `read_counted` has the counts
    of a table, too.
    """
    if isinstance(name, str) and name.startswith("irds:"):
        return read_irds_queries(name.removeprefix("irds:"))
    return (text for text, _ in read_counted(Path(name)))


def read_counted(path: Path) -> Iterator[tuple[str, int]]:
    """Yield the queries of a file, each with its count: 1, unless the table has a column of them.

    That is ``count``, ``counts`` or ``frequency``. A TSV of two columns without a header line has
    names and queries; or queries and counts, if the second are whole numbers and the first are
    not.

    Raises
    ------
    InputError
        If a count is no whole number from 1 on.
    """
    picked = _Picked()
    rows = text_rows(path, path.name, picked.pick)
    ahead = list(islice(rows, _LOOK))
    named = picked.bare and not _are_counts(ahead)
    for row in chain(ahead, rows):
        text, *count = row.values
        if named:
            yield count[0], 1
        else:
            yield text, _count(count[0], row, path.name) if count else 1


class _Picked:
    """The columns of the queries and, where there is one, of their counts."""

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
    """Tell whether rows of two columns are queries and counts, and not names and queries."""
    firsts, seconds = ([_whole(row.values[at]) for row in rows] for at in (0, 1))
    return None not in seconds and None in firsts


def _count(value: object, row: Row[Any], name: str) -> int:
    count = _whole(value)
    if count is None or not 1 <= count <= MAX_COUNT:
        raise InputError(
            f"{row.where(name)} must have a whole number >= 1 as its count, at most"
            f" {MAX_COUNT:,}; repair it, or rename the column."
        )
    return count


def _whole(value: object) -> int | None:
    """Return a whole number that is written as such, or as a float; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    found = _WHOLE.fullmatch(str(value).strip()) if _is_short(value) else None
    return int(found[1]) if found else None


def _is_short(value: float | str) -> bool:
    """Keep from writing out a number of thousands of digits."""
    return len(value) < 100 if isinstance(value, str) else -1 < value < 10 * MAX_COUNT


ICD10CM = ("icd10cm-chapter", "icd10cm-category")
_MOST = 2**30  # bytes of a file of labels


def read_labels(path: Path) -> Mapping[str, str]:
    """Read lines of a query, a tab and a label; return labels by queries, folded.

    Of a query that comes again the first label counts. Empty lines are passed over.
    """
    found: dict[str, str] = {}
    for number, line in enumerate(_text(path).splitlines(), start=1):
        if not line.strip():
            continue
        query, tab, label = line.partition("\t")
        if not tab or not query.strip() or not label.strip() or "\t" in label:
            raise InputError(f"Line {number} of {path.name} must be a query, a tab and a label.")
        found.setdefault(fold_text(query), label.strip())
    return found


def file_digest(path: Path) -> str:
    """Return the digest of a file of labels."""
    return hashlib.sha256(_text(path).encode()).hexdigest()


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _MOST:
            raise InputError(f"{path.name} is too large for a file of labels.")
        return path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path.name} must be a file of text in UTF-8.") from None
    except OSError:
        raise InputError(
            f"The labels are neither a name ({', '.join(ICD10CM)}) nor a file that can be read."
        ) from None


@lru_cache(maxsize=2)
def icd10cm_labels(kind: str) -> Mapping[str, str]:
    """Return the chapter or the category of each description and inclusion term, folded.

    A text that stands at several codes has the label of the shortest, the first of those.
    """
    icd10cm_folder()  # says what to install where the classification is not there
    entries = sorted(read_entries(), key=lambda entry: len(entry.code))
    label = _chapters() if kind == ICD10CM[0] else {}
    found: dict[str, str] = {}
    for entry in entries:
        for text in (entry.description, *entry.terms):
            found.setdefault(fold_text(text), label.get(entry.category, entry.category))
    return found


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
