"""Sticky variants: released variants of a query are reused, and only missing ones are sampled."""

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
]  # runs the local attackers on variants of a text
_LUCK = 0.05  # accepted chance of an attacker that tries tied guesses in random order
_ATTEMPTS = 10  # retries when the same query is released concurrently


@dataclass(frozen=True, slots=True)
class PreflightBound:
    """A limit on the attacker's rank that must hold before variants are sent.

    The true query must not be within the first `rank` guesses of any local attacker. Otherwise the
    sample is discarded and repeated (`again`), variants are added (`more`), or the query is
    refused (`refuse`); it is also refused after `tries` attempts. Nothing of a discarded sample is
    sent. But what is sent was selected, which is outside the formal guarantee: an attacker who
    knows the limit and the log can rule out what would not have passed.
    """

    rank: int
    action: Literal["again", "more", "refuse"] = "refuse"
    tries: int = 5


@dataclass(frozen=True, slots=True)
class PreparedVariants:
    """Variants ready to be sent, their ledger entry, and what was spent on them now.

    `reused` counts the variants from earlier releases; `marks` has the origin of each piece.
    `answers` are remembered answers that make sending unnecessary.
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
    """Samples variants of a query once, and records them before they can be sent.

    The same query, in any order and case, gets the same variants again. A query related to an
    earlier one (see `Ledger.related`) reuses the samples of common words, except for
    out-of-vocabulary words, for which each query has separate decoys and samples. Requesting more
    variants adds to the existing ones. If there are more than requested, all are used, because all
    have been released.

    Notes
    -----
    Repeated samples reveal nothing more about the word behind them. They do reveal that the word
    is the same as before, which no guarantee covers: an attacker who knows one query of a user
    recognises its words in related ones. The alternative, fresh samples each time, can be
    averaged.
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
        """Return variants that are in the ledger, sampled now if necessary.

        Raises
        ------
        BudgetError
            If the budget does not allow sampling them.
        RiskError
            If a local attacker ranks the query too high; nothing is recorded or sent then.
        """
        spelt = unicodedata.normalize("NFKC", query)  # the form that is hashed
        _require_no_choice(self.bound, mechanism)
        for _ in range(_ATTEMPTS):
            try:
                source = source_of(spelt, mechanism, space, size, self.ledger, words, line)
                return self._take(source, size, look, line)
            except StaleError:  # use what was released concurrently
                continue
        raise LedgerError("The ledger is too busy with this query. Try again.")

    def _take(
        self, source: PricedSource, size: int, look: Look | None, line: EngineRoute
    ) -> PreparedVariants:
        entry = source.known
        before = len(entry.variants)
        done = before >= size and not (isinstance(source, CoverGroups) and source.owing)
        price = None if done else source.price(entry, size)
        if price is None:
            checked = look(source.asked, entry.variants) if look else None
            if self.bound is not None and exceeds_bound(checked, self.bound):
                raise RiskError(_near(checked, self.bound))
            self.ledger.touch(entry.number)
            return _taken(source, entry, Price(), before, checked)
        self.ledger.check(price, self._limits)
        line.check()
        extended, checked = _within(self.bound, source, size, look)
        number, spent = self.ledger.record(extended, before, self._limits)
        return _taken(source, replace(extended, number=number), spent, before, checked)

    def take_back(self, taken: PreparedVariants) -> bool:
        """Undo a release if certainly none of it was sent; return whether it was undone.

        Variants from earlier releases are not undone. Nor is a release that was used again, or
        whose samples a later one may have reused.
        """
        if taken.reused:
            return False
        return self.ledger.take_back(taken.entry.number, Price(taken.spent, taken.bits))

    @property
    def _limits(self) -> Limits:
        return Limits(self.limit, self.bits)

    def note_plain(self, query: str) -> int:
        """Record that the query itself is sent; its text is not stored."""
        return self.ledger.note_plain(query)

    def earlier(self, entry: Entry) -> float:
        """Return the total epsilon of other settings' releases of the query."""
        return self.ledger.earlier(entry.query, entry.setting)

    def earlier_bits(self, entry: Entry) -> float:
        """Return the total leakage of other settings' releases of the query, in bits."""
        return self.ledger.earlier_bits(entry.query, entry.setting)

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        return self.ledger.budget(self._limits)


