"""Variants that are rewritings of the whole query."""

import math
from collections.abc import Sequence
from dataclasses import replace

from veil.core.types import Variants
from veil.proxy.found import Mark
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.ledger.price import Price
from veil.proxy.marks import marks
from veil.proxy.sources.names import law_name
from veil.proxy.sources.source import Marks, released, summed
from veil.search.pipeline import MAX_QUERY, Words
from veil.text.mechanisms.mechanism import QueryMechanism, Scrambled, TextMechanism
from veil.text.mechanisms.queries.scramble import passed, scrambled_cost, whole_cost
from veil.text.protect import protect


class OfQueries:
    """Whole queries, rewritten by a mechanism that draws nothing at random."""

    def __init__(
        self, query: str, mechanism: TextMechanism, size: int, ledger: Ledger, words: Words
    ) -> None:
        self.asked, self._mechanism, self._size = query, mechanism, size
        hashed, name = ledger.key.query(query), law_name(mechanism, None)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self._found = protect([query], mechanism, None, size, max_chars=MAX_QUERY, **words)

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return what the rewritings cost that are not there yet."""
        new = self._new(entry, size)
        if not new and entry.variants:
            return None
        return self._price(len(new))

    def extend(self, entry: Entry, size: int) -> Entry:
        """Add the rewritings that are not there yet."""
        new = self._new(entry, size)
        variants = (*entry.variants, *new)
        price = self._price(len(new))
        return replace(
            entry,
            variants=variants,
            spent=entry.spent + price.epsilon,
            bits=entry.bits + price.bits,
            cost=self._price(len(variants)).epsilon,
            words=self._found.protected[0],
        )

    def release(self, entry: Entry) -> Variants:
        """Return the rewritings, with what all of them cost, also those of before."""
        kept = passed(self.asked, entry.variants)
        if self._whole:
            return released(entry, self._mechanism, (), whole_cost(self._mechanism.guarantee, 1))
        made = Scrambled(entry.variants, kept, entry.words)
        cost = scrambled_cost(self._mechanism.guarantee, [made], self._size)
        return released(entry, self._mechanism, kept, cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Compare the rewritings with the words of the query."""
        if self._whole:
            return tuple((Mark(text, "cover"),) for text in entry.variants)
        kept = passed(self.asked, entry.variants)
        return tuple(marks(text, [self.asked], kept) for text in entry.variants)

    @property
    def _whole(self) -> bool:
        """Whether the queries are one release, whatever their number."""
        return isinstance(self._mechanism, QueryMechanism) and self._mechanism.whole

    def _price(self, queries: int) -> Price:
        guarantee = self._mechanism.guarantee
        if self._whole and math.isfinite(guarantee.bits):
            return Price(bits=guarantee.bits if queries else 0.0)
        return Price(summed(guarantee, queries))

    def _new(self, entry: Entry, size: int) -> Sequence[str]:
        known = set(entry.variants)
        return [text for text in self._found[0] if text not in known][: size - len(known)]
