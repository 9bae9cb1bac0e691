"""Documents: a name, a title and a text each, packed so that a million fit easily."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, overload

from veil.core.errors import InputError
from veil.corpus.text import check_text
from veil.data.arrays import Array, Strings, StringsBuilder

MAX_CHARS = 10_000_000  # in one document


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
