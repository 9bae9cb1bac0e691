"""Variants that stay: what was released of a query is used again, and only the rest is drawn."""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Unpack

from veil.core.errors import LedgerError, ParameterError, RiskError
from veil.core.rng import Randomness, generator
from veil.core.types import Ranking, Variants
from veil.proxy.ledger.entries import Entry, Limits, Price
from veil.proxy.ledger.ledger import Ledger, StaleError
from veil.proxy.results import GroupView
from veil.proxy.settings import MAX_SIZE, Budget, PreflightResult
from veil.proxy.source import EngineRoute, Marks, PricedSource, Source
from veil.proxy.sources import CoverGroups, FreshDraws, source_of
from veil.search.pipeline import WordOptions, require_protection
from veil.text.mechanisms.mechanism import QueryMechanism, TextMechanism
from veil.text.vectors.embeddings import Embeddings

Look = Callable[
    [str, Sequence[str]], PreflightResult
]  # what local attackers make of variants of a text
_LUCK = 0.05  # of an attacker that tries equal guesses in any order
_ATTEMPTS = 10  # when others release the same query at the same time


@dataclass(frozen=True, slots=True)
class PreflightBound:
    """What must hold before variants are sent, and what to do where it does not.

    The true query must not stand within the first `rank` guesses of any local attacker. Else the
    draw is thrown away and made `again`, `more` variants are added, or the query is refused; in
    the first two cases, too, after so many `tries`. Nothing of a draw that was thrown away is
    sent. But what is sent was chosen, which is outside of the formal guarantee: who knows the
    bound and the log can rule out what would not have passed.
    """

    rank: int
    action: Literal["again", "more", "refuse"] = "refuse"
    tries: int = 5


@dataclass(frozen=True, slots=True)
class PreparedVariants:
    """The variants to ask with, their entry in the ledger, and what was spent for them now.

    `reused` counts the variants that were there before, `marks` say what the words of each are.
    `answers` are what is remembered for them, in place of asking anybody.
    """

    variants: Variants
    entry: Entry
    spent: float
    reused: int
    checked: PreflightResult | None
    marks: tuple[Marks, ...]
    bits: float = 0.0
    group: GroupView | None = None
    answers: Ranking | None = None


class StickyVariants:
    """Draws variants of a query once, and writes them down before anybody may send them.

    The same query, in whatever order and case, has the same variants again. A query that is
    related to an earlier one (see `Ledger.related`) takes the draws of common words from there,
    but for words that the vectors do not know: each query has its own decoys and draws of these.
    A larger number of variants adds to those that there are; where there are more than asked for,
    all of them are used, as all of them are out.

    Notes
    -----
    Draws that come again tell nothing more about which word is behind them. They do tell that it
    is the same word as before, which no guarantee covers: who knows one query of a user recognises
    its words in related ones. The alternative, fresh draws each time, can be averaged.
    """

    def __init__(
        self,
        ledger: Ledger,
        limit: float | None = None,
        bound: PreflightBound | None = None,
        bits: float | None = None,
    ) -> None:
        self.ledger = ledger
        self.limit = limit
        self.bits = bits
        self.bound = bound

    def take(
        self,
        query: str,
        mechanism: TextMechanism,
        space: Embeddings | None,
        size: int,
        look: Look | None = None,
        line: EngineRoute = EngineRoute(),  # noqa: B008 - frozen
        **words: Unpack[WordOptions],
    ) -> PreparedVariants:
        """Return variants that are in the ledger, made now if need be.

        Raises
        ------
        BudgetError
            If the budget does not allow to draw them.
        RiskError
            If a local attacker comes too near; nothing is written down or sent then.
        """
        spelt = unicodedata.normalize("NFKC", query)  # as hashes are made
        _require_no_choice(self.bound, mechanism)
        for _ in range(_ATTEMPTS):
            try:
                source = source_of(spelt, mechanism, space, size, self.ledger, words, line)
                return self._take(source, size, look, line)
            except StaleError:  # use what the other one released
                continue
        raise LedgerError("The ledger is too busy with this query; try again.")

    def _take(
        self, source: PricedSource, size: int, look: Look | None, line: EngineRoute
    ) -> PreparedVariants:
        known = source.known
        before = len(known.variants)
        done = before >= size and not (isinstance(source, CoverGroups) and source.owing)
        price = None if done else source.price(known, size)
        if price is None:
            checked = look(source.asked, known.variants) if look else None
            if self.bound is not None and exceeds_bound(checked, self.bound):
                raise RiskError(_near(checked, self.bound))
            self.ledger.touch(known.number)
            return _taken(source, known, Price(), before, checked)
        self.ledger.check(price, self._limits)
        line.check()
        made, checked = _within(self.bound, source, size, look)
        number, spent = self.ledger.record(made, before, self._limits)
        return _taken(source, replace(made, number=number), spent, before, checked)

    def take_back(self, taken: PreparedVariants) -> bool:
        """Undo a release of which nothing was sent; False where that is not certain.

        Variants that were there before stay, and so does a release that was asked with again, or
        that a later one may have taken draws from.
        """
        if taken.reused:
            return False
        return self.ledger.take_back(taken.entry.number, Price(taken.spent, taken.bits))

    @property
    def _limits(self) -> Limits:
        return Limits(self.limit, self.bits)

    def note_plain(self, query: str) -> int:
        """Write down that a query goes in clear; its text is not kept."""
        return self.ledger.note_plain(query)

    def earlier(self, entry: Entry) -> float:
        """Return what other settings released of the same query: epsilon, added up."""
        return self.ledger.earlier(entry.query, entry.setting)

    def earlier_bits(self, entry: Entry) -> float:
        """Return what other settings leaked of the same query: bits, added up."""
        return self.ledger.earlier_bits(entry.query, entry.setting)

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        return self.ledger.budget(self._limits)


