"""Sources of variants: samples of words, rewritings, cover groups and unrecorded samples."""

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from numpy.random import Generator

from veil.core.errors import ParameterError
from veil.core.types import Released, Variants
from veil.corpus.tokens import tokens
from veil.cover.table import Table, TableMatch
from veil.proxy.ledger.entries import Entry, Price
from veil.proxy.ledger.key import Key
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.results import GroupView, VariantPiece
from veil.proxy.source import (
    EngineRoute,
    Marks,
    PricedSource,
    account_cost,
    add_choice_cost,
    choices_name,
    group_name,
    law_name,
    marks,
    recorded_variants,
)
from veil.search.pipeline import MAX_QUERY, WordOptions, release
from veil.text.mechanisms.mechanism import (
    QueryMechanism,
    QueryRelease,
    TextMechanism,
    WordMechanism,
    premises,
    release_cost,
    scale_premise,
)
from veil.text.mechanisms.queries.cover import Cover
from veil.text.mechanisms.queries.scramble import passed, scrambled_cost, size_of, whole_cost
from veil.text.protect import draft, draw, protect
from veil.text.vectors.embeddings import Embeddings

_SHARED = (
    "Related queries share the samples of common words, which reveals that the word is the"
    " same; no bound covers this."
)


class WordDraws:
    """Variants of a query, sampled word by word.

    Samples depend only on the mechanism, the vectors and the word, so related queries can share
    them even if they protected other words. A release also depends on which words are replaced:
    other options, or another selection of the same words in another order, make another release.
    """

    def __init__(
        self,
        query: str,
        mechanism: WordMechanism,
        space: Embeddings,
        ledger: Ledger,
        words: WordOptions,
    ) -> None:
        self._query, self._mechanism, self._space = query, mechanism, space
        self._words = words
        self._text = draft(query, mechanism, space, max_chars=MAX_QUERY, **words)
        name = law_name(mechanism, space)
        self._keys = ledger.key.words(self._text.words, name)
        setting = name + choices_name(mechanism, words, ledger.key)
        self.known = entry = self._find(ledger, ledger.key.query(query), setting)
        if entry.form:
            self._text = self._text.in_form(entry.form, self._order(entry))
            self._keys = tuple(entry.draws)
        self.asked = query if _leaves_out(words) else self._text.original
        tied = entry.query if entry.tied else b""
        self._decoys = [ledger.key.decoy(key, tied, space.size) for key in self._keys]
        # An out-of-vocabulary word shares nothing: its samples do not depend on it, so new ones
        # reveal nothing more, while the same ones would reveal that it was repeated.
        pairs = zip(self._keys, self._text.known, strict=True)
        shared = [key for key, is_known in pairs if is_known]
        self._related, self._chosen = ledger.related(
            shared, len(self._keys), entry.query, entry.draws
        )

    def price(self, entry: Entry, size: int) -> Price:
        """Return the price of the missing samples."""
        return Price(account_cost(self._mechanism.guarantee, sum(self._missing(entry, size))))

    def extend(self, entry: Entry, size: int) -> Entry:
        """Sample what is missing for each word, and write out the new variants."""
        columns = self._columns(entry, size)
        missing = self._missing(entry, size)
        for count in sorted({number for number in missing if number}):
            places = [i for i, number in enumerate(missing) if number == count]
            decoys = [self._decoys[place] for place in places]
            samples = draw(self._text, places, self._mechanism, self._space, count, decoys)
            for place, words in zip(places, samples, strict=True):
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
            cost=account_cost(guarantee, len(self._keys) * size),
            words=len(self._keys),
            form=entry.form or self._text.form,
        )

    def release(self, entry: Entry) -> Variants:
        """Return the variants with their cost and its limits."""
        guarantee, words = self._mechanism.guarantee, self._words
        select = words.get("select")
        select = self._mechanism.select if select is None else select
        scale = scale_premise(guarantee, self._space)
        conditions = (*premises(select, words.get("policies"), scale), _SHARED)
        unchanged, size = self._text.kept, len(entry.variants)
        cost = release_cost(guarantee, entry.words, size, len(unchanged), conditions)
        return recorded_variants(entry, self._mechanism, unchanged, cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Mark the words of each variant by comparing them with the query."""
        pairs = zip(self._keys, self._text.known, strict=True)
        hidden = [
            entry.draws[key] for key, is_known in pairs if not is_known and key in entry.draws
        ]
        own, unchanged = (self._query, *self._text.words), self._text.kept
        return tuple(
            marks(variant, own, unchanged, [column[i] for column in hidden if i < len(column)])
            for i, variant in enumerate(entry.variants)
        )

    def _find(self, ledger: Ledger, query: bytes, setting: str) -> Entry:
        """Return the ledger entry of the query with the same words replaced."""
        entry = ledger.known(query, setting)
        if entry is not None and entry.form and not self._fits(entry, ledger.key):
            unchanged = ledger.key.words(self._text.kept, setting)
            words = b"".join(sorted(self._keys)) + b"".join(sorted(unchanged))
            mark = hashlib.blake2b(words, digest_size=4).hexdigest()
            setting = f"{setting}, other words#{mark}"
            entry = ledger.known(query, setting)
        return entry or Entry(query, setting)

    def _fits(self, entry: Entry, key: Key) -> bool:
        """Return whether the entry replaced and kept the same words, so that its form applies."""
        words = len(json.loads(entry.form)[1])
        if set(entry.draws) != set(self._keys) or words != len(self._keys):
            return False
        text = self._text.in_form(entry.form, self._order(entry))
        return key.query(text.original) == key.query(self._text.original)

    def _order(self, entry: Entry) -> list[int]:
        """Return the positions in this query of the words of an earlier entry."""
        return [self._keys.index(key) for key in entry.draws]

    def _columns(self, entry: Entry, size: int) -> list[tuple[str, ...]]:
        return [(*entry.draws.get(key, ()), *self._more(entry, key))[:size] for key in self._keys]

    def _more(self, entry: Entry, key: bytes) -> tuple[str, ...]:
        """Return a word's samples from related queries that continue those of the entry."""
        have, column = entry.draws.get(key, ()), self._related.get(key, ())
        return column[len(have) :] if column[: len(have)] == have else ()

    def _missing(self, entry: Entry, size: int) -> list[int]:
        return [size - len(column) for column in self._columns(entry, size)]


def _leaves_out(words: WordOptions) -> bool:
    """Return whether words may be missing from the layout, so that it differs from the query."""
    policies = {words.get("unknown", "random"), *(words.get("policies") or {}).values()}
    return not policies.isdisjoint({"drop", "mask"})


class QueryRewritings:
    """Rewritings of whole queries by a mechanism without randomness."""

    def __init__(
        self, query: str, mechanism: TextMechanism, size: int, ledger: Ledger, words: WordOptions
    ) -> None:
        self.asked, self._mechanism, self._size = query, mechanism, size
        hashed, name = ledger.key.query(query), law_name(mechanism, None)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self._rewritings = protect([query], mechanism, None, size, max_chars=MAX_QUERY, **words)

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return the price of the missing rewritings."""
        new = self._new(entry, size)
        if not new and entry.variants:
            return None
        return self._price(len(new))

    def extend(self, entry: Entry, size: int) -> Entry:
        """Add the rewritings that the entry lacks."""
        new = self._new(entry, size)
        variants = (*entry.variants, *new)
        price = self._price(len(new))
        return replace(
            entry,
            variants=variants,
            spent=entry.spent + price.epsilon,
            bits=entry.bits + price.bits,
            cost=self._price(len(variants)).epsilon,
            words=self._rewritings.protected[0],
        )

    def release(self, entry: Entry) -> Variants:
        """Return all rewritings, with their total cost."""
        unchanged = passed(self.asked, entry.variants)
        if self._whole:
            return recorded_variants(
                entry, self._mechanism, (), whole_cost(self._mechanism.guarantee, 1)
            )
        rewritings = QueryRelease(entry.variants, unchanged, entry.words)
        cost = scrambled_cost(self._mechanism.guarantee, [rewritings], self._size)
        return recorded_variants(entry, self._mechanism, unchanged, cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Mark the words of each rewriting by comparing them with the query."""
        if self._whole:
            return tuple((VariantPiece(text, "cover"),) for text in entry.variants)
        unchanged = passed(self.asked, entry.variants)
        return tuple(marks(text, [self.asked], unchanged) for text in entry.variants)

    @property
    def _whole(self) -> bool:
        """Whether the queries are a single release."""
        return isinstance(self._mechanism, QueryMechanism) and self._mechanism.whole

    def _price(self, queries: int) -> Price:
        guarantee = self._mechanism.guarantee
        if self._whole and math.isfinite(guarantee.bits):
            return Price(bits=guarantee.bits if queries else 0.0)
        return Price(account_cost(guarantee, queries))

    def _new(self, entry: Entry, size: int) -> Sequence[str]:
        earlier = set(entry.variants)
        return [text for text in self._rewritings[0] if text not in earlier][: size - len(earlier)]


EARLIER = (
    "The group is from an earlier table, because the query was searched before: the old and the"
    " new group together would reveal more."
)
SESSION = 1800.0  # seconds for which the next search may reuse the group


class CoverGroups:
    """Whole groups of fixed texts: what is sent depends only on the group number of the query.

    A query that was searched before sends the same group again, even if the table was rebuilt
    meanwhile: the old and the new group together would reveal more. Within a session, a query
    close to the previous group reuses that group.

    Each query whose group is sent costs the table's bits once. That the same texts were sent for
    another query before does not reveal less about this one. If all answers are remembered and
    nothing is sent, nothing is revealed and the cost is 0.
    """

    def __init__(self, query: str, mechanism: Cover, ledger: Ledger, line: EngineRoute) -> None:
        self.asked, self._mechanism = query, mechanism
        self._table = table = mechanism.open()
        hashed, name = ledger.key.query(query), group_name(mechanism, leaves=line.leaves)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self.found = mechanism.locate(query)
        texts, self._before = table.group(self.found.address), -1
        self._after: tuple[str, ...] = ()
        if self.known.variants:  # the preceding group is the one from that time
            self._before = table.find(_before(self.known, ledger))
        elif (last := ledger.latest(name, SESSION)) is not None and last.variants != texts:
            self._before, self._after = table.find(last.variants), (str(last.number),)
            if self._before >= 0 and table.near(query, self._before) >= mechanism.stay:
                texts = table.group(self._before)
        self._texts = self.known.variants or texts
        self._key = ledger.key.words(("\n".join(self._texts),), name)[0]
        self.sent_before = ledger.was_sent(self._key)
        self.answers = line.recall([Released(text) for text in self._texts])

    @property
    def owing(self) -> bool:
        """Whether the group is sent for this query and has not been paid for."""
        return self.answers is None and not self.known.bits

    @property
    def stayed(self) -> bool:
        """Whether the group of an earlier query is reused although this one has another group."""
        return self._table.find(self._texts) not in (-1, self.found.address)

    def price(self, entry: Entry, size: int) -> Price | None:
        """Return the bits of a group that is sent for this query for the first time."""
        size_of(self._mechanism, size)
        if entry.variants and not self.owing:
            return None
        return Price(bits=self._bits if self.owing else 0.0)

    def extend(self, entry: Entry, size: int) -> Entry:
        """Add all texts of the group."""
        price = self.price(entry, size)
        if price is None:
            return entry
        return replace(
            entry,
            variants=tuple(map(str, self._texts)),
            draws=entry.draws or {self._key: ("group", *self._after)},
            bits=entry.bits + price.bits,
            words=max(1, len(tokens(self.asked))),
        )

    def release(self, entry: Entry) -> Variants:
        """Return the texts of the group, which together cost one release."""
        cost = whole_cost(self._mechanism.guarantee, 1)
        if self._table.find(entry.variants) < 0:
            cost = replace(cost, bits=entry.bits or cost.bits, caveat=EARLIER)
        return recorded_variants(entry, self._mechanism, (), cost)

    @property
    def _bits(self) -> float:
        """Leakage of a release: log2 of the number of groups."""
        return self._table.bits

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Mark every text as fixed."""
        return tuple((VariantPiece(text, "cover"),) for text in entry.variants)

    def group(self, entry: Entry) -> GroupView:
        """Return the group that was sent, and which other texts share it."""
        return group_of(
            self._table,
            entry.variants,
            self.found,
            known=self.sent_before,
            stayed=self.stayed,
            bits=entry.bits,
            apart=(self._before, self._mechanism.stay),
        )


def _before(entry: Entry, ledger: Ledger) -> tuple[str, ...]:
    """Return the texts of the group sent just before an entry was made, in its session.

    The entry stores the number of that release. Empty if there is none, or it was forgotten.
    """
    noted = (text for column in entry.draws.values() for text in column[1:2])
    numbers = [int(text) for text in noted if text.isdecimal()]
    for earlier in ledger.releases(1, before=numbers[0] + 1) if numbers else ():
        if earlier.number == numbers[0]:
            return earlier.variants
    return ()


def group_of(
    table: Table,
    texts: Sequence[str],
    found: TableMatch,
    *,
    known: bool,
    stayed: bool,
    bits: float = 0.0,
    apart: tuple[int, float] = (-1, 1.0),
) -> GroupView:
    """Describe the group that was sent; of an earlier table's group, little but its bits is known.

    `apart` is the preceding group of the session, and the cosine from which a query would have
    reused it: an attacker who saw both groups rules out such texts.
    """
    address = table.find(texts)
    if address < 0:
        groups = round(2**bits) if bits else table.L
        active = min(1.0, 10 * groups / len(table))
        return GroupView(-1, groups, len(table), known, stayed, found.cosine, (), active)
    members = table.members(address)
    before, stay = apart
    if before >= 0 and address != before:
        near = table.vectors[members] @ table.vectors[table.members(before)].T
        members = members[near.max(axis=1) < stay]
    odds = table.odds(members)
    first = {int(table.tracks[i]): int(i) for i in members[::-1]}
    others = tuple(table.texts[first[track]] for track in sorted(first))
    return GroupView(
        address, table.L, len(table), known, stayed, found.cosine, others, odds.equal,
        len(members), before >= 0 and address != before, odds.popular, odds.blind, odds.popularity,
    )  # fmt: skip


class FreshDraws:
    """Unrecorded samples, independent of earlier releases."""

    def __init__(
        self,
        query: str,
        mechanism: TextMechanism,
        space: Embeddings | None,
        words: WordOptions,
        rng: Generator | None,
    ) -> None:
        self.asked, self.known, self._mechanism = query, Entry(b"", ""), mechanism
        self._draw = partial(release, query, mechanism, space, rng=rng, **words)
        self._variants = Variants((), str(mechanism), mechanism.guarantee, (), ())

    def extend(self, entry: Entry, size: int) -> Entry:
        """Sample all variants afresh."""
        self._variants = variants = self._draw(size)
        return replace(entry, variants=variants[0], words=variants.protected[0], spent=math.inf)

    def release(self, entry: Entry) -> Variants:
        """Return the variants sampled last."""
        return replace(self._variants, cost=add_choice_cost(self._variants.cost, entry))

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Mark the words of each variant by comparing them with the query."""
        if isinstance(self._mechanism, Cover):
            return tuple((VariantPiece(text, "cover"),) for text in entry.variants)
        return tuple(marks(text, [self.asked], self._variants.kept[0]) for text in entry.variants)

    def group(self, entry: Entry) -> GroupView | None:
        """Return the group that was sent, or None for mechanisms without groups."""
        if not isinstance(self._mechanism, Cover):
            return None
        match = self._mechanism.locate(self.asked)
        return group_of(self._mechanism.open(), entry.variants, match, known=False, stayed=False)


def source_of(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    ledger: Ledger,
    words: WordOptions,
    line: EngineRoute,
) -> PricedSource:
    """Return the source of variants for a mechanism; it looks the query up in the ledger."""
    if isinstance(mechanism, Cover):
        return CoverGroups(query, mechanism, ledger, line)
    if not isinstance(mechanism, WordMechanism):
        return QueryRewritings(query, mechanism, size, ledger, words)
    if space is None:
        raise ParameterError(
            f"The mechanism {mechanism.name} must have word vectors, because it replaces words."
            " Pass 'space'."
        )
    return WordDraws(query, mechanism, space, ledger, words)
