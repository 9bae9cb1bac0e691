"""What is said to have been sent is what left: nothing, where no connection came about."""

import socket
from collections.abc import Callable

import pytest
from tests.search.engines.misbehaviour import sends, then
from tests.search.engines.recording import RecordingServer, Wire, http, reply

import veil
from veil.core.errors import EngineError
from veil.core.types import Released
from veil.proxy.mixer import Mixer
from veil.search.engines.network.http import Http
from veil.search.engines.network.opensearch import OpenSearch
from veil.search.engines.network.remote import GIVE_UP_EARLY, Remote
from veil.search.engines.network.searxng import SearXNG
from veil.search.pipeline import ask


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("veil.search.engines.network.remote._pause", lambda _stop, _seconds: False)
    for name in ("http", "https", "all"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)


def released(count: int) -> list[Released]:
    return [veil.declassify(f"variant{i}") for i in range(count)]


def nobody() -> str:
    """Return an address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def postgres(address: str) -> Remote:
    pytest.importorskip("psycopg")
    from veil.search.engines.network.postgres import Postgres

    host, _, port = address.partition(":")
    return Postgres(dsn=f"host={host} port={port} user=u", table="t")


ENGINES: dict[str, Callable[[str], Remote]] = {
    "http": lambda address: Http(url=f"http://{address}/{{query}}"),
    "opensearch": lambda address: OpenSearch(url=f"http://{address}", index="i"),
    "searxng": lambda address: SearXNG(url=f"http://{address}"),
    "https": lambda address: SearXNG(url=f"https://{address}"),
    "postgres": postgres,
}


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("mixed", [False, True])
def test_a_refused_connection_sends_nothing(name: str, mixed: bool) -> None:
    engine = ENGINES[name](nobody())
    with Mixer(engine) as mixer, pytest.raises(EngineError) as raised:
        ask("query", released(20), mixer if mixed else engine, 5, None)
    assert raised.value.sent == 0
    told = str(raised.value)
    assert "refuses connections" in told or "cannot be reached" in told
    assert told.endswith(" Nothing was sent.")


def test_a_host_that_is_not_known_is_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(EngineError, match="unknown host. Nothing was sent.$"):
        ask("query", released(3), SearXNG(url="http://search.example"), 5, None)


def test_without_tls_nothing_is_sent() -> None:
    with RecordingServer(Wire.wait) as server:
        engine = SearXNG(url=f"https://127.0.0.1:{server.port}", timeout=0.3, attempts=1)
        with pytest.raises(EngineError, match="within 0.3 s. Nothing was sent.$"):
            ask("query", released(2), engine, 5, None)
    assert b"variant" not in server.blob
    with RecordingServer(lambda wire: wire.send(b"HTTP/1.1 400 No\r\n\r\n")) as server:
        engine = SearXNG(url=f"https://127.0.0.1:{server.port}", attempts=1)
        with pytest.raises(EngineError, match="Nothing was sent.$"):
            ask("query", released(2), engine, 5, None)
    assert b"variant" not in server.blob


@pytest.mark.parametrize("mixed", [False, True])
def test_what_was_sent_is_counted_and_not_what_was_not(mixed: bool) -> None:
    with RecordingServer(http(lambda _: reply({}, 400))) as server:
        engine = Http(url=f"{server.url}/{{query}}", concurrency=1)
        with Mixer(engine) as mixer, pytest.raises(EngineError) as raised:
            ask("query", released(20), mixer if mixed else engine, 5, None)
    assert raised.value.sent == server.connections == GIVE_UP_EARLY
    assert str(raised.value).endswith("8 variants had been sent and count as released.")


def test_a_variant_that_left_in_any_attempt_was_sent() -> None:
    """The first attempt is read and reset; then nobody listens any more."""
    with RecordingServer(then(Wire.reset)) as server:
        engine = Http(url=f"{server.url}/{{query}}", attempts=1)
        with pytest.raises(EngineError) as raised:
            ask("query", released(1), engine, 5, None)
    assert raised.value.sent == 1
    assert str(raised.value).endswith("One variant had been sent and counts as released.")


def test_some_may_be_answered() -> None:
    answer = sends(reply([{"id": "1"}]))
    with RecordingServer(then(answer)) as server:
        engine = Http(url=f"{server.url}/{{query}}")
        with Mixer(engine) as mixer:
            assert mixer.ask(released(3), 5).sent == 3
        address = server.url
    with Mixer(Http(url=f"{address}/{{query}}")) as mixer, pytest.raises(EngineError) as raised:
        mixer.ask(released(3), 5)
    assert raised.value.sent == 0