class UnrecordedVariants:
    """Draws variants anew each time, and neither reads nor writes a ledger: for experiments.

    With a seed the variants are marked as such, and no engine on a network takes them.
    """

    def __init__(self, rng: Randomness = None, bound: PreflightBound | None = None) -> None:
        self._rng = None if rng is None else generator(rng)
        self.bound = bound

    def take(
        self,
        query: str,
        mechanism: TextMechanism,
        space: Embeddings | None,
        size: int,
        look: Look | None = None,
        line: EngineRoute = EngineRoute(),  # noqa: B008 - frozen
        **words: Unpack[WordOptions],
    ) -> PreparedVariants:
        """Return variants that nobody knows of."""
        _require_no_choice(self.bound, mechanism)
        if self._rng is None:  # an engine on a network refuses what is drawn with a seed
            line.check()
        source = FreshDraws(query, mechanism, space, words, self._rng)
        made, checked = _within(self.bound, source, size, look)
        return _taken(source, made, Price(), 0, checked)

    def take_back(self, taken: PreparedVariants) -> bool:
        """Have nothing to undo."""
        del taken
        return True

    def note_plain(self, query: str) -> int:
        """Account for nothing."""
        del query
        return 0

    def earlier(self, entry: Entry) -> float:
        """Know of nothing."""
        del entry
        return 0.0

    def earlier_bits(self, entry: Entry) -> float:
        """Know of nothing."""
        del entry
        return 0.0

    def budget(self) -> Budget:
        """Count nothing."""
        return Budget("", 0.0, None)


Drawer = StickyVariants | UnrecordedVariants  # who draws for the desk, and accounts for it


def _within(
    bound: PreflightBound | None, source: Source, size: int, look: Look | None
) -> tuple[Entry, PreflightResult | None]:
    """Draw, look, and draw again or more as long as an attacker comes too near."""
    start, wanted = source.known, size
    tries = bound.tries if bound and bound.action != "refuse" else 1
    checked = None
    for count in range(1, tries + 1):
        made = source.extend(start, wanted)
        require_protection(source.release(made))
        checked = replace(look(source.asked, made.variants), draws=count) if look else None
        if bound is None:
            return made, checked
        if not exceeds_bound(checked, bound):
            return replace(made, chosen=True), checked
        if bound.action == "more" and wanted < MAX_SIZE:
            start, wanted = made, min(MAX_SIZE, wanted + max(1, size // 2))
        elif made.spent == start.spent:
            break  # everything was released before: there is nothing to draw again
    raise RiskError(_near(checked, bound))


def _taken(
    source: Source, entry: Entry, spent: Price, reused: int, checked: PreflightResult | None
) -> PreparedVariants:
    group = source.group(entry) if isinstance(source, CoverGroups | FreshDraws) else None
    marked = source.marked(entry)
    answers = source.answers if isinstance(source, CoverGroups) else None
    return PreparedVariants(
        source.release(entry), entry, spent.epsilon, reused, checked, marked, spent.bits, group,
        answers,
    )  # fmt: skip


def _require_no_choice(bound: PreflightBound | None, mechanism: TextMechanism) -> None:
    """Refuse to choose by the query what must not depend on it."""
    if bound is not None and isinstance(mechanism, QueryMechanism) and mechanism.whole:
        raise ParameterError(
            f"A bound on the rank chooses by the query what is sent, and {mechanism.name} sends"
            " the whole group of a query or nothing: do without --bound, or choose another"
            " mechanism. Nothing was sent."
        )


def exceeds_bound(checked: PreflightResult | None, bound: PreflightBound) -> bool:
    """Whether an attacker may find the query within the bound, or none could be asked.

    Where many guesses stand as high as the query it may come out within the bound by luck: that
    is accepted up to a chance of one in twenty.
    """
    if checked is None or not checked.standings:
        return True
    return any(one.within(bound.rank) > _LUCK for one in checked.standings)


def _near(checked: PreflightResult | None, bound: PreflightBound | None) -> str:
    if checked is None or not checked.standings:
        return (
            "No local attacker could be tried on the variants, so that the bound cannot be kept;"
            " nothing was sent. Choose another mechanism, or do without a bound."
        )
    guesses = bound.rank if bound else 1
    best = max(checked.standings, key=lambda one: one.within(guesses))
    level = f", level with {best.ties - 1:,} others" if best.ties > 1 else ""
    return (
        f"By the variants the local attacker {best.attacker} puts your query in place"
        f" {best.rank:,} of {best.candidates:,}{level}, which is within your bound; nothing was"
        " sent."
        " Choose a more private setting, or other words."
    )
