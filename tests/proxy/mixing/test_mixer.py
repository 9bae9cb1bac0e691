"""Variants of all searches are mixed, sent once, given up, remembered; nothing else is sent."""

import itertools
import json
import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.search.engines.recording import RecordingServer, Request, http, reply

import veil
from veil.core.errors import EngineError, ParameterError, TrustError
from veil.core.types import Ranking, Released, Seeded
from veil.proxy import mixer as mixer_module
from veil.proxy.mixer import WORKERS, EngineAnswer, Mixer
from veil.search.engines.engine import Hit, check_call, ranking
from veil.search.engines.local.replay import Recorded
from veil.search.engines.network.opensearch import OpenSearch
from veil.search.engines.network.remote import GIVE_UP, GIVE_UP_EARLY, NoAnswer, fan_out
from veil.testing import check_engine


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


def numbered(letter: str, count: int) -> list[Released]:
    return released(*(f"{letter}{number}" for number in range(count)))


class Fake:
    """An engine on a network: notes what it is asked, and answers with the query itself."""

    network = True

    def __init__(self, fails: Callable[[str], Exception | None] = lambda _: None) -> None:
        self.order: list[str] = []
        self.threads: set[str] = set()
        self.go = threading.Event()  # cleared to let everyone wait
        self.go.set()
        self.peak = self.now = 0
        self._fails = fails
        self._lock = threading.Lock()

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        check_call(queries, k, network=True)
        (query,) = queries
        with self._lock:
            self.order.append(query)
            self.threads.add(threading.current_thread().name)
            self.now += 1
            self.peak = max(self.peak, self.now)
        assert self.go.wait(120)
        with self._lock:
            self.now -= 1
        if (failure := self._fails(query)) is not None:
            raise failure
        return ranking([[Hit(f"{query}-{i}", -float(i), query, "text") for i in range(k + 1)]], k)


class Wide(Fake):
    """One that says how many requests it takes at a time."""

    concurrency = 2


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.001)


@contextmanager
def background(mixer: Mixer, *asked: Sequence[Released], k: int = 2) -> Iterator[list["Later"]]:
    """Ask in threads, and wait for them at the end."""
    with ThreadPoolExecutor(len(asked)) as threads:
        yield [threads.submit(mixer.ask, queries, k) for queries in asked]


Later = Future[EngineAnswer]


def same(one: Ranking, other: Ranking) -> bool:
    assert (one.items, one.texts, one.titles) == (other.items, other.texts, other.titles)
    assert np.array_equal(one.index, other.index)
    assert np.array_equal(one.scores, other.scores)
    return one.gaps == other.gaps


def test_it_is_an_engine() -> None:
    with Mixer(Fake()) as mixer:
        check_engine(mixer, ["a", "b"])


def test_answers_stand_where_the_queries_stood() -> None:
    queries = [*numbered("q", 30), *numbered("q", 3)]
    engine = Fake()
    with Mixer(engine) as mixer:
        answered = mixer.ask(queries, 2)
    answers = answered.ranking
    assert [answers.list(row) for row in range(33)] == [(f"{q}-0", f"{q}-1") for q in queries]
    assert answers.gaps == ("",) * 33
    assert sorted(engine.order) == sorted(set(queries))
    assert answered.sent == 30


HITS = st.builds(
    Hit,
    st.sampled_from(["x", "y", "z", "w"]),
    st.none() | st.floats(-3, 3) | st.just(math.inf),
    st.sampled_from(["", "title"]),
    st.sampled_from(["", "text"]),
)
ANSWERS = st.fixed_dictionaries(
    {text: st.lists(HITS, max_size=6) | st.sampled_from(["Down.", "Busy."]) for text in "abcd"}
)


