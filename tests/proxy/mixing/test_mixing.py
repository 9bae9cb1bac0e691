"""What waits to be sent, and what is remembered: without threads, at times given by hand."""

from collections import Counter

import pytest

import veil
from veil.proxy import mixer
from veil.proxy.mixer import AnswerCache, SendJob, WaitingPool
from veil.search.engines.engine import Hit


def job(text: str) -> SendJob:
    return SendJob(veil.declassify(text), 3)


def take_all(pool: WaitingPool, now: float) -> list[SendJob]:
    return list(iter(lambda: pool.take(now), None))


def test_each_job_that_is_due_is_as_likely_as_the_others() -> None:
    first: Counter[str] = Counter()
    for _ in range(900):
        pool = WaitingPool()
        for text in "abc":
            pool.add(job(text), 5.0, 0.0)
        taken = take_all(pool, 5.0)
        assert sorted(value.variant for value in taken) == ["a", "b", "c"]
        first[taken[0].variant] += 1
    assert all(210 < first[text] < 390 for text in "abc")  # 300 each, more than 6 sigma away


def test_jobs_are_due_at_random_times_within_the_spread() -> None:
    pool = WaitingPool()
    for number in range(2000):
        pool.add(job(str(number)), 100.0, 8.0)
    assert pool.take(99.99) is None
    assert 100.0 <= pool.soonest() <= 101.0
    counts = [len(take_all(pool, now)) for now in (102.0, 104.0, 106.0, 108.0)]
    assert sum(counts) == 2000
    assert all(380 < count < 620 for count in counts)  # 500 each, more than 6 sigma away
    assert len(pool) == 0
    assert pool.soonest() == float("inf")


def test_jobs_are_withdrawn_wherever_they_stand() -> None:
    pool = WaitingPool()
    jobs = [job(str(number)) for number in range(20)]
    for number, value in enumerate(jobs):
        pool.add(value, 0.0 if number < 10 else 50.0, 0.0)
    first = pool.take(10.0)  # nine others are due now, ten are not
    assert first is not None
    unwanted = {jobs[i] for i in (1, 2, 3, 11, 12, 13)} - {first}
    pool.withdraw(unwanted)
    assert len(pool) == 19 - len(unwanted)
    assert set(take_all(pool, 50.0)) == set(jobs) - unwanted - {first}


HITS = (Hit("d1", 2.0, "title", "text"), Hit("d2", 1.0))


def test_an_answer_is_remembered_for_so_long_and_not_longer() -> None:
    answers = AnswerCache(10.0)
    answers.keep(("a", 3), HITS, 100.0)
    assert answers.find(("a", 3), 109.9) == HITS
    assert answers.find(("a", 4), 100.0) is None
    assert answers.find(("a", 3), 110.0) is None
    answers.keep(("b", 3), HITS, 105.0)
    assert answers.soonest() == 110.0  # being used has not renewed it
    answers.expire(110.0)
    assert len(answers) == 1
    answers.forget()
    assert answers.find(("b", 3), 105.0) is None
    assert answers.soonest() == float("inf")


def test_nothing_is_remembered_for_no_time() -> None:
    answers = AnswerCache(0.0)
    answers.keep(("a", 3), HITS, 100.0)
    assert len(answers) == 0


def test_no_more_than_so_many_answers_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixer, "MOST_ANSWERS", 3)
    answers = AnswerCache(10.0)
    for number in range(5):
        answers.keep((str(number), 3), HITS, float(number))
    assert [answers.find((str(n), 3), 5.0) is not None for n in range(5)] == [False] * 2 + [
        True
    ] * 3


def test_no_more_than_so_many_characters_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixer, "MOST_CHARACTERS", 5_000)
    answers = AnswerCache(10.0)
    answers.keep(("huge", 3), (Hit("d", 1.0, "", "x" * 5_000),), 0.0)
    assert len(answers) == 0
    for text in "abababacabcd":  # what makes room, or comes again, is not counted twice
        answers.keep((text, 3), (Hit("d", 1.0, "t" * 500, "x" * 500),), 0.0)
    assert [answers.find((text, 3), 1.0) is not None for text in "abcd"] == [False] + [True] * 3
