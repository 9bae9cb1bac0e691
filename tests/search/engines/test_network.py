"""Queries go out once, shuffled and bounded; what fails is asked again, or is a gap."""

import itertools
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from tests.search.engines.recording import RecordingServer, Wire

import veil
from veil.core.errors import EngineError, ParameterError, TrustError
from veil.core.types import Ranking, Released, Seeded
from veil.search.engines.engine import Hit
from veil.search.engines.network import remote as _network
from veil.search.engines.network.opensearch import OpenSearch
from veil.search.engines.network.remote import (
    GIVE_UP,
    GIVE_UP_EARLY,
    LONGEST_PAUSE,
    NoAnswer,
    fan_out,
)


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


class Asked:
    """An engine of one's own: notes what it is asked and answers with the query itself."""

    def __init__(self, fails: Callable[[str, int], NoAnswer | None] = lambda _q, _n: None) -> None:
        self.order: list[str] = []
        self.peak = self.now = 0
        self.rest = 0.0
        self._fails = fails
        self._lock = threading.Lock()

    def __call__(self, query: Released, k: int) -> list[Hit]:
        with self._lock:
            self.order.append(query)
            count = self.order.count(query)
            self.now += 1
            self.peak = max(self.peak, self.now)
        time.sleep(self.rest)
        with self._lock:
            self.now -= 1
        if (failure := self._fails(query, count)) is not None:
            raise failure
        return [Hit(f"{query}-{place}", -float(place)) for place in range(k + 1)]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note the pauses instead of making them."""
    noted: list[float] = []

    def pause(stop: threading.Event, seconds: float) -> bool:
        noted.append(seconds)
        return stop.is_set()

    monkeypatch.setattr(_network, "_pause", pause)
    return noted


def run(queries: Sequence[Released], asked: Asked, k: int = 2, attempts: int = 3) -> Ranking:
    return fan_out(queries, k, asked, concurrency=1, attempts=attempts)


def test_answers_stand_where_the_queries_stood() -> None:
    queries = released(*(f"q{number}" for number in range(40)))
    answers = fan_out(queries, 2, Asked(), concurrency=8, attempts=1)
    assert [answers.list(row) for row in range(40)] == [(f"{q}-0", f"{q}-1") for q in queries]
    assert answers.gaps == ("",) * 40


def test_a_query_is_sent_once_and_answered_in_all_its_places() -> None:
    asked = Asked()
    answers = run(released("a", "b", "a", "a"), asked)
    assert sorted(asked.order) == ["a", "b"]
    assert [answers.list(row)[0] for row in range(4)] == ["a-0", "b-0", "a-0", "a-0"]


def test_every_order_is_as_likely_as_any_other() -> None:
    queries = released("a", "b", "c")
    orders: Counter[tuple[str, ...]] = Counter()
    for _ in range(600):
        asked = Asked()
        run(queries, asked)
        orders[tuple(asked.order)] += 1
    assert set(orders) == set(itertools.permutations("abc"))
    assert all(40 < count < 160 for count in orders.values())  # 100 each, more than 6 sigma away


def test_the_order_does_not_follow_the_seeds_of_experiments() -> None:
    queries = released(*map(str, range(30)))
    orders = []
    for _ in range(2):
        np.random.seed(0)  # noqa: NPY002 - the seed must not matter
        asked = Asked()
        run(queries, asked)
        orders.append(asked.order)
    assert orders[0] != orders[1]


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_than_so_many_at_a_time(concurrency: int) -> None:
    asked = Asked()
    asked.rest = 0.02
    fan_out(released(*map(str, range(20))), 1, asked, concurrency=concurrency, attempts=1)
    assert min(2, concurrency) <= asked.peak <= concurrency


def test_blank_queries_and_what_is_not_text_are_not_sent() -> None:
    asked = Asked()
    answers = run(released("a", "", " \t\n", "b\ud800", "c\0"), asked)
    assert asked.order == ["a"]
    assert [bool(gap) for gap in answers.gaps] == [False, True, True, True, True]
    assert all(gap.endswith("not sent.") for gap in answers.gaps[1:])
    assert len(answers.list(1)) == 0
    with pytest.raises(EngineError, match="blank"):
        run(released("", " "), asked)


def test_no_queries_have_no_answers() -> None:
    answers = run([], Asked())
    assert answers.index.shape == (0, 2)
    assert answers.gaps == ()


def test_failures_that_may_pass_are_asked_again_later_each_time(pauses: list[float]) -> None:
    asked = Asked(lambda _, count: NoAnswer("No.", again=True) if count < 4 else None)
    answers = run(released("a"), asked, attempts=4)
    assert asked.order == ["a"] * 4
    assert answers.list(0) == ("a-0", "a-1")
    assert len(pauses) == 3
    for number, pause in enumerate(pauses):
        assert 0.5 * 2**number <= pause <= 0.75 * 2**number


def test_pauses_are_not_all_the_same(pauses: list[float]) -> None:
    asked = Asked(lambda _, count: NoAnswer("No.", again=True) if count < 2 else None)
    run(released(*map(str, range(12))), asked)
    assert len(set(pauses)) == 12


def test_an_engine_that_asks_to_wait_is_given_the_time(pauses: list[float]) -> None:
    asked = Asked(lambda _, count: NoAnswer("No.", again=True, wait=20) if count < 2 else None)
    run(released("a"), asked)
    assert len(pauses) == 1
    assert 20 <= pauses[0] <= 30


def test_an_engine_that_asks_to_wait_too_long_is_left_alone(pauses: list[float]) -> None:
    asked = Asked(lambda *_: NoAnswer("Slow down.", again=True, wait=LONGEST_PAUSE + 1))
    with pytest.raises(EngineError, match="Slow down."):
        run(released("a"), asked)
    assert asked.order == ["a"]
    assert pauses == []


def test_no_pause_is_longer_than_the_longest(pauses: list[float]) -> None:
    asked = Asked(lambda *_: NoAnswer("No.", again=True, wait=LONGEST_PAUSE))
    with pytest.raises(EngineError):
        run(released("a"), asked, attempts=10)
    assert pauses == [LONGEST_PAUSE] * 9


def test_failures_that_stay_are_not_asked_again(pauses: list[float]) -> None:
    asked = Asked(lambda *_: NoAnswer("Never."))
    with pytest.raises(EngineError, match="^Never.$"):
        run(released("a"), asked)
    assert asked.order == ["a"]
    assert pauses == []


def test_some_answers_are_better_than_none(pauses: list[float]) -> None:
    asked = Asked(lambda query, _: NoAnswer("Not that one.") if query in "bd" else None)
    answers = run(released("a", "b", "c", "d"), asked)
    assert answers.gaps == ("", "Not that one.", "", "Not that one.")
    assert [answers.list(row)[:1] for row in range(4)] == [("a-0",), (), ("c-0",), ()]


def test_without_any_answer_the_commonest_reason_is_raised(pauses: list[float]) -> None:
    asked = Asked(lambda query, _: NoAnswer("Rare." if query == "a" else "Common."))
    with pytest.raises(EngineError, match="^Common.$"):
        run(released("a", "b", "c"), asked)


def test_an_empty_list_is_an_answer() -> None:
    answers = fan_out(released("a"), 3, lambda _q, _k: [], concurrency=1, attempts=1)
    assert answers.list(0) == ()
    assert answers.gaps == ("",)


def test_after_many_failures_in_a_row_the_rest_is_not_sent(pauses: list[float]) -> None:
    asked = Asked(lambda *_: NoAnswer("Down."))
    with pytest.raises(EngineError):
        run(released(*map(str, range(1000))), asked, attempts=1)
    assert GIVE_UP_EARLY <= len(asked.order) < GIVE_UP


def test_faults_of_the_program_are_not_taken_for_failures_of_the_engine() -> None:
    def broken(query: Released, k: int) -> list[Hit]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fan_out(released("a", "b"), 1, broken, concurrency=2, attempts=3)


@pytest.mark.parametrize("bad", ["a", Seeded("a"), b"a", None])
def test_only_private_releases_pass(bad: object) -> None:
    asked = Asked()
    with pytest.raises(TrustError):
        run([*released("b"), bad], asked)  # type: ignore[list-item]
    assert asked.order == []


def test_a_single_string_is_not_a_list_of_queries() -> None:
    with pytest.raises(TrustError):
        run(veil.declassify("abc"), Asked())  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [0, -1, 2.5, True, 10_001])
def test_k_is_a_number_of_items(k: int) -> None:
    asked = Asked()
    with pytest.raises(ParameterError):
        run(released("a"), asked, k)
    assert asked.order == []


def test_k_may_come_from_an_array() -> None:
    kinds = []

    def ask(query: Released, k: int) -> list[Hit]:
        kinds.append(type(k))
        return [Hit("1")]

    fan_out(released("a"), np.int64(2), ask, concurrency=1, attempts=1)  # type: ignore[arg-type]
    assert kinds == [int]


def test_an_engine_on_a_network_takes_no_collection() -> None:
    engine = OpenSearch(url="http://localhost:9200", index="docs")
    assert engine.open() is engine
    wanted = "^The opensearch engine searches its own documents. Remove the collection.$"
    with pytest.raises(ParameterError, match=wanted):
        engine.open(object())


PROGRAM = """
import sys, veil
from veil.search.engines.network.opensearch import OpenSearch
engine = OpenSearch(url=sys.argv[1], index="docs", timeout=300, attempts=10)
engine.search([veil.declassify(str(number)) for number in range(20)], 3)
"""


def test_an_interrupt_waits_for_nobody() -> None:
    with RecordingServer(Wire.wait) as server:
        command = [sys.executable, "-c", PROGRAM, server.url]
        with subprocess.Popen(command, stderr=subprocess.PIPE) as program:
            end = time.monotonic() + 120
            while server.connections < 4 and time.monotonic() < end:
                time.sleep(0.05)
            program.send_signal(signal.SIGINT)
            try:
                _, error = program.communicate(timeout=120)
            finally:
                program.kill()
    assert program.returncode not in (0, -signal.SIGKILL)
    assert b"KeyboardInterrupt" in error
    assert server.connections == 4