@settings(max_examples=60, deadline=None)
@given(ANSWERS, st.lists(st.sampled_from("abcd \0"), max_size=8), st.integers(1, 4))
def test_it_answers_as_the_engine_itself_would(
    answers: dict[str, list[Hit] | str], texts: list[str], k: int
) -> None:
    def ask(query: Released, k: int) -> list[Hit]:
        answer = answers[query]
        if isinstance(answer, str):
            raise NoAnswer(answer)
        return answer

    class Other:
        network = True

        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            return fan_out(queries, k, ask, concurrency=2, attempts=1)

    def outcome(engine: Other | Mixer) -> Ranking | str:
        try:
            return engine.search(released(*texts), k)
        except EngineError as error:
            return str(error)

    with Mixer(Other()) as mixer:
        for _ in range(2):  # the second time from memory
            mixed, baseline = outcome(mixer), outcome(Other())
            if isinstance(mixed, str) or isinstance(baseline, str):
                assert mixed == baseline
            else:
                assert same(mixed, baseline)


def test_an_engine_on_this_machine_is_asked_once_with_everything() -> None:
    calls: list[list[Released]] = []

    class Local(Recorded):
        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            calls.append(list(queries))
            return super().search(queries, k)

    local = Local("here", {text: (Hit(text, 1.0), Hit("z", 0.5)) for text in "abc"})
    queries = released("b", "a", "unknown", "b", "")
    with Mixer(local, spread=600) as mixer:
        assert not mixer.network
        answered = mixer.ask(queries, 4)
        assert same(answered.ranking, Recorded("here", local.answers).search(queries, 4))
        assert mixer.search([Seeded("a")], 1).list(0) == ("a",)  # it does not leave
        assert mixer._threads == []
    assert calls == [queries, ["a"]]
    assert answered.sent == 4


def test_one_search_at_a_time_on_this_machine() -> None:
    class Local(Fake):
        network = False

    engine = Local()
    engine.go.clear()
    mixer = Mixer(engine)
    with background(mixer, released("a"), released("b")) as searches:
        until(lambda: bool(engine.order))
        time.sleep(0.02)
        engine.go.set()
    assert [search.result().sent for search in searches] == [1, 1]
    assert engine.peak == 1


def test_the_collection_of_the_engine_is_found_where_there_is_one() -> None:
    class Local(Fake):
        collection = "documents"

    assert Mixer(Local()).collection == "documents"
    assert getattr(Mixer(Fake()), "collection", None) is None


def test_every_order_is_as_likely_as_any_other() -> None:
    engine = Fake()
    orders: Counter[tuple[str, ...]] = Counter()
    with Mixer(engine, remember=0, workers=1) as mixer:
        for _ in range(600):
            engine.order.clear()
            mixer.ask(released("a", "b", "c"), 1)
            orders[tuple(engine.order)] += 1
    assert set(orders) == set(itertools.permutations("abc"))
    assert all(40 < count < 160 for count in orders.values())  # 100 each, more than 6 sigma away


@pytest.mark.parametrize("spread", [0.0, 0.2])
def test_variants_of_different_searches_are_mixed(spread: float) -> None:
    engine = Fake()
    engine.go.clear()
    mixer = Mixer(engine, workers=1, spread=spread)
    with mixer, background(mixer, released("x"), numbered("a", 20), numbered("b", 20)):
        until(lambda: len(mixer._pool) == 40 and len(engine.order) == 1)
        engine.go.set()
    letters = [text[0] for text in engine.order if text != "x"]
    changes = sum(item != other for item, other in itertools.pairwise(letters))
    assert sorted(letters) == ["a"] * 20 + ["b"] * 20
    assert changes >= 5  # 20 on average; fewer than 5 once in ten million times


