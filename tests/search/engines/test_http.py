"""The engine that is a template; and what every fault of a server is called."""

import json

import pytest
from tests.search.engines.misbehaviour import MISBEHAVIOUR
from tests.search.engines.recording import RecordingServer, Request, http, reply

import veil
from veil.core.errors import EngineError, ParameterError
from veil.core.types import Released
from veil.search.engines import ENGINES
from veil.search.engines.network.http import Http


class Keeper:
    """A handler that keeps the requests it answers."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> bytes:
        self.requests.append(request)
        return reply(self.value)


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


@pytest.mark.parametrize("value", ["", "sesame", "Bearer a\r\nX: y", "Bearer \u20ac", "a:\0"])
def test_credentials_that_cannot_be_sent_are_not_quoted(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "\0" not in value:
        monkeypatch.setenv("ENGINE_AUTH", value)
    with RecordingServer(http(lambda _: reply({}))) as server:
        engine = Http(url=f"{server.url}/{{query}}", auth="ENGINE_AUTH")
        with pytest.raises(ParameterError, match="ENGINE_AUTH") as raised:
            engine.search(released("a"), 1)
    assert server.connections == 0
    assert not value or value not in str(raised.value)


SENTENCES = {
    "html": "answered with a web page, not JSON. Check the address",
    "unmarked html": "answered with a web page",
    "rate": "answered 429: it asks for fewer requests",
    "failure": "answered 500: it failed",
    "denial": "answered 403: it denies access",
    "junk": "did not answer with JSON",
    "other shape": "unexpected JSON: no list at 'items'",
    "deep": "too many JSON values, or too deeply nested ones",
    "not http": "did not answer with HTTP",
    "silence": "gave no answer within 0.3 s",
    "drip of a head": "gave no answer within 0.3 s",
    "drip of a body": "gave no answer within 0.3 s",
    "reset": "closed the connection without an answer",
    "end": "closed the connection without an answer",
    "half": "closed the connection early",
    "half a chunk": "closed the connection early",
    "redirect": r"redirects to another address \(302\)[.] Redirects are not followed",
    "gzip": "sent a compressed answer",
    "huge": "more than 1.04 MB",
}


@pytest.mark.parametrize("fault", MISBEHAVIOUR)
def test_each_fault_of_a_server_has_its_sentence(fault: str) -> None:
    with RecordingServer(MISBEHAVIOUR[fault]) as server:
        url, timeout = f"{server.url}/{{query}}", 0.3 if "0.3 s" in SENTENCES[fault] else 60
        engine = Http(url=url, items="items", timeout=timeout, attempts=1)
        wanted = f"^The engine at 127.0.0.1:{server.port} .*{SENTENCES[fault]}.*[.]$"
        with pytest.raises(EngineError, match=wanted):
            engine.search(released("a"), 1)


@pytest.mark.parametrize(
    ("url", "wanted"),
    [
        ("localhost:9200", "must start with http:// or https://"),
        ("ftp://localhost", "must start with http:// or https://"),
        ("file:///etc/passwd", "must start with http:// or https://"),
        ("http://", "must start with http:// or https://"),
        ("http://bücher.example/", "an ASCII host name"),
        ("http://me:sesame@localhost/", "must not contain a user or password"),
        ("http://sesame@localhost/", "must not contain a user or password"),
        ("http://localhost:port/", "must be an address such as"),
        ("http://[::1/", "must be an address such as"),
        ("http://localhost/\r\nX: y", "must not contain spaces"),
        ("http://localhost/a b", "must not contain spaces"),
        ("http://localhost/#a", "a fragment"),
        ("http://localhost/?a=b", "must not contain a query string"),
    ],
)
def test_addresses_that_cannot_be_used(url: str, wanted: str) -> None:
    with pytest.raises(ParameterError, match=f"^The 'url' parameter of .* {wanted}") as raised:
        ENGINES.get("searxng").load({"url": url})
    assert "sesame" not in str(raised.value)


NASTY = 'a&b=c#d?e/f %{k}"\\ {query} é\n'


def test_a_query_in_an_address_is_one_parameter() -> None:
    keeper = Keeper([{"id": 1}])
    with RecordingServer(http(keeper)) as server:
        engine = Http(url=f"{server.url}/s?n={{k}}&q={{query}}")
        engine.search(released(NASTY), 3)
    assert keeper.requests[0].line == (
        "GET /s?n=3&q=a%26b%3Dc%23d%3Fe%2Ff%20%25%7Bk%7D%22%5C%20%7Bquery%7D%20%C3%A9%0A HTTP/1.1"
    )


def test_a_query_in_a_body_is_one_string() -> None:
    keeper = Keeper([{"id": 1}])
    with RecordingServer(http(keeper)) as server:
        engine = Http(url=server.url, method="POST", body='{"q": {query}, "n": {k}, "o": {}}')
        engine.search(released(NASTY), 3)
    assert json.loads(keeper.requests[0].body) == {"q": NASTY, "n": 3, "o": {}}
    assert "Content-Type: application/json" in keeper.requests[0].headers


def test_items_are_found_by_paths() -> None:
    hits = [
        {
            "doc": {"key": 7},
            "names": ["<b>One</b> &amp; only"],
            "body": ["a\x1b[31m", "b"],
            "s": 2,
        },
        {"doc": {"key": "x\ud800"}, "names": [], "body": None, "s": "1.5"},
        {"doc": {"key": None}, "s": 1},
        {"doc": {"key": "far"}, "names": "no list", "body": 3, "s": 10**400},
    ]
    with RecordingServer(http(lambda _: reply({"data": [{"hits": hits}]}))) as server:
        engine = Http(
            url=f"{server.url}/{{query}}",
            items="data.0.hits",
            id="doc.key",
            title="names.0",
            text="body",
            score="s",
        )
        answers = engine.search(released("a"), 10)
    assert answers.items == ("7", "x\ufffd", "far")
    assert answers.titles == ("One & only", "", "")
    assert answers.texts == ("a [31m b", "", "3")
    assert answers.scores[0, :2].tolist() == [2.0, 1.5]
    assert answers.index.shape == (1, 10)


def test_names_with_control_characters_are_marked_and_texts_cleaned() -> None:
    hits = [
        {
            "id": "https://a.example/\x1b[31m\t\u202eb",
            "t": "\u202emoc\x9b31m",
            "x": "a\u2066\n&#0;b",
        },
        {"id": "b", "t": "&#" + "9" * 1_900 + ";c", "x": "&#" + "9" * 70_000 + "; d &#x41;"},
        {"id": "c", "t": "&#x" + "f" * 1_900 + ";c", "x": "&#27;[31m&#155;e"},
    ]
    with RecordingServer(http(lambda _: reply(hits))) as server:
        engine = Http(url=f"{server.url}/{{query}}", title="t", text="x")
        answers = engine.search(released("a"), 10)
    assert answers.items == ("https://a.example/\ufffd[31m\ufffd\ufffdb", "b", "c")
    assert answers.titles == ("moc 31m", "c", "c")
    assert answers.texts == ("a \ufffdb", "d A", "[31m\u203ae")


def test_items_without_names_are_told_from_no_items() -> None:
    values = iter([[], [{"key": "a"}]])
    with RecordingServer(http(lambda _: reply(next(values)))) as server:
        engine = Http(url=f"{server.url}/{{query}}")
        assert engine.search(released("a"), 1).list(0) == ()
        with pytest.raises(EngineError, match="no id at 'id'. Check the 'id' parameter"):
            engine.search(released("a"), 1)


def test_no_more_than_k_items() -> None:
    with RecordingServer(http(lambda _: reply([{"id": str(i)} for i in range(50)]))) as server:
        answers = Http(url=f"{server.url}/{{query}}").search(released("a", "b"), 3)
    assert [answers.list(row) for row in range(2)] == [("0", "1", "2")] * 2


def test_some_variants_may_fail() -> None:
    def answer(request: Request) -> bytes:
        return reply({}, 400) if "/bad" in request.line else reply([{"id": "1"}])

    with RecordingServer(http(answer)) as server:
        answers = Http(url=f"{server.url}/{{query}}").search(released("good", "bad", "fine"), 3)
    assert [bool(gap) for gap in answers.gaps] == [False, True, False]
    assert server.connections == 3


def test_what_may_pass_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.search.engines.network.remote._pause", lambda _stop, _seconds: False)
    replies = iter([reply({}, 503), reply({}, 429), reply([{"id": "1"}])])
    with RecordingServer(http(lambda _: next(replies))) as server:
        answers = Http(url=f"{server.url}/{{query}}").search(released("a"), 3)
    assert answers.list(0) == ("1",)
    assert server.connections == 3


@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"url": "http://h/"}, "body"),
        ({"url": "http://h/{query}/{query}"}, "body"),
        ({"url": "http://h/{query}", "method": "POST", "body": "{query}"}, "body"),
        ({"url": "http://h/", "body": "{query}"}, "body"),
        ({"url": "http://h/", "method": "POST", "body": '{"q": "{query}"}'}, "body"),
        ({"url": "http://h/", "method": "POST", "body": "q={query}"}, "body"),
        ({"url": "http://{query}/"}, "url"),
        ({"url": "http://h{k}.test/{query}"}, "url"),
        ({"url": "http://h/{query}/{other}"}, "url"),
        ({"url": "http://h/{query}", "method": "PUT"}, "method"),
        ({"url": "http://h/{query}", "auth": "me:sesame"}, "auth"),
        ({"url": "http://h/{query}", "timeout": 0}, "timeout"),
        ({"url": "http://h/{query}", "concurrency": 65}, "concurrency"),
        ({"url": "http://h/{query}", "attempts": 0}, "attempts"),
    ],
)
def test_templates_that_cannot_work(parameters: dict[str, object], field: str) -> None:
    with pytest.raises(ParameterError, match=f"^The '{field}' parameter of http ") as raised:
        Http.load(parameters)
    assert "sesame" not in str(raised.value)


def test_a_template_is_written_and_read_back() -> None:
    engine = Http(url="http://h/", method="POST", body='{"q": {query}, "n": {k}}', items="a.b")
    assert ENGINES.parse(str(engine)) == engine
