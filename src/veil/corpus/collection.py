"""Documents, and collections of them, with queries, judgements and a log where there are any."""

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

MAX_CHARS = 10_000_000  # in one document


@brief()
class Document(NamedTuple):
    """One document."""

    id: str
    title: str
    text: str


def passage(title: str, text: str) -> str:
    """Return what is indexed and encoded of a document: its title and its text.

    >>> passage("Cholera", "A disease."), passage("", "A disease.")
    ('Cholera A disease.', 'A disease.')
    """
    return f"{title} {text}".strip()


@brief("texts")
@dataclass(frozen=True, eq=False)
class Documents:
    """Many documents, by position.

    >>> some = Documents.of([Document("a", "Skin", "melanoma"), Document("b", "", "cholera")])
    >>> len(some), some.ids[1], some.passages[0]
    (2, 'b', 'Skin melanoma')
    """

    ids: Strings
    titles: Strings
    texts: Strings

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "Documents":
        """Pack documents; their names must differ."""
        ids, titles, texts = StringsBuilder(), StringsBuilder(), StringsBuilder()
        seen: set[str] = set()
        for number, document in enumerate(documents, start=1):
            if document.id in seen:
                raise InputError(
                    f"Document {number:,} has the id of an earlier one; ids must differ."
                )
            seen.add(document.id)
            where = f"Document {number:,}"
            ids.add(check_text(document.id, f"The id of document {number:,}", 4096))
            titles.add(check_text(document.title, where, MAX_CHARS))
            texts.add(check_text(document.text, where, MAX_CHARS))
        if not seen:
            raise InputError("A collection needs at least one document.")
        return cls(ids.done(), titles.done(), texts.done())

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def passages(self) -> "Passages":
        """What is indexed and encoded of each document."""
        return Passages(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over all names, titles and texts: what an index of them is known by."""
        total = hashlib.sha256()
        for array in self.arrays().values():
            total.update(len(array).to_bytes(8, "little"))
            total.update(array.data if array.flags.c_contiguous else array.tobytes())
        return total.hexdigest()

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that hold the documents, by name."""
        return self.ids.arrays("id") | self.titles.arrays("title") | self.texts.arrays("text")

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> "Documents":
        """Put documents together from their arrays."""
        return cls(*(Strings.from_arrays(arrays, name) for name in ("id", "title", "text")))


class Passages(Sequence[str]):
    """The passages of documents, made when asked for."""

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
    """Documents to search, and what is needed to judge a search.

    Attributes
    ----------
    queries
        Text of each query, by its name.
    judgements
        Per query, the grade of each judged document; 0 is not relevant.
    log
        Queries that others asked: what an attacker may know.
    home
        Folder of a saved collection, in which indexes of it are kept, too.
    files
        The files that the documents are of, where they are of a folder of files.
    """

    name: str
    documents: Documents
    queries: Mapping[str, str] = field(default_factory=dict)
    judgements: Judgements = field(default_factory=dict)
    log: Sequence[str] = ()
    home: Path | None = None
    files: Listing | None = None

    def lexical(self, report: Report = no_progress) -> Lexical:
        """Return the inverted index: built at first, and kept where the collection is saved.

        One on disk that is not whole is built anew.
        """
        return self.remember("lexical", lambda: self._lexical(report))

    def _lexical(self, report: Report) -> Lexical:
        if self.home is None:
            return build_lexical(self.documents.passages, report)
        folder = self.home / "lexical"
        found = open_lexical(folder, self.documents.digest)
        if found is not None:
            return found
        discard(folder)
        built = build_lexical(self.documents.passages, report)
        try:
            built.save(folder, self.documents.digest)
        except OSError:  # a read-only folder, a full disk: do without
            return built
        return open_lexical(folder, self.documents.digest) or built

    def remember(self, name: str, make: Callable[[], T]) -> T:
        """Return what is made of the collection, made once while it is open."""
        if name not in self._made:
            self._made[name] = make()
        return cast(T, self._made[name])

    @cached_property
    def _made(self) -> dict[str, object]:
        return {}

    @cached_property
    def vectors_folder(self) -> Path:
        """Where vectors of the documents are kept."""
        home = self.home or cache_folder() / "collections" / self.documents.digest[:32]
        return home / "vectors"

    def save(self, folder: str | PathLike[str]) -> "Collection":
        """Write the collection into a new folder, whole or not at all, and open it there."""
        folder = Path(folder)
        if folder.exists():
            raise InputError(f"There is a {folder} already; delete it, or name a new folder.")
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
    """Open a folder written by `Collection.save` (or ``veil index``); texts are memory-mapped."""
    found = open_arrays(folder, KIND, _VERSION)
    if found is None:
        raise InputError(_refusal(folder))
    arrays, facts = found
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
        return f"There is no folder {folder}; write an index with 'veil index DOCS --out FOLDER'."
    if kind_of_folder(folder) != KIND:
        return (
            f"{folder} is not an index that 'veil index' wrote; name one, or write it with 'veil"
            " index DOCS --out FOLDER'."
        )
    return f"The index {folder} is damaged or of another version; write it again."