class Clock:
    """Time that stands still, or passes only while the threads of a mixer have nothing to do."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.runs = False
        end = time.monotonic() + 300  # should something hang, nobody waits for ever
        monkeypatch.setattr(
            mixer_module, "_now", lambda: self.now if time.monotonic() < end else math.inf
        )
        monkeypatch.setattr(mixer_module, "_idle", self._idle)
        monkeypatch.setattr(mixer_module, "_PARTING", 0.0)

    def leap(self, mixer: Mixer, seconds: float) -> None:
        with mixer._lock:
            self.now += seconds
            for job in mixer._flights.values():
                for search in job.searches:
                    search.over.notify()

    def _idle(self, news: threading.Condition, seconds: float) -> None:
        if self.runs and math.isfinite(seconds):
            self.now += seconds
        news.wait(0.001)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_variants_are_spread_over_the_time_given(clock: Clock) -> None:
    times: list[float] = []

    class Watching(Fake):
        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            times.append(clock.now)
            clock.leap(mixer, 0)  # whoever waits looks at the clock again
            return super().search(queries, k)

    clock.runs = True
    with Mixer(Watching(), spread=300, timeout=0.01, remember=0, workers=1) as mixer:
        answered = mixer.ask(numbered("a", 30), 1)
    assert answered.sent == 30
    assert not any(answered.ranking.gaps)  # the time-out begins when the spread is over
    assert min(times) >= 1000
    assert max(times) <= 1300
    assert max(times) - min(times) > 100  # not so once in 10^12 times


def test_the_same_variant_of_two_searches_is_sent_once() -> None:
    engine = Fake()
    engine.go.clear()
    mixer = Mixer(engine, remember=0)
    with mixer, background(mixer, released("a", "b"), released("c", "a")) as searches:
        until(lambda: len(mixer._flights) == 3 and len(mixer._flights["a", 2].searches) == 2)
        engine.go.set()
    item, other = (search.result() for search in searches)
    assert sorted(engine.order) == ["a", "b", "c"]
    assert item.sent + other.sent == 3
    assert item.ranking.list(0) == other.ranking.list(1) == ("a-0", "a-1")


def test_a_shared_variant_stays_when_one_of_two_searches_ends(clock: Clock) -> None:
    engine = Fake()
    engine.go.clear()
    mixer = Mixer(engine, workers=1)
    with mixer, background(mixer, released("x")):
        until(lambda: engine.order == ["x"])
        with background(mixer, released("a", "b")) as hasty:
            until(lambda: len(mixer._pool) == 2)
            mixer._timeout = 200.0
            with background(mixer, released("a")) as patient:
                until(lambda: len(mixer._flights["a", 2].searches) == 2)
                clock.leap(mixer, 121)
                until(lambda: len(mixer._pool) == 1)
                engine.go.set()
    with pytest.raises(EngineError, match="^The query was not sent: its turn did not come"):
        hasty[0].result()
    assert patient[0].result().sent == 1
    assert engine.order == ["x", "a"]


def test_asking_again_sends_nothing() -> None:
    engine = Fake()
    with Mixer(engine) as mixer:
        first = mixer.ask(released("a", "b"), 2)
        again = mixer.ask(released("b", "a"), 2)
        assert (first.sent, again.sent, len(engine.order)) == (2, 0, 2)
        assert again.ranking.list(1) == first.ranking.list(0) == ("a-0", "a-1")
        assert again.ranking.titles == ("b", "b", "a", "a")
        assert mixer.ask(released("a"), 3).sent == 1
        assert mixer.ask(released("a", "b", "c"), 2).sent == 1
        mixer.forget()
        assert mixer.ask(released("a", "b"), 2).sent == 2


def test_memory_fades_by_itself(clock: Clock) -> None:
    clock.runs = True
    with Mixer(Fake(), remember=50, workers=1) as mixer:
        mixer.ask(released("a", "b"), 2)
        until(lambda: len(mixer._answers) == 0)
        assert clock.now == 1050
        assert mixer.ask(released("a"), 2).sent == 1


def test_what_is_under_way_is_forgotten_too() -> None:
    engine = Fake()
    engine.go.clear()
    mixer = Mixer(engine)
    with mixer, background(mixer, released("a")) as searches:
        until(lambda: bool(engine.order))
        mixer.forget()
        engine.go.set()
        assert searches[0].result().sent == 1
        assert len(mixer._answers) == 0


def test_failures_are_not_remembered() -> None:
    engine = Fake(lambda query: NoAnswer("No.") if engine.order.count(query) < 2 else None)
    with Mixer(engine) as mixer:
        with pytest.raises(EngineError, match="^No.$"):
            mixer.ask(released("a"), 2)
        assert mixer.ask(released("a"), 2).ranking.list(0) == ("a-0", "a-1")


def test_some_answers_are_better_than_none() -> None:
    engine = Fake(lambda query: EngineError("Not that one.") if query in "bd" else None)
    with Mixer(engine) as mixer:
        answered = mixer.ask(released("a", "b", "c", "d", " "), 2)
    blank = "The query is blank, so it was not sent."
    assert answered.ranking.gaps == ("", "Not that one.", "", "Not that one.", blank)
    assert [answered.ranking.list(row)[:1] for row in (0, 1, 4)] == [("a-0",), (), ()]
    assert answered.sent == 4


@pytest.mark.parametrize(("gap", "told"), [("Gone.", "Gone."), ("", "The engine gave no answer.")])
def test_gaps_of_the_engine_are_told(gap: str, told: str) -> None:
    class Gaps(Fake):
        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            if not gap:
                raise EngineError
            return ranking([[]], k, [gap])

    with Mixer(Gaps()) as mixer, pytest.raises(EngineError, match=f"^{told}$"):
        mixer.ask(released("a"), 2)


def test_an_engine_that_never_answers_sees_few_variants() -> None:
    engine = Fake(lambda _: EngineError("Down."))
    with Mixer(engine, workers=1) as mixer:
        with pytest.raises(EngineError, match="^Down.$"):  # not that most were not sent
            mixer.ask(numbered("a", 1000), 1)
        assert len(mixer._pool) == len(mixer._flights) == 0
    assert len(engine.order) == GIVE_UP_EARLY


def test_an_engine_that_answers_no_more_sees_few_more() -> None:
    engine = Fake(lambda _: EngineError("Down.") if len(engine.order) > 3 else None)
    with Mixer(engine, workers=1) as mixer:
        answered = mixer.ask(numbered("a", 60), 1)
    assert answered.sent == len(engine.order) == 3 + GIVE_UP
    gaps = Counter(answered.ranking.gaps)
    unsent = "The query was not sent: too many before it failed."
    assert gaps == {"": 3, "Down.": GIVE_UP, unsent: 60 - 3 - GIVE_UP}


def test_failures_now_and_then_are_no_reason_to_give_up() -> None:
    engine = Fake(lambda _: EngineError("Busy.") if len(engine.order) % 3 else None)
    with Mixer(engine, workers=1) as mixer:
        answered = mixer.ask(numbered("a", 60), 1)
    assert Counter(answered.ranking.gaps) == {"": 20, "Busy.": 40}


def test_giving_one_search_up_leaves_the_others_alone() -> None:
    engine = Fake(lambda query: EngineError("Bad.") if query.startswith("bad") else None)
    engine.go.clear()
    mixer = Mixer(engine, workers=1)
    with mixer, background(mixer, released("x"), numbered("bad", 30), numbered("a", 30)) as found:
        until(lambda: len(mixer._pool) == 60)
        engine.go.set()
    with pytest.raises(EngineError, match="^Bad.$"):
        found[1].result()
    assert not any(found[2].result().ranking.gaps)
    assert len(engine.order) == 1 + GIVE_UP_EARLY + 30


def test_a_search_ends_in_time_and_what_comes_later_is_remembered(clock: Clock) -> None:
    engine = Fake()
    mixer = Mixer(engine, workers=1, timeout=30)
    with mixer:
        mixer.ask(released("a"), 2)
        engine.go.clear()
        with background(mixer, released("a", "b", "c")) as searches:
            until(lambda: len(engine.order) == 2)
            clock.leap(mixer, 29.9)
            assert len(mixer._pool) == 1
            clock.leap(mixer, 0.1)
            answered = searches[0].result(timeout=120)
        assert (answered.sent, len(mixer._pool)) == (1, 0)
        assert answered.ranking.gaps[0] == ""
        assert sorted(answered.ranking.gaps[1:]) == [
            "The query was not sent: its turn did not come within 30 s.",
            "The query was sent but not answered within 30 s.",
        ]
        engine.go.set()
        until(lambda: len(mixer._answers) == 2)
        assert mixer.ask(released("a", "b", "c"), 2).sent == 1
    assert sorted(engine.order) == ["a", "b", "c"]


def test_after_closing_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixer_module, "_PARTING", 0.0)
    engine = Fake()
    mixer = Mixer(engine, workers=1)
    mixer.ask(released("a"), 2)
    engine.go.clear()
    with background(mixer, released("a", "b", "c")) as searches:
        until(lambda: len(engine.order) == 2)
        mixer.close()
        answered = searches[0].result(timeout=120)  # while the engine still thinks
        assert answered.ranking.gaps[0] == ""
        assert sorted(answered.ranking.gaps[1:]) == [
            "The query was not sent: the program was stopped.",
            "The query was sent but not answered before the program was stopped.",
        ]
        with pytest.raises(EngineError, match="^The search is closed"):
            mixer.ask(released("a"), 2)
        engine.go.set()
    for thread in mixer._threads:
        thread.join(120)
        assert not thread.is_alive()
    assert len(engine.order) == 2
    assert len(mixer._answers) == len(mixer._flights) == 0


def test_closing_ends_idle_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixer_module, "_PARTING", 120.0)
    with Mixer(Fake(), spread=0.01) as mixer:
        mixer.ask(numbered("a", 20), 1)
    assert len(mixer._threads) == WORKERS
    assert not any(thread.is_alive() for thread in mixer._threads)


@pytest.mark.parametrize("fault", [ZeroDivisionError(), ParameterError("Set it."), SystemExit()])
def test_faults_are_raised_where_the_search_is_and_end_it(fault: BaseException) -> None:
    class Broken(Fake):
        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            super().search(queries, k)
            if queries[0].startswith("bad"):
                raise fault
            return super().search(queries, k)

    engine = Broken()
    with Mixer(engine, workers=1) as mixer:
        with pytest.raises(type(fault)) as raised:
            mixer.ask(numbered("bad", 20), 1)
        assert raised.value is fault
        assert len(engine.order) == 1
        assert mixer.ask(released("a"), 1).sent == 1  # the thread has survived


def test_a_fault_is_raised_before_the_others_have_answered() -> None:
    engine = Fake(lambda query: ZeroDivisionError() if query == "bad" else None)
    began, content = threading.Event(), threading.Event()
    search = engine.search

    def slow(queries: Sequence[Released], k: int) -> Ranking:
        if queries[0] == "bad":
            began.wait(120)
        else:
            began.set()
            content.wait(120)
        return search(queries, k)

    engine.search = slow  # type: ignore[method-assign]
    with Mixer(engine, workers=2) as mixer:
        with pytest.raises(ZeroDivisionError):
            mixer.ask(released("a", "bad"), 1)
        assert engine.order == ["bad"]
        content.set()


@pytest.mark.parametrize("rows", [0, 2])
def test_an_engine_that_answers_another_question_is_at_fault(rows: int) -> None:
    class Odd(Fake):
        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            return ranking([[]] * rows, k)

    with Mixer(Odd()) as mixer, pytest.raises(ValueError, match="unpack"):
        mixer.ask(released("a"), 2)


def test_an_interrupted_search_sends_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Fake()
    engine.go.clear()
    mixer = Mixer(engine, workers=1)

    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mixer, "_await", interrupted)
    with mixer:
        with pytest.raises(KeyboardInterrupt):
            mixer.ask(numbered("a", 20), 1)
        assert len(mixer._pool) == 0
        engine.go.set()
        until(lambda: not mixer._flights)
    assert len(engine.order) <= 1


@pytest.mark.parametrize("bad", ["a", Seeded("a"), b"a", None])
def test_only_private_releases_pass(bad: object) -> None:
    engine = Fake()
    with Mixer(engine) as mixer:
        with pytest.raises(TrustError):
            mixer.ask([*released("b"), bad], 1)  # type: ignore[list-item]
        with pytest.raises(ParameterError):
            mixer.ask(released("b"), 0)
        assert mixer._threads == []
    assert engine.order == []


def test_no_queries_have_no_answers() -> None:
    with Mixer(Fake()) as mixer:
        answered = mixer.ask([], 3)
    assert (answered.sent, answered.ranking.index.shape) == (0, (0, 3))


@pytest.mark.parametrize(
    ("engine", "workers", "wanted"),
    [(Fake, None, WORKERS), (Wide, None, 2), (Wide, 3, 3)],
)
def test_no_more_variants_are_under_way_than_the_engine_takes(
    engine: type[Fake], workers: int | None, wanted: int
) -> None:
    selected = engine()
    selected.go.clear()
    mixer = Mixer(selected, workers=workers)
    with mixer, background(mixer, numbered("a", 20)):
        until(lambda: selected.now == wanted)
        selected.go.set()
    assert selected.peak == len(mixer._threads) == wanted


def test_fifty_searches_at_once_need_few_threads_and_leave_nothing_behind() -> None:
    engine = Fake()
    request = [[*numbered(f"{number}-", 18), *released("x", "y")] for number in range(50)]
    with Mixer(engine, remember=0) as mixer:
        with background(mixer, *request, k=3) as searches:
            outcomes = [search.result() for search in searches]
        for queries, answered in zip(request, outcomes, strict=True):
            assert [answered.ranking.list(row)[0] for row in range(20)] == [
                f"{query}-0" for query in queries
            ]
        assert len(mixer._threads) == WORKERS >= engine.peak
        assert len(mixer._pool) == len(mixer._flights) == len(mixer._answers) == 0
    assert sum(answered.sent for answered in outcomes) == len(engine.order)
    assert all(re.fullmatch(r"veil-mixer-\d+", name) for name in engine.threads)


def test_a_thread_is_started_when_there_is_something_to_do() -> None:
    with Mixer(Fake()) as mixer:
        assert mixer._threads == []
        mixer.ask(released("a"), 1)
        assert len(mixer._threads) == 1


@pytest.mark.parametrize(
    "choice",
    [
        {"spread": -1},
        {"spread": math.nan},
        {"spread": 601},
        {"remember": math.inf},
        {"remember": True},
        {"timeout": 0},
        {"timeout": "5"},
        {"workers": 0},
        {"workers": 65},
        {"workers": 2.0},
        {"workers": True},
    ],
)
def test_parameters_are_checked(choice: dict[str, float]) -> None:
    (name,) = choice
    with pytest.raises(ParameterError, match=f"^The '{name}' argument must be "):
        Mixer(Fake(), **choice)  # type: ignore[arg-type]


def test_nothing_but_the_variant_differs_on_the_wire() -> None:
    requests: list[Request] = []

    def answer(request: Request) -> bytes:
        requests.append(request)
        body = {"hits": {"hits": [{"_id": str(len(requests)), "_score": 1.0}]}}
        return reply(body, 200, "application/json", "Set-Cookie: id=1", "ETag: x")

    variants = numbered("variant-", 10)
    with RecordingServer(http(answer)) as server:
        engine = OpenSearch(url=server.url, index="docs", concurrency=2)
        with Mixer(engine) as mixer:
            mixer.ask(variants, 5)
            mixer.ask(variants, 5)
    assert server.connections == 10
    assert server.peak <= 2
    texts = [json.loads(request.body)["query"]["multi_match"].pop("query") for request in requests]
    assert sorted(texts) == sorted(variants)
    assert len({(request.line, request.headers) for request in requests}) == 1
    assert (
        len(
            {
                request.body.replace(text.encode(), b"")
                for request, text in zip(requests, texts, strict=True)
            }
        )
        == 1
    )