class UnrecordedVariants:
    """Samples variants afresh each time, without a ledger, for experiments.

    With a seed, the variants are marked as seeded, and no remote engine accepts them.
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
        """Return variants that are recorded nowhere."""
        _require_no_choice(self.bound, mechanism)
        if self._rng is None:  # a remote engine rejects seeded variants
            line.check()
        source = FreshDraws(query, mechanism, space, words, self._rng)
        entry, checked = _within(self.bound, source, size, look)
        return _taken(source, entry, Price(), 0, checked)

    def take_back(self, taken: PreparedVariants) -> bool:
        """Return True: there is nothing to undo."""
        del taken
        return True

    def note_plain(self, query: str) -> int:
        """Return 0: nothing is recorded."""
        del query
        return 0

    def earlier(self, entry: Entry) -> float:
        """Return 0: nothing is recorded."""
        del entry
        return 0.0

    def earlier_bits(self, entry: Entry) -> float:
        """Return 0: nothing is recorded."""
        del entry
        return 0.0

    def budget(self) -> Budget:
        """Return an empty budget."""
        return Budget("", 0.0, None)


Drawer = StickyVariants | UnrecordedVariants


def _within(
    bound: PreflightBound | None, source: Source, size: int, look: Look | None
) -> tuple[Entry, PreflightResult | None]:
    """Sample and check variants, repeatedly if an attacker ranks the query too high."""
    start, count = source.known, size
    tries = bound.tries if bound and bound.action != "refuse" else 1
    checked = None
    for attempt in range(1, tries + 1):
        entry = source.extend(start, count)
        require_protection(source.release(entry))
        checked = replace(look(source.asked, entry.variants), draws=attempt) if look else None
        if bound is None:
            return entry, checked
        if not exceeds_bound(checked, bound):
            return replace(entry, chosen=True), checked
        if bound.action == "more" and count < MAX_SIZE:
            start, count = entry, min(MAX_SIZE, count + max(1, size // 2))
        elif entry.spent == start.spent:
            break  # everything was released before, so nothing can be resampled
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
    """Reject a rank limit for mechanisms that must not depend on the query."""
    if bound is not None and isinstance(mechanism, QueryMechanism) and mechanism.whole:
        raise ParameterError(
            f"A rank limit selects variants by the query, but {mechanism.name} sends the whole"
            " group of a query or nothing. Leave out --bound, or choose another mechanism."
            " Nothing was sent."
        )


def exceeds_bound(checked: PreflightResult | None, bound: PreflightBound) -> bool:
    """Return whether an attacker may find the query within the limit, or none could be run.

    Tied guesses may put the query within the limit by luck; this is accepted up to a
    probability of one in twenty.
    """
    if checked is None or not checked.standings:
        return True
    return any(rank.within(bound.rank) > _LUCK for rank in checked.standings)


def _near(checked: PreflightResult | None, bound: PreflightBound | None) -> str:
    if checked is None or not checked.standings:
        return (
            "No local attacker could be run on the variants, so the rank limit cannot be"
            " checked; nothing was sent. Choose another mechanism, or leave out the limit."
        )
    guesses = bound.rank if bound else 1
    best = max(checked.standings, key=lambda rank: rank.within(guesses))
    level = f", level with {best.ties - 1:,} others" if best.ties > 1 else ""
    return (
        f"From the variants, the local attacker {best.attacker} ranks your query {best.rank:,}"
        f" of {best.candidates:,}{level}, which is within your limit; nothing was sent. Choose a"
        " more private setting, or other words."
    )
