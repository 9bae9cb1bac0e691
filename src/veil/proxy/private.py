"""The desk: gate, variants, pre-flight, sending, and putting in order, one after the other."""

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
    """Give results the path of the file that they are of, where the engine searches files."""
    collection = _searched(engine)
    files = None if collection is None else collection.files
    if files is None:
        return items
    found = ((item, files.file_of(item.id)) for item in items)
    return tuple(
        item if file is None else replace(item, path=str(files.root / file[0].path))
        for item, file in found
    )


def open_result(name: str, engine: Engine) -> OpenedDocument | None:
    """Open the file of a result by its id; None if there is none."""
    collection = _searched(engine)
    return None if collection is None else open_document(collection, name)


def _searched(engine: Engine) -> Collection | None:
    """Return the collection of an engine on this machine; one elsewhere names no files here."""
    found = getattr(engine, "collection", None)
    return found if isinstance(found, Collection) and not leaves(engine) else None


_AT_ONCE = 4  # searches of a batch, so that their variants are mixed
_MOST_BOUND = 1_000  # mechanisms of which it is remembered that they were used before
_DRAWN = (
    "The variants are in the ledger and count in the budget, sent or not: to ask again sends the"
    " same ones, at no further cost."
)
_TAKEN_BACK = "They are not in the ledger, and do not count in the budget."
_IN_CLEAR = "The query was sent in clear, on request: the engine knows it."
_NOTHING_LEFT = "Nothing was released: engine and documents are on this machine."


