"""Where the variants of a query come from: draws of its words, or rewritings of the whole."""

from dataclasses import replace
from typing import Protocol

from veil.core.errors import ParameterError
from veil.core.types import Variants
from veil.data.embeddings import Embeddings
from veil.mechanisms.mechanism import TextMechanism
from veil.mechanisms.protect import protect
from veil.mechanisms.words.draft import Draft, draft, draw
from veil.mechanisms.words.mechanism import WordMechanism
from veil.proxy._entries import Draws, Entry
from veil.proxy.ledger import Ledger
from veil.retrieval.pipeline import MAX_QUERY


class Source(Protocol):
    """Adds variants to what was released of a query."""

    @property
    def text(self) -> Draft | None:
        """The query cut into words, where words are replaced."""
        ...

    @property
    def kept(self) -> tuple[str, ...]:
        """Words that pass unchanged by policy."""
        ...

    def extend(self, entry: Entry, size: int) -> Entry:
        """Return an entry with so many variants; the same one if no more can be had."""
        ...


def source_of(
    query: str, mechanism: TextMechanism, space: Embeddings | None, size: int, ledger: Ledger
) -> Source:
    """Return what makes variants of a query; draws of related queries are looked up now."""
    if not isinstance(mechanism, WordMechanism):
        return _Queries(protect([query], mechanism, None, size, max_chars=MAX_QUERY))
    if space is None:
        raise ParameterError(f"{mechanism.name} replaces words and needs word vectors.")
    return _Words(query, mechanism, space, ledger)


class _Words:
    """Word by word, each with draws of its own."""

    def __init__(
        self, query: str, mechanism: WordMechanism, space: Embeddings, ledger: Ledger
    ) -> None:
        self._mechanism, self._space = mechanism, space
        self.text = draft(query, mechanism, space, max_chars=MAX_QUERY)
        self.kept = self.text.kept
        self._keys = ledger.key.words(self.text.words)
        name = f"{mechanism} in {space.name}"
        self._related: Draws = ledger.related(self._keys, name)

    def extend(self, entry: Entry, size: int) -> Entry:
        """Draw for each word what is missing, and spell the variants that are not there yet."""
        have = {**self._related, **entry.draws}
        columns = [have.get(key, ())[:size] for key in self._keys]
        missing = [size - len(column) for column in columns]
        for count in sorted({each for each in missing if each}):
            places = [i for i, each in enumerate(missing) if each == count]
            drawn = draw(self.text, places, self._mechanism, self._space, count)
            for place, words in zip(places, drawn, strict=True):
                columns[place] += words
        start = len(entry.variants)
        rows = zip(*(column[start:] for column in columns), strict=True)
        shared = sum(key in self._related and key not in entry.draws for key in self._keys)
        return replace(
            entry,
            variants=(*entry.variants, *map(self.text.spell, rows)),
            draws=dict(zip(self._keys, columns, strict=True)),
            shared=max(shared, entry.shared),
            spent=entry.spent + self._mechanism.guarantee.epsilon * sum(missing),
            words=len(self._keys),
        )


class _Queries:
    """Whole queries, rewritten by a mechanism that draws nothing at random."""

    text = None

    def __init__(self, found: Variants) -> None:
        self._found = found
        self.kept = found.kept[0]

    def extend(self, entry: Entry, size: int) -> Entry:
        """Add the rewritings that are not there yet."""
        known = set(entry.variants)
        new = [text for text in self._found[0] if text not in known][: size - len(known)]
        if entry.variants and not new:
            return entry
        return replace(
            entry,
            variants=(*entry.variants, *new),
            spent=self._found.cost.epsilon,
            words=self._found.protected[0],
        )
