"""The fixed texts of one group of cover, whatever the query of that group."""

from collections.abc import Sequence
from dataclasses import replace

from veil.core.types import Released, Variants
from veil.corpus.tokens import tokens
from veil.cover.table import Located, Table
from veil.proxy.found import Group, Mark
from veil.proxy.ledger.entries import Entry
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.ledger.price import Price
from veil.proxy.sources.names import group_name
from veil.proxy.sources.source import Line, Marks, released
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

    Every query whose group goes out costs the bits of the table, once: that the same texts went
    out for another query before does not tell the engine less of this one. Nothing is told, and
    nothing costs, where all answers are remembered and nothing is sent.
    """

    def __init__(self, query: str, mechanism: Cover, ledger: Ledger, line: Line) -> None:
        self.asked, self._mechanism = query, mechanism
        self._table = table = mechanism.open()
        hashed, name = ledger.key.query(query), group_name(mechanism, leaves=line.leaves)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self.found = mechanism.locate(query)
        texts, self._before = table.group(self.found.address), -1
        last = None if self.known.variants else ledger.latest(name, SESSION)
        if last is not None and last.variants != texts:
            self._before = table.find(last.variants)
            if self._before >= 0 and table.near(query, self._before) >= mechanism.stay:
                texts = table.group(self._before)
        self._texts = self.known.variants or texts
        self._key = ledger.key.words(("\n".join(self._texts),), name)[0]
        self.sent_before = ledger.was_sent(self._key)
        self.answers = line.recall([Released(text) for text in self._texts])

    @property
    def owing(self) -> bool:
        """Whether the group goes out for this query and was not paid for it yet."""
        return self.answers is None and not self.known.bits

    @property
    def stayed(self) -> bool:
        """Whether it is the group of an earlier query, though this one has another by itself."""
        return self._table.find(self._texts) not in (-1, self.found.address)

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return the bits of a group that goes out for this query the first time."""
        size_of(self._mechanism, size)
        if entry.variants and not self.owing:
            return None
        return Price(bits=self._bits if self.owing else 0.0)

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

    @property
    def _bits(self) -> float:
        """What the release tells: one of as many groups as there are."""
        return self._table.bits

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
            apart=(self._before, self._mechanism.stay),
        )


def group_of(
    table: Table,
    texts: Sequence[str],
    found: Located,
    *,
    known: bool,
    stayed: bool,
    bits: float = 0.0,
    apart: tuple[int, float] = (-1, 1.0),
) -> Group:
    """Describe a group that was sent; of one of an earlier table little is known but its bits.

    `apart` is the group before it in the session, and the cosine from which a query would have
    stayed with that one: such texts are ruled out by whoever saw both.
    """
    address = table.find(texts)
    if address < 0:
        groups = round(2**bits) if bits else table.L
        active = min(1.0, 10 * groups / len(table))
        return Group(-1, groups, len(table), known, stayed, found.cosine, (), active)
    there, active = table.members(address), table.risk()
    before, stay = apart
    if before >= 0 and address != before:
        near = table.vectors[there] @ table.vectors[table.members(before)].T
        there = there[near.max(axis=1) < stay]
        active = table.risk_of(there) if len(there) else 1.0
    first = {int(table.tracks[i]): int(i) for i in there[::-1]}
    others = tuple(table.texts[first[track]] for track in sorted(first))
    return Group(
        address, table.L, len(table), known, stayed, found.cosine, others, active, len(there),
        session=before >= 0 and address != before,
    )  # fmt: skip
