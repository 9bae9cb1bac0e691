"""The desk: what is sent, shown and refused in one search, from beginning to end."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import quote

import pytest
from tests.conftest import make_space
from tests.search.conftest import BagEncoder

from veil.core.errors import (
    BudgetError,
    EngineError,
    GateError,
    InputError,
    LedgerError,
    ParameterError,
    RiskError,
    UnprotectedError,
)
from veil.core.guarantee import Guarantee
from veil.core.types import Ranking, Released
from veil.proxy import private
from veil.proxy.answers import SearchDocument
from veil.proxy.desk import Desk
from veil.proxy.gate import Gate
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.mixer import Mixer
from veil.proxy.preflight import Preflight
from veil.proxy.private import PrivateDesk
from veil.proxy.results import SearchOutcome
from veil.proxy.settings import Configuration
from veil.proxy.sticky import PreflightBound, StickyVariants, UnrecordedVariants
from veil.search.engines.engine import Hit, ranking
from veil.search.rerank import Reranker
from veil.text.log import QueryLog
from veil.text.mechanisms.mechanism import QueryMechanism, QueryRelease
from veil.text.mechanisms.words.cmp import CMP as MECHANISM
from veil.text.mechanisms.words.kernels import NoiseKernel
from veil.text.vectors.embeddings import Embeddings

CMP = Configuration("cmp(epsilon=2)", 4)


class Web:
    """An engine on a network that answers each query with itself, and keeps what it was sent."""

    network = True

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.fault: Exception | None = None

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        self.seen += map(str, queries)
        if self.fault is not None:
            raise self.fault
        hits = [[Hit(f"https://x.example/{quote(q)}", 1.0, q, f"all about {q}")] for q in queries]
        return ranking(hits, k)


@pytest.fixture
def words() -> Embeddings:
    space = make_space(300, 6)
    return Embeddings(space.words, 0.2 * space.vectors, "words")


@pytest.fixture
def web() -> Web:
    return Web()


Open = Callable[..., PrivateDesk]


@pytest.fixture
def open_desk(tmp_path: Path, web: Web, words: Embeddings) -> Iterator[Open]:
    opened: list[PrivateDesk] = []

    def make(
        rules: str = "",
        budget: float | None = None,
        bound: PreflightBound | None = None,
        log: Sequence[str] = (),
    ) -> PrivateDesk:
        gate = Gate.empty()
        if rules:
            (tmp_path / "gate.toml").write_text(rules)
            gate = Gate.load(tmp_path / "gate.toml")
        ledger = Ledger(tmp_path / "veil")
        encoder = BagEncoder()
        desk = PrivateDesk(
            engine="web",
            untrusted=web,
            mixer=Mixer(web),
            vectors=lambda: words,
            ledger=ledger,
            drawer=StickyVariants(ledger, budget, bound),
            rules=gate,
            preflight=Preflight(QueryLog.of(log), encoder) if log else None,
            reranker=Reranker(encoder),
            k=10,
        )
        opened.append(desk)
        return desk

    yield make
    for value in opened:
        value.close()


@pytest.fixture
def query(words: Embeddings) -> str:
    return f"{words.words[3]} Quokkapox {words.words[9]}"


def test_it_is_a_desk(open_desk: Open) -> None:
    desk: Desk = open_desk()
    assert desk.network


def test_only_variants_are_sent_and_all_of_them_are_shown(
    open_desk: Open, web: Web, query: str
) -> None:
    outcome = open_desk().search(query, CMP)
    assert sorted(web.seen) == sorted({entry.text for entry in outcome.seen})
    assert len(outcome.seen) == 4
    assert outcome.sent == len(web.seen)
    assert not any("quokkapox" in text.lower() for text in web.seen)
    assert ["".join(mark.text for mark in entry.marks) for entry in outcome.seen] == [
        entry.text for entry in outcome.seen
    ]
    kinds = [mark.kind for entry in outcome.seen for mark in entry.marks if mark.kind != "layout"]
    assert kinds.count("unknown") >= 3  # one for each variant, but for a draw of a word of ours
    assert (outcome.spent, outcome.words, outcome.kept) == (2 * 3 * 4, 3, ())
    assert outcome.cost.epsilon == 24
    assert outcome.budget.spent == 24
    assert outcome.back is None
    assert outcome.results[0].link.startswith("https://x.example/")
    assert [item.rank for item in outcome.results] == list(range(1, len(outcome.results) + 1))


def test_asking_again_sends_nothing_at_all(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk()
    first = desk.search(query, CMP)
    texts = len(web.seen)
    again = desk.search(" ".join(reversed(query.upper().split())), CMP)
    assert len(web.seen) == texts
    assert again.sent == 0
    assert (again.spent, again.reused, again.release) == (0, 4, first.release)
    assert [item.text for item in again.seen] == [item.text for item in first.seen]


def test_after_a_restart_the_same_variants_are_sent(open_desk: Open, web: Web, query: str) -> None:
    open_desk().search(query, CMP)
    before = set(web.seen)
    web.seen.clear()
    again = open_desk().search(query, CMP)
    assert set(web.seen) == before
    assert (again.spent, again.reused) == (0, 4)


def test_moving_the_slider_tells_what_was_released_before(open_desk: Open, query: str) -> None:
    desk = open_desk()
    desk.search(query, CMP)
    outcome = desk.search(query, Configuration("cmp(epsilon=3)", 4))
    assert (outcome.spent, outcome.earlier) == (36, 24)


def test_a_spent_budget_refuses_and_sends_nothing(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk(budget=10.0)
    with pytest.raises(BudgetError):
        desk.search(query, CMP)
    assert web.seen == []
    assert desk.releases(9) == ()


REFUSE = '[[rule]]\nname = "x"\nwords = ["quokkapox"]\naction = "refuse"\n'
LET = '[[rule]]\nname = "x"\nall = true\naction = "pass"\n'


def test_the_gate_refuses(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk(REFUSE)
    for baseline in (False, True):
        with pytest.raises(GateError) as raised:
            desk.search(query, CMP, plain=baseline)
        assert "quokkapox" not in str(raised.value).lower()
    assert web.seen == []


def test_a_query_passes_in_clear_on_request_only(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk(LET)
    outcome = desk.search(query, CMP)
    assert outcome.gate.action == "pass"
    assert query not in web.seen
    clear = desk.search(query, CMP, plain=True)
    assert web.seen.count(query) == 1
    assert clear.plain
    assert clear.seen == ()
    assert desk.releases(1)[0].plain
    assert desk.releases(1)[0].variants == ()
    assert clear.cost.kind == "none"


def test_without_a_rule_nothing_passes_in_clear(open_desk: Open, web: Web, query: str) -> None:
    with pytest.raises(GateError, match="None of your rules allows sending this query"):
        open_desk().search(query, CMP, plain=True)
    assert web.seen == []


def test_an_engine_that_fails_leaves_the_release_in_the_ledger(
    open_desk: Open, web: Web, query: str
) -> None:
    desk = open_desk()
    web.fault = EngineError("The engine at x is down.")
    with pytest.raises(EngineError, match="count as released"):
        desk.search(query, CMP)
    (release,) = desk.releases(9)
    web.fault = None
    outcome = desk.search(query, CMP)
    assert (outcome.spent, outcome.release) == (0, release.number)


@pytest.mark.parametrize("plain", [False, True])
def test_a_ledger_that_fails_while_variants_are_out_hides_nothing(
    open_desk: Open, web: Web, query: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, ask = open_desk(LET), web.search

    def damaged(*_: object) -> None:
        raise LedgerError("The ledger is damaged.")

    def search(queries: Sequence[Released], k: int) -> Ranking:
        for name in ("earlier", "budget", "known", "touch"):
            monkeypatch.setattr(desk.ledger, name, damaged)
        return ask(queries, k)

    monkeypatch.setattr(web, "search", search)
    outcome = desk.search(query, CMP, plain=plain)
    assert web.seen
    assert (outcome.budget.spent, outcome.budget.unproved) == ((0, 1) if plain else (24, 0))


@pytest.mark.parametrize("sent", [1, None])
def test_what_failed_says_that_the_variants_count(
    open_desk: Open, web: Web, query: str, sent: int | None
) -> None:
    desk = open_desk()
    web.fault = EngineError("The engine at x is down.", sent=sent)
    with pytest.raises(EngineError, match="count in the budget, sent or not") as raised:
        desk.search(query, CMP)
    assert "Nothing was sent." not in str(raised.value)
    assert desk.budget().spent == 24
    loose = replace(desk, ledger=None, drawer=UnrecordedVariants())
    with pytest.raises(EngineError) as raised:
        loose.search(query, CMP)
    assert "budget" not in str(raised.value)


def test_nothing_counts_of_which_nothing_was_sent(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk()
    web.fault = EngineError("The engine at x is down.", sent=0)
    with pytest.raises(
        EngineError, match="Nothing was sent. They are not in the ledger"
    ) as raised:
        desk.search(query, CMP)
    assert raised.value.sent == 0
    assert (desk.budget().spent, desk.releases(10)) == (0, ())
    web.fault = None
    assert desk.search(query, CMP).budget.spent == 24
    web.fault = EngineError("The engine at x is down.", sent=0)  # what was sent before counts
    desk.mixer.forget()
    with pytest.raises(EngineError, match="count in the budget, sent or not"):
        desk.search(query, CMP)
    assert desk.budget().spent == 24
    assert len(desk.releases(10)) == 1


@pytest.mark.parametrize("plain", [False, True])
def test_an_engine_without_a_connection_costs_nothing(
    open_desk: Open, web: Web, query: str, plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise EngineError("The engine at x refuses connections.", sent=0)

    desk = open_desk(LET)
    monkeypatch.setattr(web, "require_reachable", refuse, raising=False)
    with pytest.raises(EngineError, match="Nothing was sent, and nothing was counted"):
        desk.search(query, CMP, plain=plain)
    assert (desk.budget().spent, desk.budget().unproved, desk.releases(10)) == (0, 0, ())
    assert web.seen == []
    monkeypatch.delattr(web, "require_reachable")
    desk.search(query, CMP)
    before, view = desk.budget(), len(web.seen)
    monkeypatch.setattr(web, "require_reachable", refuse, raising=False)
    with pytest.raises(EngineError, match="Nothing was sent, and nothing was counted"):
        desk.search(f"{query} {query}", CMP, plain=plain)  # the mechanism is ready now
    assert (desk.budget(), len(web.seen)) == (before, view)
    assert desk.search(query, CMP).reused == CMP.size  # the answers are remembered


def test_local_attackers_look_at_the_very_variants(
    open_desk: Open, words: Embeddings, query: str
) -> None:
    log = [f"{words.words[i]} {words.words[i + 1]}" for i in range(40)]
    desk = open_desk(log=log, bound=PreflightBound(0, "refuse"))  # a bound waits for the attackers
    outcome = desk.search(query, CMP)
    assert outcome.preflight is not None
    assert {item.attacker for item in outcome.preflight.standings} == {"inference", "bayes"}
    assert all(1 <= item.rank <= item.candidates == 41 for item in outcome.preflight.standings)


def test_a_bound_refuses_before_anything_is_sent(
    open_desk: Open, web: Web, words: Embeddings, query: str
) -> None:
    desk = open_desk(log=[words.words[1]], bound=PreflightBound(100, "again", tries=2))
    with pytest.raises(RiskError):
        desk.search(query, CMP)
    assert web.seen == []
    assert desk.budget().spent == 0


@pytest.mark.parametrize("size", [0, 1_001])
def test_the_number_of_variants_is_bounded(open_desk: Open, query: str, size: int) -> None:
    with pytest.raises(ParameterError, match="from 1 to 1,000"):
        open_desk().search(query, Configuration("cmp(epsilon=2)", size))


@pytest.mark.parametrize("bad", ["", "  ", "?", "x" * 10_001, "\ud800"])
def test_bad_queries_are_refused(open_desk: Open, web: Web, bad: str) -> None:
    desk = open_desk()
    with pytest.raises(InputError):
        desk.search(bad, CMP)
    assert web.seen == []


def test_many_queries_are_answered_in_order(open_desk: Open, words: Embeddings) -> None:
    desk = open_desk()
    queries = [f"{words.words[i]} {words.words[i + 20]}" for i in range(6)]
    outcome = desk.search_all(queries, CMP)
    assert [item.release for item in outcome] == [desk.search(q, CMP).release for q in queries]


def test_the_query_that_cannot_be_asked_is_named_by_its_number(
    open_desk: Open, words: Embeddings
) -> None:
    with pytest.raises(InputError, match=r"^Query 2 of 2: No word of the query"):
        open_desk().search_all([words.words[5], "?!"], CMP)


def test_any_error_is_told_with_its_number(
    open_desk: Open, words: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(*_: object) -> SearchOutcome:
        raise UnprotectedError(7)

    monkeypatch.setattr(PrivateDesk, "search", search)
    with pytest.raises(UnprotectedError, match=r"^Query 1 of 2: Text 7 has no word") as raised:
        open_desk().search_all(words.words[:2], CMP)
    assert raised.value.number == 7


def test_a_setting_is_made_ready_in_the_background(
    open_desk: Open, monkeypatch: pytest.MonkeyPatch, words: Embeddings
) -> None:
    bound = threading.Event()
    monkeypatch.setattr(MECHANISM, "bind", lambda *_: bound.set())
    desk = open_desk()
    desk.prepare(Configuration("no such(x=1)", 4))  # is told by the search
    desk.prepare(CMP)
    assert bound.wait(120)


def test_the_setting_is_kept(open_desk: Open) -> None:
    desk = open_desk()
    assert desk.chosen() is None
    desk.choose(Configuration("vickrey(epsilon=2.5, t=0.75, noise='cmp')", 3))
    desk.choose(CMP)
    assert open_desk().chosen() == CMP


def test_forgetting_makes_the_next_search_draw_anew(open_desk: Open, web: Web, query: str) -> None:
    desk = open_desk()
    first = desk.search(query, CMP)
    assert desk.forget(first.release)
    second = desk.search(query, CMP)
    assert second.spent == first.spent
    assert second.sent > 0
    assert desk.budget().spent == 2 * first.spent


def test_a_mechanism_is_prepared_once_however_many_search(
    open_desk: Open, words: Embeddings, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, bind = open_desk(), MECHANISM.bind
    computed: list[float] = []
    survivor: list[bool] = []

    def slow(self: MECHANISM, space: Embeddings) -> NoiseKernel:
        if not survivor:
            computed.append(self.epsilon)
            time.sleep(0.1)
            survivor.append(True)
        return bind(self, space)

    monkeypatch.setattr(MECHANISM, "bind", slow)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: desk.search(words.words[i], CMP), range(8)))
    assert computed == [2.0]


class Group(QueryMechanism):
    """Sends the same texts for every query; what that tells is bounded in bits."""

    name: ClassVar[str] = "group"
    paper: ClassVar[str] = ""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee("leakage", bits=2.0, unit="query")

    def bind(self) -> "Group":
        return self

    def scramble(self, text: str, size: int) -> QueryRelease:
        return QueryRelease(tuple(f"cover {i}" for i in range(size)), (), len(text.split()))


def test_no_vectors_are_opened_and_no_epsilon_is_told_where_there_is_none(
    open_desk: Open, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(private, "_mechanism", lambda spec: Group())
    desk = replace(open_desk(), vectors=lambda: pytest.fail("vectors were opened"))
    outcome = desk.search("knee pain", Configuration("group", 3))
    assert sorted(web.seen) == ["cover 0", "cover 1", "cover 2"]
    assert (outcome.cost.kind, outcome.cost.bits, outcome.budget.unproved) == ("leakage", 6.0, 1)
    assert desk.ready(Configuration("group", 3)) is None
    messages = SearchDocument.of(
        outcome, network=True, standing="elsewhere", engine="web", variants=[]
    )
    assert (messages.cost.epsilon, messages.cost.says) == (None, str(outcome.cost))
    with pytest.raises(BudgetError, match="must have a bound that a budget can count"):
        open_desk(budget=1e6).search("skin", Configuration("group", 3))
