"""Private search: gate, variants, pre-flight check, sending and re-ranking."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from veil.core.errors import (
    EngineError,
    GateError,
    ParameterError,
    RiskError,
    TrustError,
    VeilError,
    with_message,
)
from veil.core.guarantee import Guarantee
from veil.core.parallel import BACKGROUND
from veil.core.types import Engine, Ranking, Released
from veil.corpus.collection import Collection
from veil.corpus.document_file import OpenedDocument, open_document
from veil.data.fetch import Report, no_progress
from veil.data.memo import private_caches
from veil.proxy.gate import Gate
from veil.proxy.ledger.ledger import PLAIN, Ledger
from veil.proxy.mixer import CountingMixer, Mixer
from veil.proxy.preflight import Preflight
from veil.proxy.results import ResultItem, SearchOutcome, items_of, plain_result, seen_of
from veil.proxy.settings import MAX_SIZE, Budget, Configuration, Decision, PreflightResult, Release
from veil.proxy.source import EngineRoute
from veil.proxy.sticky import Drawer, Look, PreparedVariants
from veil.search.engines.engine import leaves, require_reachable
from veil.search.locality import Locality, collection_name, locality
from veil.search.pipeline import SearchResult, ask, came_back, check_query, plain_depth
from veil.search.rerank import Reranker
from veil.text.mechanisms import catalogue
from veil.text.mechanisms.mechanism import TextMechanism, WordMechanism
from veil.text.mechanisms.queries.cover import Cover
from veil.text.vectors.embeddings import Embeddings


def located(items: tuple[ResultItem, ...], engine: Engine) -> tuple[ResultItem, ...]:
    """Return the results with the paths of their files, if the engine searches local files."""
    collection = _searched(engine)
    files = None if collection is None else collection.files
    if files is None:
        return items
    pairs = ((item, files.file_of(item.id)) for item in items)
    return tuple(
        item if file is None else replace(item, path=str(files.root / file[0].path))
        for item, file in pairs
    )


def open_result(name: str, engine: Engine) -> OpenedDocument | None:
    """Open the file of a result by its id; None if it has no file."""
    collection = _searched(engine)
    return None if collection is None else open_document(collection, name)


def _searched(engine: Engine) -> Collection | None:
    """Return the collection of a local engine; a remote one names no files here."""
    collection = getattr(engine, "collection", None)
    return collection if isinstance(collection, Collection) and not leaves(engine) else None


_AT_ONCE = 4  # concurrent searches of a batch, so that their variants are mixed
_MOST_BOUND = 1_000  # mechanisms remembered as prepared
_DRAWN = (
    "The variants are in the ledger and count in the budget, sent or not. Searching again sends"
    " the same ones at no further cost."
)
_TAKEN_BACK = "They are not in the ledger and do not count in the budget."
_IN_CLEAR = "The query itself was sent at your request: the engine knows it."
_NOTHING_LEFT = "Nothing was released: engine and documents are on this machine."


@dataclass(frozen=True, eq=False)
class PrivateDesk:
    """A private search with all its parts; `veil.proxy.opening.open_desk` builds one.

    Attributes
    ----------
    engine
        Displayed name of the engine, without secrets.
    untrusted
        The engine itself; `mixer` sends to it.
    vectors
        Opens the word vectors for mechanisms that need them.
    drawer
        Samples variants and accounts for them.
    ledger
        Past releases, or None for searches that are not recorded.
    preflight
        Local attackers, or None if there is no log for them.
    reranker
        Orders results by the true query; None fuses the engine's lists by rank only.
    k
        Number of results requested for each variant.
    patient
        Whether a search waits until the local attackers are ready; a rank limit always waits.
    """

    engine: str
    untrusted: Engine
    mixer: Mixer
    vectors: Callable[[], Embeddings]
    drawer: Drawer
    ledger: Ledger | None
    rules: Gate
    preflight: Preflight | None
    reranker: Reranker | None
    k: int
    patient: bool = False
    _bound: set[str] = field(default_factory=set, repr=False)
    _binding: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def network(self) -> bool:
        """Whether variants leave the machine."""
        return leaves(self.untrusted)

    @property
    def standing(self) -> Locality:
        """Locality of the engine."""
        return locality(self.untrusted)

    @property
    def collection(self) -> str:
        """Name of the searched documents on this machine, or ""."""
        return collection_name(self.untrusted)

    @property
    def space(self) -> Embeddings:
        """The word vectors."""
        return self.vectors()

    def ready(self, setting: Configuration, report: Report = no_progress) -> Embeddings | None:
        """Prepare a setting, so that its first search need not wait.

        Returns the word vectors if the mechanism needs them.
        """
        mechanism, space = self._maker(setting, report)
        if self.preflight is not None:
            self.preflight.prepare(mechanism, space, report)
        return space

    def prepare(self, setting: Configuration) -> None:
        """Prepare a setting in the background; the first search raises any error."""

        def work() -> None:
            with suppress(VeilError):
                mechanism, space = self._maker(setting)
                if self.preflight is not None:
                    self.preflight.start(mechanism, space)

        threading.Thread(target=work, daemon=True, name=BACKGROUND).start()

    def close(self) -> None:
        """Stop sending and close the ledger."""
        self.mixer.close()
        if self.ledger is not None:
            self.ledger.close()

    def gate(self, query: str) -> Decision:
        """Return what the rules decide about a query; nothing is sent."""
        return self.rules.decide(check_query(query))

    @private_caches()
    def search(self, query: str, setting: Configuration, *, plain: bool = False) -> SearchOutcome:
        """Search privately; `plain` sends the query itself, if a rule allows it.

        The time it takes to sample does not reveal which words were searched before.
        """
        decision = self.gate(query)
        if decision.action == "refuse":
            raise GateError(decision.reason)
        if plain:
            return self._in_clear(query, setting, decision)
        if setting.mechanism not in self._bound and self.ledger is not None:
            require_reachable(self.untrusted)  # before minutes of preparation
        mechanism, space = self._maker(setting)
        check = self._look(mechanism, space)
        line = EngineRoute(
            self.network,
            partial(self.mixer.recall, k=self.k),
            partial(require_reachable, self.untrusted),
        )
        prepared = self.drawer.take(
            query, mechanism, space, setting.size, check, line, **setting.words
        )
        # Read the ledger before sending: an error afterwards would hide that variants were sent.
        earlier, budget = self.drawer.earlier(prepared.entry), self.budget()
        earlier_bits = self.drawer.earlier_bits(prepared.entry)
        counted = CountingMixer(self.mixer, prepared.answers)
        ranking, answers = self._ask(query, prepared, counted)
        result = SearchResult(ranking, prepared.variants, answers)
        depth = 0 if self.network else plain_depth(answers)
        return SearchOutcome(
            results=located(items_of(ranking), self.untrusted),
            seen=seen_of(prepared.variants[0], prepared.marks, answers),
            setting=replace(setting, mechanism=str(mechanism)),
            release=prepared.entry.number,
            words=prepared.variants.protected[0],
            kept=prepared.variants.kept[0],
            cost=prepared.variants.cost,
            spent=prepared.spent,
            earlier=earlier,
            reused=prepared.reused,
            shared=prepared.entry.shared,
            sent=counted.sent,
            budget=budget,
            gate=decision,
            preflight=prepared.checked,
            back=self._back(query, result),
            back_deep=self._back(query, result, deep=True),
            depth=depth,
            ledger=self.ledger is not None,
            seeded=prepared.variants.seeded,
            answers=answers,
            bits=prepared.bits,
            earlier_bits=earlier_bits,
            cover=prepared.group,
        )

    @private_caches()
    def search_here(self, query: str) -> SearchOutcome:
        """Search the user's own documents on this machine with the query itself.

        Nothing is recorded or counted, because nothing leaves the machine.

        Raises
        ------
        TrustError
            If the engine is remote, or does not search the user's own documents.
        """
        decision = self.gate(query)
        if self.standing != "own":
            raise TrustError(
                "Only your own documents on this machine can be searched with the query itself;"
                " nothing was sent. Search privately."
            )
        if decision.action == "refuse":
            raise GateError(decision.reason)
        budget = self.budget()
        ranking, _ = ask(query, [Released(query)], self.mixer, self.k, self.reranker)
        cost = Guarantee("leakage", bits=0.0, unit="query", caveat=_NOTHING_LEFT)
        outcome = plain_result(ranking, Configuration(PLAIN, 0), cost, budget, decision)
        return replace(outcome, here=True, results=located(outcome.results, self.untrusted))

    def opened(self, name: str) -> OpenedDocument | None:
        """Open the user's file of a result; None if it has no file."""
        return open_result(name, self.untrusted)

    def search_all(self, queries: Sequence[str], setting: Configuration) -> list[SearchOutcome]:
        """Search privately for several queries, a few at a time, with the variants of these mixed.

        An error names the first query that failed by its number. What was sent for the others is
        in the ledger, so searching again sends nothing new.
        """
        for query in queries:
            check_query(query)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            futures = [pool.submit(self.search, query, setting) for query in queries]
        outcomes = []
        for number, future in enumerate(futures, start=1):
            try:
                outcomes.append(future.result())
            except VeilError as error:
                raise with_message(error, f"Query {number} of {len(queries)}: {error}") from None
        return outcomes

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        return self.drawer.budget()

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        """Return ledger entries, newest first; with `before`, only those with a lower number."""
        return () if self.ledger is None else self.ledger.releases(count, before)

    def choose(self, setting: Configuration) -> None:
        """Save the setting the user chose on the page."""
        if self.ledger is not None:
            self.ledger.choose("setting", f"{setting.size} {setting.mechanism}")

    def chosen(self) -> Configuration | None:
        """Return the setting the user chose last, or None."""
        choice = None if self.ledger is None else self.ledger.choice("setting")
        size, _, mechanism = (choice or "").partition(" ")
        return Configuration(mechanism, int(size)) if size.isdecimal() and len(size) < 9 else None

    def forget(self, number: int) -> bool:
        """Delete a ledger entry; False if there is no such entry."""
        self.mixer.forget()
        return self.ledger is not None and self.ledger.forget(number)

    def _ask(
        self, query: str, prepared: PreparedVariants, counted: CountingMixer
    ) -> tuple[Ranking, Ranking]:
        """Send the variants; an error also states whether they are in the ledger.

        A release is taken back if none of it was sent.
        """
        try:
            return ask(query, prepared.variants[0], counted, self.k, self.reranker)
        except EngineError as error:
            if self.ledger is None:
                raise
            if error.sent == 0 and self.drawer.take_back(prepared):
                raise EngineError(f"{error} {_TAKEN_BACK}", sent=0) from None
            raise EngineError(f"{error} {_DRAWN}", sent=error.sent) from None

    def _back(
        self, query: str, result: SearchResult, *, deep: bool = False
    ) -> tuple[int, int] | None:
        """Compare with the plain search; None if the engine would have to see the query."""
        if self.network:
            return None
        overlap = came_back(query, result, self.mixer, reranker=self.reranker, deep=deep)
        return overlap or (0, 0)

    def _in_clear(self, query: str, setting: Configuration, decision: Decision) -> SearchOutcome:
        if decision.action != "pass":
            raise GateError(
                "None of your rules allows sending this query itself; nothing was sent. Search"
                " without plain sending, or change the rules."
            )
        require_reachable(self.untrusted)
        number, budget = self.drawer.note_plain(query), self.budget()
        counted = CountingMixer(self.mixer)
        ranking, _ = ask(query, [Released(query)], counted, self.k, self.reranker)
        cost = Guarantee("none", unit="query", caveat=_IN_CLEAR)
        outcome = plain_result(ranking, Configuration(PLAIN, setting.size), cost, budget, decision)
        recorded = self.ledger is not None
        return replace(outcome, release=number, sent=counted.sent, ledger=recorded)

    def _maker(
        self, setting: Configuration, report: Report = no_progress
    ) -> tuple[TextMechanism, Embeddings | None]:
        if not 1 <= setting.size <= MAX_SIZE:
            raise ParameterError(
                f"The number of variants must be from 1 to {MAX_SIZE:,}. Got {setting.size:,}"
                " instead."
            )
        mechanism = _mechanism(setting.mechanism)
        space = self.space if "vectors" in mechanism.needs else None
        if setting.mechanism not in self._bound:
            with self._binding:  # slow work is done once, not by every waiting thread
                if isinstance(mechanism, WordMechanism):
                    mechanism.bind(self.space)
                elif isinstance(mechanism, Cover):
                    mechanism.open(report)
                if len(self._bound) < _MOST_BOUND:
                    self._bound.add(setting.mechanism)
        return mechanism, space

    def _look(self, mechanism: TextMechanism, space: Embeddings | None) -> Look | None:
        """Return a function that runs the local attackers; with a rank limit it waits for them."""
        preflight, wait = self.preflight, self.patient or self.drawer.bound is not None
        if preflight is None:
            return None
        preflight.start(mechanism, space)

        def check(query: str, variants: Sequence[str]) -> PreflightResult:
            try:
                return preflight.check(query, variants, mechanism, space, wait=wait)
            except VeilError as error:
                raise RiskError(
                    f"The variants cannot be checked; nothing was sent: {error}"
                ) from None

        return check


@lru_cache(100)  # parsing a spec searches all installed packages
def _mechanism(spec: str) -> TextMechanism:
    return catalogue.mechanism(spec)
