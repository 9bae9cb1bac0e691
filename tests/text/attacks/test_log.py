"""A query of a log is found as it is compared, however the log came to be."""

import pickle
from collections.abc import Callable

import pytest

from veil.data.arrays import Strings
from veil.text import log as module
from veil.text.log import QueryLog

TEXTS = ["Skin  Cancer", "new york", "skin cancer ", "Straße", "a\tb", "x\0y"]
PLACES = {"skin CANCER": 0, " New\nYork": 1, "STRASSE": 2, "a b": 3, "X\0Y": 4, "xy": -1, "": -1}


def direct(texts: list[str]) -> QueryLog:
    made = QueryLog.of(texts)
    return QueryLog(Strings.of(["Skin\tCancer", *list(made.texts)[1:]]), made.counts)


def pickled(texts: list[str]) -> QueryLog:
    made: QueryLog = pickle.loads(pickle.dumps(QueryLog.of(texts)))  # noqa: S301
    assert made._known is None  # the hashes of another process mean nothing here
    return made


def grown(texts: list[str]) -> QueryLog:
    made, missing = QueryLog.of(texts[:2]).with_queries(texts[1:])
    assert missing == 3
    return made


@pytest.mark.parametrize("make", [QueryLog.of, direct, pickled, grown])
@pytest.mark.parametrize("collide", [False, True])
def test_a_query_has_one_place(
    make: Callable[[list[str]], QueryLog], collide: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if collide:
        monkeypatch.setattr(module, "hash", len, raising=False)
    log = make(TEXTS)
    assert len(log) == 5
    assert {text: log.place(text) for text in PLACES} == PLACES


def test_a_large_log_is_searched_by_content() -> None:
    log = QueryLog.of(f"query {i}" for i in range(3000))
    assert [log.place(f"QUERY {i}") for i in range(3100)] == [*range(3000), *[-1] * 100]
