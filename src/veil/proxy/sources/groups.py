"""The fixed texts of one group of cover, whatever the query of that group."""

from collections.abc import Sequence
from dataclasses import replace

from veil.core.types import Variants
from veil.corpus.text import tokens
from veil.cover.table import Located, Table
from veil.proxy.found import Group, Mark
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.ledger.price import Price
from veil.proxy.sources.names import group_name
from veil.proxy.sources.source import Marks, released
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.queries.scramble import size_of, whole_cost

EARLIER = (
    "The group is that of an earlier table, as the query was asked before: the old and the new one"
    " together would tell more."
)
SESSION = 1800.0  # seconds after a search in which the next one may stay with its group


class Groups:
    """Whole groups of fixed texts: what is sent depends on the address of the query alone.

    What was released of a query is released again, also if the table was built anew meanwhile:
    the old and the new group together would tell more. A query that is near to the group of the
    one before stays with it, within a session.
    """

    def __init__(self, query: str, mechanism: Cover, ledger: Ledger) -> None:
        self.asked, self._mechanism, self._ledger = query, mechanism, ledger
        self._table = table = mechanism.open()
        hashed, name = ledger.key.query(query), group_name(mechanism)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self.found = mechanism.locate(query)
        self.stayed = False
        self._texts = table.group(self.found.address)
        last = None if self.known.variants else ledger.latest(name, SESSION)
        if last is not None and last.variants != self._texts:
            current = table.find(last.variants)
            if current >= 0 and table.near(query, current) >= mechanism.stay:
                self.stayed, self._texts = True, table.group(current)
        self._key = ledger.key.words(("\n".join(self._texts),), name)[0]
        self.sent_before = bool(self.known.variants) or ledger.was_sent(self._key)

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return the bits of a group that was never sent; of one that was, nothing."""
        size_of(self._mechanism, size)
        if entry.variants:
            return None
        return Price(bits=0.0 if self.sent_before else self._table.bits)

    def extend(self, entry: Entry, size: int) -> Entry:
        """Take all texts of the group."""
        price = self.price(entry, size)
        if price is None:
            return entry
        return replace(
            entry,
            variants=tuple(map(str, self._texts)),
            draws={self._key: ("group",)},
            bits=entry.bits + price.bits,
            words=max(1, len(tokens(self.asked))),
        )

    def release(self, entry: Entry) -> Variants:
        """Return the texts of the group; all of them cost what one release does."""
        cost = whole_cost(self._mechanism.guarantee, 1)
        if self._table.find(entry.variants) < 0:
            cost = replace(cost, bits=entry.bits or cost.bits, caveat=EARLIER)
        return released(entry, self._mechanism, (), cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Say that every text is a fixed one, whatever words it has."""
        return tuple((Mark(text, "cover"),) for text in entry.variants)

    def group(self, entry: Entry) -> Group:
        """Say which group was sent, and who else would send the same."""
        return group_of(
            self._table,
            entry.variants,
            self.found,
            known=self.sent_before,
            stayed=self.stayed,
            bits=entry.bits,
        )


def group_of(
    table: Table,
    texts: Sequence[str],
    found: Located,
    *,
    known: bool,
    stayed: bool,
    bits: float = 0.0,
) -> Group:
    """Describe a group that was sent; of one of an earlier table little is known but its bits."""
    address = table.find(texts)
    if address < 0:
        groups = round(2**bits) if bits else table.L
        active = min(1.0, 10 * groups / len(table))
        return Group(-1, groups, len(table), known, stayed, found.cosine, (), active)
    first = {int(table.tracks[i]): int(i) for i in table.members(address)[::-1]}
    others = tuple(table.texts[first[track]] for track in sorted(first))
    active = table.risk()
    return Group(address, table.L, len(table), known, stayed, found.cosine, others, active)
