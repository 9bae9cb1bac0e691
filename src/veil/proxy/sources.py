"""Sources of variants: draws of words, rewritings of the query, fixed groups, fresh draws."""

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
    "Related queries share the draws of common words, which tells that a word is the same: no"
    " bound covers that."
)


class WordDraws:
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
        words: WordOptions,
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
        return Price(account_cost(self._mechanism.guarantee, sum(self._missing(entry, size))))

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
            cost=account_cost(guarantee, len(self._keys) * size),
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
        return recorded_variants(entry, self._mechanism, kept, cost)

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


def _leaves_out(words: WordOptions) -> bool:
    """Whether words may be missing from the layout, so that it is not what was asked."""
    made = {words.get("unknown", "random"), *(words.get("policies") or {}).values()}
    return not made.isdisjoint({"drop", "mask"})


class QueryRewritings:
    """Whole queries, rewritten by a mechanism that draws nothing at random."""

    def __init__(
        self, query: str, mechanism: TextMechanism, size: int, ledger: Ledger, words: WordOptions
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
            return recorded_variants(
                entry, self._mechanism, (), whole_cost(self._mechanism.guarantee, 1)
            )
        made = QueryRelease(entry.variants, kept, entry.words)
        cost = scrambled_cost(self._mechanism.guarantee, [made], self._size)
        return recorded_variants(entry, self._mechanism, kept, cost)

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Compare the rewritings with the words of the query."""
        if self._whole:
            return tuple((VariantPiece(text, "cover"),) for text in entry.variants)
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
        return Price(account_cost(guarantee, queries))

    def _new(self, entry: Entry, size: int) -> Sequence[str]:
        known = set(entry.variants)
        return [text for text in self._found[0] if text not in known][: size - len(known)]


EARLIER = (
    "The group is that of an earlier table, as the query was asked before: the old and the new one"
    " together would tell more."
)
SESSION = 1800.0  # seconds after a search in which the next one may stay with its group


class CoverGroups:
    """Whole groups of fixed texts: what is sent depends on the address of the query alone.

    What was released of a query is released again, also if the table was built anew meanwhile:
    the old and the new group together would tell more. A query that is near to the group of the
    one before stays with it, within a session.

    Every query whose group goes out costs the bits of the table, once: that the same texts went
    out for another query before does not tell the engine less of this one. Nothing is told, and
    nothing costs, where all answers are remembered and nothing is sent.
    """

    def __init__(self, query: str, mechanism: Cover, ledger: Ledger, line: EngineRoute) -> None:
        self.asked, self._mechanism = query, mechanism
        self._table = table = mechanism.open()
        hashed, name = ledger.key.query(query), group_name(mechanism, leaves=line.leaves)
        self.known = ledger.known(hashed, name) or Entry(hashed, name)
        self.found = mechanism.locate(query)
        texts, self._before = table.group(self.found.address), -1
        self._after: tuple[str, ...] = ()
        if self.known.variants:  # the engine saw the group after the same one as then
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
            draws=entry.draws or {self._key: ("group", *self._after)},
            bits=entry.bits + price.bits,
            words=max(1, len(tokens(self.asked))),
        )

    def release(self, entry: Entry) -> Variants:
        """Return the texts of the group; all of them cost what one release does."""
        cost = whole_cost(self._mechanism.guarantee, 1)
        if self._table.find(entry.variants) < 0:
            cost = replace(cost, bits=entry.bits or cost.bits, caveat=EARLIER)
        return recorded_variants(entry, self._mechanism, (), cost)

    @property
    def _bits(self) -> float:
        """What the release tells: one of as many groups as there are."""
        return self._table.bits

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Say that every text is a fixed one, whatever words it has."""
        return tuple((VariantPiece(text, "cover"),) for text in entry.variants)

    def group(self, entry: Entry) -> GroupView:
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


def _before(entry: Entry, ledger: Ledger) -> tuple[str, ...]:
    """Return the texts of the group that was sent last before an entry was made, in its session.

    The entry has the number of that release; nothing where there is none, or it was forgotten.
    """
    noted = (text for column in entry.draws.values() for text in column[1:2])
    numbers = [int(text) for text in noted if text.isdecimal()]
    for found in ledger.releases(1, before=numbers[0] + 1) if numbers else ():
        if found.number == numbers[0]:
            return found.variants
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
    """Describe a group that was sent; of one of an earlier table little is known but its bits.

    `apart` is the group before it in the session, and the cosine from which a query would have
    stayed with that one: such texts are ruled out by whoever saw both.
    """
    address = table.find(texts)
    if address < 0:
        groups = round(2**bits) if bits else table.L
        active = min(1.0, 10 * groups / len(table))
        return GroupView(-1, groups, len(table), known, stayed, found.cosine, (), active)
    there = table.members(address)
    before, stay = apart
    if before >= 0 and address != before:
        near = table.vectors[there] @ table.vectors[table.members(before)].T
        there = there[near.max(axis=1) < stay]
    odds = table.odds(there)
    first = {int(table.tracks[i]): int(i) for i in there[::-1]}
    others = tuple(table.texts[first[track]] for track in sorted(first))
    return GroupView(
        address, table.L, len(table), known, stayed, found.cosine, others, odds.equal, len(there),
        before >= 0 and address != before, odds.popular, odds.blind, odds.popularity,
    )  # fmt: skip


class FreshDraws:
    """Draws of which nothing is kept, whatever was released before."""

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
        self._made = Variants((), str(mechanism), mechanism.guarantee, (), ())

    def extend(self, entry: Entry, size: int) -> Entry:
        """Draw all of them anew."""
        self._made = made = self._draw(size)
        return replace(entry, variants=made[0], words=made.protected[0], spent=math.inf)

    def release(self, entry: Entry) -> Variants:
        """Return what was drawn last."""
        made = self._made
        return replace(made, cost=add_choice_cost(made.cost, entry))

    def marked(self, entry: Entry) -> tuple[Marks, ...]:
        """Compare the variants with the words of the query."""
        if isinstance(self._mechanism, Cover):
            return tuple((VariantPiece(text, "cover"),) for text in entry.variants)
        return tuple(marks(text, [self.asked], self._made.kept[0]) for text in entry.variants)

    def group(self, entry: Entry) -> GroupView | None:
        """Say which group was sent, where one was."""
        if not isinstance(self._mechanism, Cover):
            return None
        found = self._mechanism.locate(self.asked)
        return group_of(self._mechanism.open(), entry.variants, found, known=False, stayed=False)


def source_of(
    query: str,
    mechanism: TextMechanism,
    space: Embeddings | None,
    size: int,
    ledger: Ledger,
    words: WordOptions,
    line: EngineRoute,
) -> PricedSource:
    """Return what makes variants of a query; what was released of it is looked up now."""
    if isinstance(mechanism, Cover):
        return CoverGroups(query, mechanism, ledger, line)
    if not isinstance(mechanism, WordMechanism):
        return QueryRewritings(query, mechanism, size, ledger, words)
    if space is None:
        raise ParameterError(f"{mechanism.name} replaces words and needs word vectors.")
    return WordDraws(query, mechanism, space, ledger, words)
