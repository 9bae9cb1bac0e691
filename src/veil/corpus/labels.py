"""What queries are about: labels from a file, or from the embedded classification."""

import hashlib
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from veil.core.errors import InputError
from veil.corpus.icd10cm import Entry, icd10cm_folder, read_entries
from veil.corpus.text import folded

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
        found.setdefault(folded(query), label.strip())
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
            found.setdefault(folded(text), label.get(entry.category, entry.category))
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
