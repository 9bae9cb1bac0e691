"""Documents, and collections with optional queries, judgements and query log."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import NamedTuple, TypeVar, cast, overload

from veil.core.errors import InputError
from veil.core.formatting import brief
from veil.corpus.lexical import Lexical, build_lexical, open_lexical
from veil.corpus.listing import Listing
from veil.corpus.tokens import check_text
from veil.data.arrays import (
    Array,
    Strings,
    StringsBuilder,
    discard,
    kind_of_folder,
    open_arrays,
    save_arrays,
)
from veil.data.fetch import Report, cache_folder, no_progress

MAX_CHARS = 10_000_000  # per document


@brief()
class Document(NamedTuple):
    """One document."""

    id: str
    title: str
    text: str


def passage(title: str, text: str) -> str:
    """Return the text of a document that is indexed and encoded: title and text.

    >>> passage("Cholera", "A disease."), passage("", "A disease.")
    ('Cholera A disease.', 'A disease.')
    """
    return f"{title} {text}".strip()


@brief("texts")
@dataclass(frozen=True, eq=False)
class Documents:
    """A sequence of documents, stored in arrays.

    >>> pair = Documents.of([Document("a", "Skin", "melanoma"), Document("b", "", "cholera")])
    >>> len(pair), pair.ids[1], pair.passages[0]
    (2, 'b', 'Skin melanoma')
    """

    ids: Strings
    titles: Strings
    texts: Strings

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Documents":
        """Return the documents in arrays. Their ids must be unique."""
        ids, titles, texts = StringsBuilder(), StringsBuilder(), StringsBuilder()
        earlier: set[str] = set()
        for number, document in enumerate(documents, start=1):
            if document.id in earlier:
                raise InputError(
                    f"Document {number:,} has the id of an earlier document. Make ids unique."
                )
            earlier.add(document.id)
            where = f"Document {number:,}"
            ids.add(check_text(document.id, f"The id of document {number:,}", 4096))
            titles.add(check_text(document.title, where, MAX_CHARS))
            texts.add(check_text(document.text, where, MAX_CHARS))
        if not earlier:
            raise InputError("A collection needs at least one document.")
        return cls(ids.done(), titles.done(), texts.done())

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def passages(self) -> "Passages":
        """The title and text of each document."""
        return Passages(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all ids, titles and texts, which identifies an index of them."""
        total = hashlib.sha256()
        for array in self.arrays().values():
            total.update(len(array).to_bytes(8, "little"))
            total.update(array.data if array.flags.c_contiguous else array.tobytes())
        return total.hexdigest()

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of the documents, by name."""
        return self.ids.arrays("id") | self.titles.arrays("title") | self.texts.arrays("text")

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "Documents":
        """Return the documents of such arrays."""
        return cls(*(Strings.from_arrays(arrays, name) for name in ("id", "title", "text")))


class Passages(Sequence[str]):
    """The passages of documents, created on access."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    def __len__(self) -> int:
        return len(self._documents)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        return passage(self._documents.titles[position], self._documents.texts[position])

    def __iter__(self) -> Iterator[str]:
        pairs = zip(self._documents.titles, self._documents.texts, strict=True)
        return (passage(title, text) for title, text in pairs)


T = TypeVar("T")
KIND, _VERSION = "veil-collection", 1
Judgements = Mapping[str, Mapping[str, int]]  # query -> document -> grade


@brief("name", "documents", "queries", "log")
@dataclass(frozen=True, eq=False)
class Collection:
    """Documents to search, with queries and judgements to evaluate a search.

    Attributes
    ----------
    queries
        Text of each query, by id.
    judgements
        For each query the grade of each judged document; 0 is not relevant.
    log
        Queries of other people, which an attacker may know.
    home
        Folder of a saved collection, which also contains its indexes.
    files
        Source files, if the collection was read from a folder of files.
    """

    name: str
    documents: Documents
    queries: Mapping[str, str] = field(default_factory=dict)
    judgements: Judgements = field(default_factory=dict)
    log: Sequence[str] = ()
    home: Path | None = None
    files: Listing | None = None

    def lexical(self, report: Report = no_progress) -> Lexical:
        """Return the inverted index, built on first use and stored with a saved collection.

        A damaged index on disk is rebuilt.
        """
        return self.remember("lexical", lambda: self._lexical(report))

    def _lexical(self, report: Report) -> Lexical:
        if self.home is None:
            return build_lexical(self.documents.passages, report)
        folder = self.home / "lexical"
        index = open_lexical(folder, self.documents.digest)
        if index is not None:
            return index
        discard(folder)
        built = build_lexical(self.documents.passages, report)
        try:
            built.save(folder, self.documents.digest)
        except OSError:  # a read-only folder or a full disk: do not store it
            return built
        return open_lexical(folder, self.documents.digest) or built

    def remember(self, name: str, make: Callable[[], T]) -> T:
        """Return the result of `make`, called once per collection and `name`."""
        if name not in self._results:
            self._results[name] = make()
        return cast(T, self._results[name])

    @cached_property
    def _results(self) -> dict[str, object]:
        return {}

    @cached_property
    def vectors_folder(self) -> Path:
        """The folder of the documents' vectors."""
        home = self.home or cache_folder() / "collections" / self.documents.digest[:32]
        return home / "vectors"

    def save(self, folder: str | PathLike[str]) -> "Collection":
        """Write the collection to a new folder, completely or not at all, and return it opened."""
        folder = Path(folder)
        if folder.exists():
            raise InputError(f"Folder {folder} already exists. Delete it or choose another.")
        judgements = {query: dict(grades) for query, grades in self.judgements.items()}
        arrays = self.documents.arrays()
        arrays |= Strings.of(self.queries).arrays("query-id")
        arrays |= Strings.of(self.queries.values()).arrays("query")
        arrays |= Strings.of(self.log).arrays("log")
        arrays |= Strings.of([json.dumps(judgements)]).arrays("judgement")
        facts: dict[str, object] = {"name": self.name, "documents": self.documents.digest}
        if self.files is not None:
            arrays |= self.files.arrays()
            facts["files"] = self.files.facts()
        save_arrays(folder, KIND, _VERSION, arrays, facts)
        return replace(self, home=folder)


def open_collection(folder: Path) -> Collection:
    """Return the collection saved in a folder by `Collection.save`, with memory-mapped texts."""
    saved = open_arrays(folder, KIND, _VERSION)
    if saved is None:
        raise InputError(_refusal(folder))
    arrays, facts = saved
    try:
        documents = Documents.from_arrays(arrays)
        documents.__dict__["digest"] = str(facts["documents"])  # checked with the arrays
        names = Strings.from_arrays(arrays, "query-id")
        texts = Strings.from_arrays(arrays, "query")
        return Collection(
            name=str(facts["name"]),
            documents=documents,
            queries=dict(zip(names, texts, strict=True)),
            judgements=json.loads(Strings.from_arrays(arrays, "judgement")[0]),
            log=Strings.from_arrays(arrays, "log"),
            home=folder,
            files=Listing.from_arrays(arrays, facts["files"]) if "files" in facts else None,
        )
    except (LookupError, ValueError, TypeError):
        raise InputError(_refusal(folder)) from None


def _refusal(folder: Path) -> str:
    if not folder.is_dir():
        return (
            f"Folder {folder} does not exist. Write an index with 'veil index DOCS --out FOLDER'."
        )
    if kind_of_folder(folder) != KIND:
        return f"{folder} is not an index of Veil. Write one with 'veil index DOCS --out FOLDER'."
    return f"The index {folder} is damaged or has another version. Write it again."
