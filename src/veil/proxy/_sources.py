"""Where the variants of a query come from: draws of its words, or rewritings of the whole."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Variants
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger
from veil.search.pipeline import MAX_QUERY
from veil.text.mechanisms.mechanism import TextMechanism
from veil.text.mechanisms.words.draft import Draft, draft, draw
from veil.text.mechanisms.words.mechanism import WordMechanism
from veil.text.protect import protect
from veil.text.vectors.embeddings import Embeddings


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

    @property
    def asked(self) -> str:
        """The query as its variants are laid out: what an attacker has to guess."""
        ...

    def price(self, entry: Entry, size: int) -> float | None:
        """Return what it costs to have so many variants; None if no more can be had."""
        ...

    def extend(self, entry: Entry, size: int) -> Entry:
        """Return an entry with so many variants."""
        ...


def source_of(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    ledger: Ledger,
    known: Entry,
) -> Source:
    """Return what makes variants of a query; draws of related queries are looked up now.

    `known` is what was released of the query, maybe in another order and form: further variants
    have that, too.
    """
    if not isinstance(mechanism, WordMechanism):
        found = protect([query], mechanism, None, size, max_chars=MAX_QUERY)
        return _Queries(query, found, mechanism)
    if space is None:
        raise ParameterError(f"{mechanism.name} replaces words and needs word vectors.")
    return _Words(query, mechanism, space, ledger, known)


def setting_name(mechanism: TextMechanism, space: Embeddings | None) -> str:
    """Name what makes draws: those of another mechanism or of other vectors are not the same."""
    return str(mechanism) if space is None else f"{mechanism} in {space.name}#{_digest(space)}"


class _Named:
    """The digest of a space, kept with it."""

    nbytes = 100

    def __init__(self, text: str) -> None:
        self.text = text


def _digest(space: Embeddings) -> str:
    """Return what tells vectors from others that have the same name."""
    known = space.memo.get("digest", _Named)
    if known is None:
        made = hashlib.blake2b("\n".join(space.words).encode(), digest_size=4)
        made.update(np.ascontiguousarray(space.vectors).data)
        known = _Named(made.hexdigest())
        space.memo.put("digest", known)
    return known.text


def _sum(guarantee: Guarantee, draws: int) -> float:
    """Return what draws add to an account: infinite where a sum of epsilons says too little."""
    if not draws:
        return 0.0
    return math.inf if guarantee.additive else guarantee.epsilon * draws


class _Words:
    """Word by word, each with draws of its own."""

    def __init__(
        self,
        query: str,
        mechanism: WordMechanism,
        space: Embeddings,
        ledger: Ledger,
        known: Entry,
    ) -> None:
        self._mechanism, self._space = mechanism, space
        self.text = draft(query, mechanism, space, max_chars=MAX_QUERY)
        name = setting_name(mechanism, space)
        self._keys = ledger.key.words(self.text.words, name)
        if known.form and _fits(known, self._keys):
            order = [self._keys.index(key) for key in known.draws]
            self.text = self.text.in_form(known.form, order)
            self._keys = tuple(known.draws)
        self.kept, self.asked = self.text.kept, self.text.original
        tied = known.query if known.tied else b""
        self._decoys = [ledger.key.decoy(key, tied, space.size) for key in self._keys]
        # An unknown word shares nothing: its draws do not depend on it, so that others tell
        # nothing more of it, and the same ones would tell that it comes again.
        both = zip(self._keys, self.text.known, strict=True)
        shared = [key for key, is_known in both if is_known]
        self._related, self._chosen = ledger.related(shared, name, len(self._keys))

    def price(self, entry: Entry, size: int) -> float:
        """Return what the missing draws cost."""
        return _sum(self._mechanism.guarantee, sum(self._missing(entry, size)))

    def extend(self, entry: Entry, size: int) -> Entry:
        """Draw for each word what is missing, and spell the variants that are not there yet."""
        columns = self._columns(entry, size)
        missing = self._missing(entry, size)
        for count in sorted({each for each in missing if each}):
            places = [i for i, each in enumerate(missing) if each == count]
            decoys = [self._decoys[place] for place in places]
            drawn = draw(self.text, places, self._mechanism, self._space, count, decoys)
            for place, words in zip(places, drawn, strict=True):
                columns[place] += words
        start = len(entry.variants)
        rows = zip(*(column[start:] for column in columns), strict=True)
        shared = [key in self._related and key not in entry.draws for key in self._keys]
        guarantee = self._mechanism.guarantee
        return replace(
            entry,
            variants=(*entry.variants, *map(self.text.spell, rows)),
            draws=dict(zip(self._keys, columns, strict=True)),
            shared=max(sum(shared), entry.shared),
            chosen=entry.chosen or (any(shared) and self._chosen),
            spent=entry.spent + self.price(entry, size),
            cost=_sum(guarantee, len(self._keys) * size),
            words=len(self._keys),
            form=entry.form or self.text.form,
        )

    def _columns(self, entry: Entry, size: int) -> list[tuple[str, ...]]:
        have = {**self._related, **entry.draws}
        return [have.get(key, ())[:size] for key in self._keys]

    def _missing(self, entry: Entry, size: int) -> list[int]:
        return [size - len(column) for column in self._columns(entry, size)]


def _fits(known: Entry, keys: Sequence[bytes]) -> bool:
    """Whether the same words were selected as before, so that the form is theirs."""
    return set(known.draws) == set(keys) and len(json.loads(known.form)[1]) == len(keys)


class _Queries:
    """Whole queries, rewritten by a mechanism that draws nothing at random."""

    text = None

    def __init__(self, query: str, found: Variants, mechanism: TextMechanism) -> None:
        self._found, self.asked = found, query
        self._guarantee = mechanism.guarantee
        self.kept = found.kept[0]

    def price(self, entry: Entry, size: int) -> float | None:
        """Return what the rewritings cost that are not there yet."""
        new = self._new(entry, size)
        return _sum(self._guarantee, len(new)) if new or not entry.variants else None

    def extend(self, entry: Entry, size: int) -> Entry:
        """Add the rewritings that are not there yet."""
        variants = (*entry.variants, *self._new(entry, size))
        return replace(
            entry,
            variants=variants,
            spent=entry.spent + (self.price(entry, size) or 0.0),
            cost=_sum(self._guarantee, len(variants)),
            words=self._found.protected[0],
        )

    def _new(self, entry: Entry, size: int) -> Sequence[str]:
        known = set(entry.variants)
        return [text for text in self._found[0] if text not in known][: size - len(known)]
