"""Engines that answer too much: what is read and made is bounded, the rest refused."""

import json
import struct
import sys
from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.search.engines.misbehaviour import JSON, _message, postgres, sends, then
from tests.search.engines.recording import RecordingServer, Serve, Wire, http, reply

import veil
from veil.core.errors import EngineError
from veil.core.types import Released
from veil.search.engines.engine import MAX_K, Hit
from veil.search.engines.network.answer import (
    MAX_DEPTH,
    ExcessError,
    clean_text,
    first,
    most_values,
    number,
    read,
    read_json,
)
from veil.search.engines.network.connection import MAX_HEAD, Deadline
from veil.search.engines.network.exchange import Answer, most_bytes
from veil.search.engines.network.http import Http
from veil.search.engines.network.opensearch import OpenSearch
from veil.search.engines.network.remote import NoAnswer
from veil.search.engines.network.searxng import SearXNG

TOO_MANY = "too many JSON values, or too deeply nested ones"
BODIES = {  # of about 4 MB, which is less than what is read of an answer
    "objects": b"[" + b"{}," * 1_300_000 + b"{}]",
    "lists": b"[" + b"[]," * 1_300_000 + b"[]]",
    "strings": b"[" + b'"",' * 1_300_000 + b'""]',
    "numbers": b"[" + b"1," * 2_000_000 + b"1]",
    "fields": b"[{" + b'"a":1,' * 700_000 + b'"a":1}]',
    "items": b"[" + b'{"id":"a","t":"b"},' * 220_000 + b"{}]",
    "depth": b"[" * 4_000_000,
    "depth, closed": b"[" * 2_000_000 + b"]" * 2_000_000,
    "objects in objects": b'{"a":' * 800_000,
    "after a text": b'["' + b'\\"' * 1_000_000 + b'",' + b"{}," * 700_000 + b"{}]",
    "elsewhere": b'{"items":[],"hits":{"hits":[]},"results":[],"x":['
    + b"{}," * 1_300_000
    + b"1]}",
}


def released(*texts: str) -> list[Released]:
    return [veil.declassify(text) for text in texts]


@pytest.mark.parametrize("name", BODIES)
def test_more_values_than_needed_are_not_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json.loads", lambda _: pytest.fail("it was read"))
    with pytest.raises(ExcessError):
        read(BODIES[name], most_values(100))


@pytest.mark.parametrize("name", ["objects", "depth", "elsewhere"])
@pytest.mark.parametrize(
    "make",
    [
        lambda url: Http(url=f"{url}/{{query}}", items="items", attempts=1),
        lambda url: OpenSearch(url=url, index="i", attempts=1),
        lambda url: SearXNG(url=url, attempts=1),
    ],
)
def test_every_engine_refuses_them(
    name: str, make: Callable[[str], Http | OpenSearch | SearXNG]
) -> None:
    with RecordingServer(http(lambda _: reply(BODIES[name]))) as server:
        engine = make(server.url).model_copy(update={"timeout": 60.0})
        with pytest.raises(EngineError, match=TOO_MANY):
            engine.search(released("a"), 100)


@pytest.mark.parametrize("k", [1, 100])
def test_more_bytes_than_needed_are_not_read(k: int) -> None:
    most = most_bytes(k)
    assert most == 2**20 + 40 * 2**10 * k
    served: list[int] = []

    def serve(wire: Wire) -> None:
        wire.until(b"\r\n\r\n")
        wire.send(JSON + b"\r\n[")  # its length is not announced
        for _ in range(1_000):
            wire.send(b" " * 2**16)
            served.append(2**16)

    with RecordingServer(serve) as server:
        engine = Http(url=f"{server.url}/{{query}}", attempts=1, timeout=60)
        with pytest.raises(EngineError, match=r"more than 1\.04 MB|more than 4\.91 MB"):
            engine.search(released("a"), k)
    assert sum(served) < most + 32 * 2**20  # what was under way


