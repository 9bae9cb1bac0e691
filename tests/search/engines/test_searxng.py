"""SearXNG: forms in, addresses out."""

import pytest
from tests.search.engines.recording import RecordingServer, Request, http, reply

import veil
from veil.core.errors import EngineError, ParameterError
from veil.core.types import Released
from veil.search.engines.network.searxng import SearXNG


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


def result(number: int, **more: object) -> dict[str, object]:
    return {"url": f"https://example.org/{number}", "title": f"T{number}", **more}


def test_the_request_is_these_bytes() -> None:
    with RecordingServer(http(lambda _: reply({"results": []}))) as server:
        SearXNG(url=f"{server.url}/searx/").search(released("tea & café"), 5)
    body = b"q=tea+%26+caf%C3%A9&categories=general&language=en&pageno=1&format=json"
    assert server.blob == (
        b"POST /searx/search HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: Mozilla/5.0\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Connection: close\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n"
        b"Content-Length: %d\r\n"
        b"\r\n%b"
    ) % (server.port, len(body), body)


def test_results_go_by_their_address() -> None:
    results = [
        result(1, content="One &lt;b&gt; <b>bold</b>", score=4.0),
        result(2, content=None, score=None),
        {"title": "no address"},
        result(1, content="again"),
        result(3, score=2),
    ]
    answer = {"query": "x", "results": results, "unresponsive_engines": [["bing", "timeout"]]}
    with RecordingServer(http(lambda _: reply(answer))) as server:
        answers = SearXNG(url=server.url).search(released("a"), 5)
    assert answers.list(0) == tuple(f"https://example.org/{number}" for number in (1, 2, 3))
    assert answers.texts[0] == "One <b> bold"
    assert answers.titles == ("T1", "T2", "T3")
    assert (answers.scores[0, :2] >= answers.scores[0, 1:3]).all()
    assert answers.gaps == ("",)


def pages(request: Request) -> bytes:
    first = 10 * int(request.form["pageno"])
    return reply({"results": [result(number) for number in range(first, first + 10)]})


@pytest.mark.parametrize(
    ("most", "k", "requests", "count"),
    [(1, 25, 1, 10), (3, 25, 3, 25), (3, 12, 2, 12), (5, 9, 1, 9)],
)
def test_further_pages_are_asked_for_as_long_as_there_are_too_few(
    most: int, k: int, requests: int, count: int
) -> None:
    with RecordingServer(http(pages)) as server:
        answers = SearXNG(url=server.url, pages=most).search(released("a"), k)
    assert server.connections == requests
    expected = tuple(f"https://example.org/{number}" for number in range(10, 10 + count))
    assert answers.list(0) == expected


def test_a_page_that_is_empty_or_fails_is_the_last() -> None:
    for second in (reply({"results": []}), reply({}, 400)):
        replies = iter([reply({"results": [result(1)]}), second])
        with RecordingServer(http(lambda _, left=replies: next(left))) as server:  # type: ignore[misc]
            answers = SearXNG(url=server.url, pages=9).search(released("a"), 5)
        assert answers.list(0) == ("https://example.org/1",)
        assert server.connections == 2


def test_nothing_found_because_sources_are_silent_is_a_gap() -> None:
    def answer(request: Request) -> bytes:
        if request.form["q"] == "gap":
            return reply({"results": [], "unresponsive_engines": [["a", "CAPTCHA"], ["b", "x"]]})
        return reply({"results": []})

    with RecordingServer(http(answer)) as server:
        answers = SearXNG(url=server.url).search(released("none", "gap"), 5)
    assert answers.gaps[0] == ""
    assert answers.gaps[1].endswith("found nothing, and 2 of its sources did not respond.")


@pytest.mark.parametrize("odd", [None, 3, {}, "x", [], [3], [[]]])
def test_odd_lists_of_silent_sources_do_no_harm(odd: object) -> None:
    answer = {"results": [result(1)], "unresponsive_engines": odd}
    with RecordingServer(http(lambda _: reply(answer))) as server:
        assert SearXNG(url=server.url).search(released("a"), 5).gaps == ("",)


def test_an_instance_without_json_is_told_how_to_allow_it() -> None:
    with RecordingServer(http(lambda _: reply(b"<html>", 403, "text/html"))) as server:
        wanted = (
            "answered 403: it does not return JSON. Add json to search.formats in the settings"
        )
        with pytest.raises(EngineError, match=wanted):
            SearXNG(url=server.url).search(released("a"), 5)
    assert server.connections == 1


def test_a_limiter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.search.engines.network.remote._pause", lambda _stop, _seconds: False)
    wanted = "answered 429: it asks for fewer .* server.limiter"
    with (
        RecordingServer(http(lambda _: reply({}, 429))) as server,
        pytest.raises(EngineError, match=wanted),
    ):
        SearXNG(url=server.url).search(released("a"), 5)
    assert server.connections == 3


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("categories", ""),
        ("categories", "a=b"),
        ("language", "English"),
        ("pages", 0),
        ("pages", 11),
        ("url", "http://h/?q=1"),
    ],
)
def test_parameters_out_of_range(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^The '{field}' parameter of searxng must"):
        SearXNG.load({"url": "http://h"} | {field: value})
