"""OpenSearch and Elasticsearch: one `_search` for each query."""

import json

import pytest
from tests.search.engines.recording import RecordingServer, Request, http, reply

import veil
from veil.core.errors import EngineError, ParameterError
from veil.core.types import Released
from veil.search.engines import ENGINES
from veil.search.engines.network.opensearch import OpenSearch


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


def hit(name: object, score: float | None, **source: object) -> dict[str, object]:
    return {"_index": "docs", "_id": name, "_score": score, "_source": source}


def hits(*found: object) -> dict[str, object]:
    return {"took": 1, "timed_out": False, "hits": {"max_score": 1, "hits": list(found)}}


def test_the_request_is_these_bytes() -> None:
    with RecordingServer(http(lambda _: reply(hits()))) as server:
        engine = OpenSearch(url=f"{server.url}/", index="docs", fields="title^2,text")
        engine.search(released('café "x"'), 5)
    body = (
        b'{"size":5,"query":{"multi_match":{"query":"caf\\u00e9 \\"x\\"",'
        b'"fields":["title^2","text"],"operator":"or"}},'
        b'"_source":["title","text"],"track_total_hits":false}'
    )
    assert server.blob == (
        b"POST /docs/_search HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: Mozilla/5.0\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Connection: close\r\n"
        b"Content-Type: application/json\r\n"
        b"Content-Length: %d\r\n"
        b"\r\n%b"
    ) % (server.port, len(body), body)


def test_a_request_for_each_variant() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> bytes:
        asked.append(request)
        return reply(hits(hit(json.loads(request.body)["query"]["multi_match"]["query"], 1.0)))

    variants = released(*(f"variant{number}" for number in range(9)), "variant0")
    with RecordingServer(http(answer)) as server:
        engine = OpenSearch(url=server.url, index="docs", concurrency=3)
        answers = engine.search(variants, 5)
    assert [answers.list(row) for row in range(10)] == [(variant,) for variant in variants]
    assert server.connections == 9
    assert {request.line for request in asked} == {"POST /docs/_search HTTP/1.1"}
    assert 1 <= server.peak <= 3


def test_documents_have_scores_titles_and_texts() -> None:
    found = hits(
        hit("b", 3.5, title="<em>Bee</em>", meta={"body": "A\n bee."}),
        hit("a", 2.5, title=["An", "ant"]),
        hit(17, None),
        {"_id": "last"},
        "junk",
    )
    with RecordingServer(http(lambda _: reply(found))) as server:
        engine = OpenSearch(url=server.url, index="docs", text="meta.body")
        answers = engine.search(released("insects"), 10)
    assert answers.items == ("b", "a", "17", "last")
    assert answers.titles == ("Bee", "An ant", "", "")
    assert answers.texts == ("A bee.", "", "", "")
    assert answers.scores[0, :2].tolist() == [3.5, 2.5]


def test_k_is_kept_to_also_by_an_engine_that_gives_more() -> None:
    found = hits(*(hit(str(number), 1.0) for number in range(100)))
    with RecordingServer(http(lambda _: reply(found))) as server:
        answers = OpenSearch(url=server.url, index="docs").search(released("a"), 7)
    assert len(answers.list(0)) == 7


def test_all_words_and_fewer_fields() -> None:
    engine = OpenSearch(url="http://h", index="docs", match="all", title="", fields="text")
    assert engine._body("a b", 2) == {
        "size": 2,
        "query": {"multi_match": {"query": "a b", "fields": ["text"], "operator": "and"}},
        "_source": ["text"],
        "track_total_hits": False,
    }


@pytest.mark.parametrize(
    ("status", "error", "sentence"),
    [
        (404, {"type": "index_not_found_exception", "reason": "no [lantern]"},
         "answered 404, index_not_found_exception: it has nothing at that address"),
        (400, {"type": "parsing_exception", "reason": "lantern"},
         "answered 400, parsing_exception: it refused"),
        (400, {"type": "lantern"}, "answered 400: it refused the request"),
        (400, "lantern", "answered 400: it refused the request"),
        (401, {"type": ["lantern"]}, "answered 401: it requires credentials. .* 'auth'"),
        (503, {"type": "a" * 999 + "_exception"}, "answered 503: it failed"),
    ],
)  # fmt: skip
def test_errors_are_told_by_their_type_and_never_by_their_reason(
    status: int, error: object, sentence: str
) -> None:
    with RecordingServer(http(lambda _: reply({"error": error, "status": status}, status))) as own:
        engine = OpenSearch(url=own.url, index="docs", attempts=1)
        with pytest.raises(EngineError, match=sentence) as raised:
            engine.search(released("lantern"), 3)
    assert "lantern" not in str(raised.value)


@pytest.mark.parametrize("value", [{}, {"hits": []}, {"hits": {"hits": None}}, [], 3, "x", None])
def test_answers_of_another_shape(value: object) -> None:
    with RecordingServer(http(lambda _: reply(value))) as server:
        engine = OpenSearch(url=server.url, index="docs")
        with pytest.raises(EngineError, match="unexpected JSON|not answer with JSON"):
            engine.search(released("lantern"), 3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("index", "_all"),
        ("index", "a,b"),
        ("index", "a/../_msearch"),
        ("index", "*"),
        ("index", "Docs"),
        ("index", ""),
        ("fields", ""),
        ("fields", "a^b"),
        ("fields", "a b"),
        ("title", "a b"),
        ("match", "none"),
        ("url", "http://me:sesame@h"),
    ],
)
def test_parameters_out_of_range(field: str, value: object) -> None:
    with pytest.raises(ParameterError, match=f"^The '{field}' parameter of opensearch must"):
        OpenSearch.load({"url": "http://h", "index": "docs"} | {field: value})


def test_it_is_written_and_read_back() -> None:
    engine = OpenSearch(url="https://h:9200", index="docs", fields="a^2,b", auth="SECRET")
    assert ENGINES.parse(str(engine)) == engine