def test_the_user_may_ask_for_more() -> None:
    text = "word " * 400_000
    with RecordingServer(http(lambda _: reply([{"id": "1", "x": text}]))) as server:
        engine = Http(url=f"{server.url}/{{query}}", text="x", timeout=60, attempts=1)
        with pytest.raises(EngineError, match=r"more than 1\.04 MB.*'megabytes'"):
            engine.search(released("a"), 1)
        more = engine.model_copy(update={"megabytes": 3})
        assert len(more.search(released("a"), 1).texts[0]) <= 20_000
    assert most_bytes(MAX_K) == 64 * 2**20
    assert most_bytes(1, 3) == 3 * 2**20


FLOODS: dict[str, Serve] = {
    "headers": then(sends(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200_000), Wire.wait),
    "one header": then(sends(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2_000_000), Wire.wait),
    "wide headers": then(sends(b"HTTP/1.1 200 OK\r\n" + (b"X: " + b"y" * 60_000 + b"\r\n") * 90)),
    "going on": then(sends(b"HTTP/1.1 100 Continue\r\n\r\n" * 100_000), Wire.wait),
    "status": then(sends(b"H" * 2_000_000), Wire.wait),
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_head_is_short(name: str) -> None:
    with RecordingServer(FLOODS[name]) as server:
        engine = Http(url=f"{server.url}/{{query}}", attempts=1, timeout=60)
        with pytest.raises(EngineError, match="did not answer with HTTP"):
            engine.search(released("a"), 1)
    assert MAX_HEAD < 2**20


def test_no_more_items_are_made_than_were_asked_for() -> None:
    made: list[str] = []

    def make(value: object, name: str) -> Hit:
        made.append(name)
        return Hit(name)

    values: list[object] = [{}, {"id": ""}, *({"id": str(i // 2)} for i in range(1000))]
    answer = Answer("h", 200, "", 0.0, b"")
    assert [hit.id for hit in first(values, 3, "id", make, answer)] == ["0", "1", "2"]
    assert made == ["0", "1", "2"]


def test_reading_counts_against_the_time() -> None:
    late = Answer("h", 200, "application/json", 0.0, b'[{"id": "1"}]', Deadline(-1.0))
    with pytest.raises(NoAnswer, match="^The answer of the engine at h could not be read in time"):
        read_json(late, 1)
    with pytest.raises(NoAnswer, match="could not be read in time"):
        first([{"id": "1"}], 1, "id", lambda _, name: Hit(name), late)


def _size(value: object) -> int:
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text('a"\\[]{},:\n😀', max_size=8),
    lambda inner: st.lists(inner) | st.dictionaries(st.text('a"\\{', max_size=3), inner),
    max_leaves=30,
)


@settings(max_examples=150, deadline=None)
@given(TREES, st.booleans())
@example({"": [], "a": [], '"': [], "{": [], "\\": []}, True)  # brackets all over
def test_what_is_honest_is_read_and_what_is_read_was_counted(tree: object, plainly: bool) -> None:
    body = json.dumps(tree, ensure_ascii=plainly).encode()
    size = _size(tree)
    assert repr(read(body, size)) == repr(json.loads(body))
    if size > 8:
        with pytest.raises(ExcessError):
            read(body, size // 8)


@settings(max_examples=150, deadline=None)
@given(st.text('"\\[]{},: 1\n', max_size=60))
def test_any_text_is_gone_through(text: str) -> None:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    assert read(text.encode()) == value


@pytest.mark.parametrize(
    "body",
    [
        json.dumps([{"id": "1"}]).encode("utf-16"),
        json.dumps([{"id": "1"}]).encode("utf-32"),
        b"\xff[]",
        b"[" + b"9" * 5_000 + b"]",
        b'["' + b"\\" * 1_000_001,
        b"",
    ],
)
def test_other_encodings_and_numbers_without_end_are_not_json(body: bytes) -> None:
    assert read(body) is None


def test_depth() -> None:
    assert read(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH) is not None
    with pytest.raises(ExcessError):
        read(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))


@pytest.mark.parametrize("value", ["9" * 10**6, "nan", "inf", float("nan"), 10**400, "1e999"])
def test_numbers_that_are_none(value: object) -> None:
    assert number(value) is None


def test_texts_in_many_parts_are_cut() -> None:
    assert len(clean_text(["word"] * 100_000, 50)) <= 50
    assert len(clean_text(["word " * 100_000] * 10, 50)) <= 50


def test_repeated_names_and_odd_scores() -> None:
    body = b'[{"id":"1","id":"2","s":NaN},{"id":"3","s":-Infinity},{"id":"3","s":1e999}]'
    with RecordingServer(http(lambda _: reply(body))) as server:
        answers = Http(url=f"{server.url}/{{query}}", score="s").search(released("a"), 5)
    assert answers.list(0) == ("2", "3")
    assert answers.scores[0, :2].tolist() == [1.0, 0.5]


def _odd(columns: int, kind: int, rows: Sequence[bytes]) -> Serve:
    """Answer with rows of another shape, or of another type."""
    described = b"".join(
        b"c\0" + struct.pack("!ihihih", 0, 0, kind, -1, -1, 0) for _ in range(columns)
    )
    data = b"".join(
        _message(b"D", struct.pack("!h", columns) + (struct.pack("!i", len(row)) + row) * columns)
        for row in rows
    )

    def fault(wire: Wire, _: bytes) -> None:
        wire.send(_message(b"1", b"") + _message(b"2", b""))
        wire.send(_message(b"T", struct.pack("!h", columns) + described))
        wire.send(data)
        wire.send(_message(b"C", b"SELECT 1\0") + _message(b"Z", b"T"))

    return postgres([], fault)


ODD: dict[str, tuple[Serve, str]] = {
    "more rows": (_odd(4, 25, [b"a"] * 4), "more than was requested"),
    "very many rows": (_odd(4, 25, [b"a"] * 200_000), "more than was requested"),
    "a long row": (_odd(4, 25, [b"a" * 20_000_000]), "more than was requested"),
    "fewer columns": (_odd(2, 25, [b"a"]), "unexpected data"),
    "not text": (_odd(4, 25, [b"\xff\xfe"]), "unexpected data"),
}


@pytest.mark.parametrize("name", ODD)
def test_a_database_that_sends_too_much_or_something_else(name: str) -> None:
    pytest.importorskip("psycopg")
    from veil.search.engines.network.postgres import Postgres

    serve, told = ODD[name]
    if name == "a long row" and sys.platform != "linux":
        pytest.skip("the system does not tell how many bytes came")
    with RecordingServer(serve) as server:
        dsn = f"host=127.0.0.1 port={server.port} user=u dbname=d sslmode=disable"
        engine = Postgres(dsn=dsn, table="docs", timeout=60, attempts=1)
        with pytest.raises(EngineError, match=f"^The database at 127.0.0.1 answered with {told}"):
            engine.search(released("tea"), 3)
    assert server.connections == 1


@pytest.mark.parametrize("kind", [16, 20, 114, 700, 1007, 1082, 1700, 3802])
def test_types_that_a_database_claims_are_not_believed(kind: int) -> None:
    """Else JSON would be read, a date computed, or a list taken apart."""
    pytest.importorskip("psycopg")
    from veil.search.engines.network.postgres import Postgres

    with RecordingServer(_odd(4, kind, [b"[" * 3_000])) as server:
        dsn = f"host=127.0.0.1 port={server.port} user=u dbname=d sslmode=disable"
        answers = Postgres(dsn=dsn, table="docs", timeout=60, attempts=1).search(released("a"), 3)
    assert answers.items == ("[" * 3_000,)
