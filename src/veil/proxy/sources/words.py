"""Variants that are drawn word by word."""

import hashlib
import json
from dataclasses import replace

from veil.core.types import Variants
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.key import Key
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.ledger.price import Price
from veil.proxy.marks import marks
from veil.proxy.sources.names import choices_name, law_name
from veil.proxy.sources.source import Marks, released, summed
from veil.search.pipeline import MAX_QUERY, Words
from veil.text.mechanisms.mechanism import WordMechanism, premises, release_cost, scale_premise
from veil.text.protect import draft, draw
from veil.text.vectors.embeddings import Embeddings

_SHARED = (
    "Related queries share the draws of common words, which tells that a word is the same: no"
    " bound covers that."
)


class OfWords:
    """Word by word, each with draws of its own.

    Draws depend on the mechanism, the vectors and the word alone, so that those of related queries
    serve whatever words these protected. A release also depends on which words are replaced: with
    other choices, or where the same words in another order are selected otherwise, there is
    another one.
    """

    def __init__(
        self,
        query: str,
        mechanism: WordMechanism,
        space: Embeddings,
        ledger: Ledger,
        words: Words,
    ) -> None:
        self._query, self._mechanism, self._space = query, mechanism, space
        self._words = words
        self._text = draft(query, mechanism, space, max_chars=MAX_QUERY, **words)
        name = law_name(mechanism, space)
        self._keys = ledger.key.words(self._text.words, name)
        setting = name + choices_name(mechanism, words, ledger.key)
        self.known = known = self._find(ledger, ledger.key.query(query), setting)
        if known.form:
            self._text = self._text.in_form(known.form, self._order(known))
            self._keys = tuple(known.draws)
        self.asked = query if _leaves_out(words) else self._text.original
        tied = known.query if known.tied else b""
        self._decoys = [ledger.key.decoy(key, tied, space.size) for key in self._keys]
        # An unknown word shares nothing: its draws do not depend on it, so that others tell
        # nothing more of it, and the same ones would tell that it comes again.
        both = zip(self._keys, self._text.known, strict=True)
        shared = [key for key, is_known in both if is_known]
        self._related, self._chosen = ledger.related(
            shared, len(self._keys), known.query, known.draws
        )

    def price(self, entry: Entry, size: int) -> Price:
        """Return what the missing draws cost."""
        return Price(summed(self._mechanism.guarantee, sum(self._missing(entry, size))))

    def extend(self, entry: Entry, size: int) -> Entry:
        """Draw for each word what is missing, and spell the variants that are not there yet."""
        columns = self._columns(entry, size)
        missing = self._missing(entry, size)
        for count in sorted({each for each in missing if each}):
            places = [i for i, each in enumerate(missing) if each == count]
            decoys = [self._decoys[place] for place in places]
            drawn = draw(self._text, places, self._mechanism, self._space, count, decoys)
            for place, words in zip(places, drawn, strict=True):
                columns[place] += words
        start = len(entry.variants)
        rows = zip(*(column[start:] for column in columns), strict=True)
        shared = [bool(self._more(entry, key)) for key in self._keys]
        guarantee = self._mechanism.guarantee
        return replace(
            entry,
            variants=(*entry.variants, *map(self._text.spell, rows)),
            draws=dict(zip(self._keys, columns, strict=True)),
            shared=max(sum(shared), entry.shared),
            chosen=entry.chosen or (any(shared) and self._chosen),
            spent=entry.spent + self.price(entry, size).epsilon,
            cost=summed(guarantee, len(self._keys) * size),
            words=len(self._keys),
            form=entry.form or self._text.form,
        )

    def release(self, entry: Entry) -> Variants:
        """Return the variants, with their cost and what it does not cover."""
        guarantee, words = self._mechanism.guarantee, self._words
        select = words.get("select")
        select = self._mechanism.select if select is None else select
        scale = scale_premise(guarantee, self._space)
        told = (*premises(select, words.get("policies"), scale), _SHARED)
        kept, size = self._text.kept, len(entry.variants)
        cost = release_cost(guarantee, entry.words, size, len(kept), told)
        return released(entry, self._mechanism, kept, cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Compare the variants with the words of the query, and with draws for unknown ones."""
        pairs = zip(self._keys, self._text.known, strict=True)
        hidden = [entry.draws[key] for key, known in pairs if not known and key in entry.draws]
        own, kept = (self._query, *self._text.words), self._text.kept
        return tuple(
            marks(variant, own, kept, [column[i] for column in hidden if i < len(column)])
            for i, variant in enumerate(entry.variants)
        )

    def _find(self, ledger: Ledger, query: bytes, setting: str) -> Entry:
        """Find what was released of the query where the same words of it were replaced."""
        known = ledger.known(query, setting)
        if known is not None and known.form and not self._fits(known, ledger.key):
            kept = ledger.key.words(self._text.kept, setting)
            both = b"".join(sorted(self._keys)) + b"".join(sorted(kept))
            mark = hashlib.blake2b(both, digest_size=4).hexdigest()
            setting = f"{setting}, other words#{mark}"
            known = ledger.known(query, setting)
        return known or Entry(query, setting)

    def _fits(self, known: Entry, key: Key) -> bool:
        """Whether the same words were replaced and kept as before, so that the form is theirs."""
        words = len(json.loads(known.form)[1])
        if set(known.draws) != set(self._keys) or words != len(self._keys):
            return False
        there = self._text.in_form(known.form, self._order(known))
        return key.query(there.original) == key.query(self._text.original)

    def _order(self, known: Entry) -> list[int]:
        """Return where the words of an earlier release stand in this query."""
        return [self._keys.index(key) for key in known.draws]

    def _columns(self, entry: Entry, size: int) -> list[tuple[str, ...]]:
        return [(*entry.draws.get(key, ()), *self._more(entry, key))[:size] for key in self._keys]

    def _more(self, entry: Entry, key: bytes) -> tuple[str, ...]:
        """Return the draws of a word that go on from those of the entry, and are out already."""
        have, column = entry.draws.get(key, ()), self._related.get(key, ())
        return column[len(have) :] if column[: len(have)] == have else ()

    def _missing(self, entry: Entry, size: int) -> list[int]:
        return [size - len(column) for column in self._columns(entry, size)]


def _leaves_out(words: Words) -> bool:
    """Whether words may be missing from the layout, so that it is not what was asked."""
    made = {words.get("unknown", "random"), *(words.get("policies") or {}).values()}
    return not made.isdisjoint({"drop", "mask"})