@dataclass(frozen=True, eq=False)
class PrivateDesk:
    """All the parts of a private search; `veil.proxy.opening.open_desk` puts them together.

    Attributes
    ----------
    engine
        Name of the engine that is shown, without anything secret.
    untrusted
        The engine itself; `mixer` sends to it.
    vectors
        Opens the word vectors, for mechanisms that need them.
    drawer
        Draws variants, and accounts for them.
    ledger
        What was released before, or None for searches that are not written down.
    preflight
        Local attackers, or None where there is no log for them.
    reranker
        Orders results by the true query, or None to fuse the engine's lists by ranks alone.
    k
        Items asked for with each variant.
    patient
        Whether a search waits until the local attackers are prepared; with a bound it does.
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
        """What the engine is to the user."""
        return locality(self.untrusted)

    @property
    def collection(self) -> str:
        """Name of the documents on this machine that are searched, or nothing."""
        return collection_name(self.untrusted)

    @property
    def space(self) -> Embeddings:
        """Word vectors."""
        return self.vectors()

    def ready(self, setting: Configuration, report: Report = no_progress) -> Embeddings | None:
        """Do here and now what the first search with a setting would wait for.

        Returns the word vectors, where the mechanism needs them.
        """
        mechanism, space = self._maker(setting, report)
        if self.preflight is not None:
            self.preflight.prepare(mechanism, space, report)
        return space

    def prepare(self, setting: Configuration) -> None:
        """Do, in the background, what the first search with a setting would wait for.

        What goes wrong there is told by that search.
        """

        def work() -> None:
            with suppress(VeilError):
                mechanism, space = self._maker(setting)
                if self.preflight is not None:
                    self.preflight.start(mechanism, space)

        threading.Thread(target=work, daemon=True, name=BACKGROUND).start()

    def close(self) -> None:
        """Stop sending, and close the ledger."""
        self.mixer.close()
        if self.ledger is not None:
            self.ledger.close()

    def gate(self, query: str) -> Decision:
        """Say what the rules say of a query; nothing is sent."""
        return self.rules.decide(check_query(query))

    @private_caches()
    def search(self, query: str, setting: Configuration, *, plain: bool = False) -> SearchOutcome:
        """Search privately; `plain` sends the query itself, if a rule lets it pass.

        The time that it takes to draw does not tell which words were asked for before.
        """
        decision = self.gate(query)
        if decision.action == "refuse":
            raise GateError(decision.reason)
        if plain:
            return self._in_clear(query, setting, decision)
        if setting.mechanism not in self._bound and self.ledger is not None:
            require_reachable(self.untrusted)  # before what may take minutes
        mechanism, space = self._maker(setting)
        look = self._look(mechanism, space)
        line = EngineRoute(
            self.network,
            partial(self.mixer.recall, k=self.k),
            partial(require_reachable, self.untrusted),
        )
        taken = self.drawer.take(
            query, mechanism, space, setting.size, look, line, **setting.words
        )
        # Nothing is read of the ledger once variants are out: a fault then would hide that.
        earlier, budget = self.drawer.earlier(taken.entry), self.budget()
        earlier_bits = self.drawer.earlier_bits(taken.entry)
        counted = CountingMixer(self.mixer, taken.answers)
        ranking, answers = self._ask(query, taken, counted)
        result = SearchResult(ranking, taken.variants, answers)
        depth = 0 if self.network else plain_depth(answers)
        return SearchOutcome(
            results=located(items_of(ranking), self.untrusted),
            seen=seen_of(taken.variants[0], taken.marks, answers),
            setting=replace(setting, mechanism=str(mechanism)),
            release=taken.entry.number,
            words=taken.variants.protected[0],
            kept=taken.variants.kept[0],
            cost=taken.variants.cost,
            spent=taken.spent,
            earlier=earlier,
            reused=taken.reused,
            shared=taken.entry.shared,
            sent=counted.sent,
            budget=budget,
            gate=decision,
            preflight=taken.checked,
            back=self._back(query, result),
            back_deep=self._back(query, result, deep=True),
            depth=depth,
            ledger=self.ledger is not None,
            seeded=taken.variants.seeded,
            answers=answers,
            bits=taken.bits,
            earlier_bits=earlier_bits,
            cover=taken.group,
        )

    @private_caches()
    def search_here(self, query: str) -> SearchOutcome:
        """Search the user's own documents, on this machine, for the query as it is.

        Nothing of it is written down or counted, as nothing leaves.

        Raises
        ------
        TrustError
            If the engine is not here, or not over documents of the user's own.
        """
        decision = self.gate(query)
        if self.standing != "own":
            raise TrustError(
                "Only documents of your own, on this machine, are searched for a query as it is;"
                " nothing was sent. Search privately."
            )
        if decision.action == "refuse":
            raise GateError(decision.reason)
        budget = self.budget()
        ranking, _ = ask(query, [Released(query)], self.mixer, self.k, self.reranker)
        cost = Guarantee("leakage", bits=0.0, unit="query", caveat=_NOTHING_LEFT)
        found = plain_result(ranking, Configuration(PLAIN, 0), cost, budget, decision)
        return replace(found, here=True, results=located(found.results, self.untrusted))

    def opened(self, name: str) -> OpenedDocument | None:
        """Open the file of the user's own that a result is of; None if the index has none."""
        return open_result(name, self.untrusted)

    def search_all(self, queries: Sequence[str], setting: Configuration) -> list[SearchOutcome]:
        """Search privately for many queries; the variants of some are mixed on their way.

        The first query that cannot be asked is told by its number. What was sent for others then
        is in the ledger, so that asking again sends nothing new.
        """
        for query in queries:
            check_query(query)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            waiting = [pool.submit(self.search, query, setting) for query in queries]
        found = []
        for number, one in enumerate(waiting, start=1):
            try:
                found.append(one.result())
            except VeilError as error:
                raise with_message(error, f"Query {number} of {len(queries)}: {error}") from None
        return found

    def budget(self) -> Budget:
        """Return what was spent in the last 24 hours, and what is left."""
        return self.drawer.budget()

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        """Return entries of the ledger, newest first, from `before` on."""
        return () if self.ledger is None else self.ledger.releases(count, before)

    def choose(self, setting: Configuration) -> None:
        """Keep the setting that the user chose on the page."""
        if self.ledger is not None:
            self.ledger.choose("setting", f"{setting.size} {setting.mechanism}")

    def chosen(self) -> Configuration | None:
        """Return the setting that the user chose last, or None."""
        chosen = None if self.ledger is None else self.ledger.choice("setting")
        size, _, mechanism = (chosen or "").partition(" ")
        return Configuration(mechanism, int(size)) if size.isdecimal() and len(size) < 9 else None

    def forget(self, number: int) -> bool:
        """Forget an entry; False if there is none."""
        self.mixer.forget()
        return self.ledger is not None and self.ledger.forget(number)

    def _ask(
        self, query: str, taken: PreparedVariants, counted: CountingMixer
    ) -> tuple[Ranking, Ranking]:
        """Ask with variants; where that fails, also say what became of them in the ledger.

        Nothing counts of which nothing was sent.
        """
        try:
            return ask(query, taken.variants[0], counted, self.k, self.reranker)
        except EngineError as error:
            if self.ledger is None:
                raise
            if error.sent == 0 and self.drawer.take_back(taken):
                raise EngineError(f"{error} {_TAKEN_BACK}", sent=0) from None
            raise EngineError(f"{error} {_DRAWN}", sent=error.sent) from None

    def _back(
        self, query: str, result: SearchResult, *, deep: bool = False
    ) -> tuple[int, int] | None:
        """Compare with the plain search; None where the engine would have to see the query."""
        if self.network:
            return None
        found = came_back(query, result, self.mixer, reranker=self.reranker, deep=deep)
        return found or (0, 0)

    def _in_clear(self, query: str, setting: Configuration, decision: Decision) -> SearchOutcome:
        if decision.action != "pass":
            raise GateError(
                "No rule of yours lets this query pass in clear; nothing was sent. Search without"
                " asking for that, or change the rules."
            )
        require_reachable(self.untrusted)
        number, budget = self.drawer.note_plain(query), self.budget()
        counted = CountingMixer(self.mixer)
        ranking, _ = ask(query, [Released(query)], counted, self.k, self.reranker)
        cost = Guarantee("none", unit="query", caveat=_IN_CLEAR)
        found = plain_result(ranking, Configuration(PLAIN, setting.size), cost, budget, decision)
        noted = self.ledger is not None
        return replace(found, release=number, sent=counted.sent, ledger=noted)

    def _maker(
        self, setting: Configuration, report: Report = no_progress
    ) -> tuple[TextMechanism, Embeddings | None]:
        if not 1 <= setting.size <= MAX_SIZE:
            raise ParameterError(f"The number of variants must be from 1 to {MAX_SIZE:,}.")
        mechanism = _mechanism(setting.mechanism)
        space = self.space if "vectors" in mechanism.needs else None
        if setting.mechanism not in self._bound:
            with self._binding:  # what takes long is then done once, not by all who wait for it
                if isinstance(mechanism, WordMechanism):
                    mechanism.bind(self.space)
                elif isinstance(mechanism, Cover):
                    mechanism.open(report)
                if len(self._bound) < _MOST_BOUND:
                    self._bound.add(setting.mechanism)
        return mechanism, space

    def _look(self, mechanism: TextMechanism, space: Embeddings | None) -> Look | None:
        """Return what shows variants to the local attackers; a bound waits until they can."""
        watch, wait = self.preflight, self.patient or self.drawer.bound is not None
        if watch is None:
            return None
        watch.start(mechanism, space)

        def look(asked: str, variants: Sequence[str]) -> PreflightResult:
            try:
                return watch.check(asked, variants, mechanism, space, wait=wait)
            except VeilError as error:
                raise RiskError(
                    f"The variants cannot be checked, and nothing was sent: {error}"
                ) from None

        return look


@lru_cache(100)  # a mechanism is looked for among all packages that are installed
def _mechanism(spec: str) -> TextMechanism:
    return catalogue.mechanism(spec)
