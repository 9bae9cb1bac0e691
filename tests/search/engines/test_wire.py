"""One HTTP exchange, byte for byte, over a connection that ends in time."""

import base64
import email.utils
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.search.engines.misbehaviour import sends, then
from tests.search.engines.recording import RecordingServer, Request, Wire, http, reply

from veil.core.errors import ParameterError
from veil.search.engines.network import connection
from veil.search.engines.network.exchange import Answer, accept, exchange
from veil.search.engines.network.remote import NoAnswer

PROXIES = [f"{name}_proxy" for name in ("http", "https", "all", "no")]


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_a_get_is_these_bytes_and_no_others() -> None:
    with RecordingServer(http(lambda _: reply({}))) as server:
        answer = exchange("GET", f"{server.url}/a/b?c=d", timeout=60)
    assert (answer.status, answer.body) == (200, b"{}")
    assert server.blob == (
        b"GET /a/b?c=d HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: Mozilla/5.0\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Connection: close\r\n"
        b"\r\n"
    ) % (server.port,)


def test_a_post_is_these_bytes_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_AUTH", "Bearer abc")
    with RecordingServer(http(lambda _: reply({}))) as server:
        exchange("POST", server.url, timeout=60, auth="ENGINE_AUTH", body=b"{}", kind="a/json")
    assert server.blob == (
        b"POST / HTTP/1.1\r\n"
        b"Host: 127.0.0.1:%d\r\n"
        b"User-Agent: Mozilla/5.0\r\n"
        b"Accept: application/json\r\n"
        b"Accept-Encoding: identity\r\n"
        b"Connection: close\r\n"
        b"Content-Type: a/json\r\n"
        b"Content-Length: 2\r\n"
        b"Authorization: Bearer abc\r\n"
        b"\r\n{}"
    ) % (server.port,)


def test_cookies_are_not_kept_and_connections_not_shared() -> None:
    asked: list[Request] = []

    def answer(request: Request) -> bytes:
        asked.append(request)
        return reply({}, 200, "application/json", "Set-Cookie: id=1", "ETag: x")

    with RecordingServer(http(answer)) as server:
        for _ in range(3):
            exchange("GET", server.url, timeout=60)
    assert server.connections == 3
    assert len(set(asked)) == 1


@pytest.mark.parametrize(
    ("value", "sent"),
    [
        ("me:secret", "Basic " + base64.b64encode(b"me:secret").decode()),
        ("me:two words", "Basic " + base64.b64encode(b"me:two words").decode()),
        ("me:püt", "Basic " + base64.b64encode("me:püt".encode()).decode()),
        ("ApiKey abc==", "ApiKey abc=="),
        ("Bearer a:b", "Bearer a:b"),
    ],
)
def test_credentials_come_from_the_environment(
    value: str, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_AUTH", value)
    with RecordingServer(http(lambda _: reply({}))) as server:
        exchange("GET", server.url, timeout=60, auth="ENGINE_AUTH")
    assert f"\r\nAuthorization: {sent}\r\n".encode() in server.blob


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n",
    ],
)
def test_no_more_than_a_limit_is_read(head: bytes) -> None:
    lines = (b"X: " + b"x" * 60_000 + b"\r\n") * 60
    with (
        RecordingServer(then(sends(head + lines), sends(lines), Wire.wait)) as server,
        pytest.raises(NoAnswer, match="answered with more than 1 MB|did not answer with HTTP"),
    ):
        exchange("GET", server.url, timeout=60, most=2**20)


def test_nobody_there_and_unknown_hosts() -> None:
    with RecordingServer(http(lambda _: reply({}))) as server:
        port = server.port
    with pytest.raises(NoAnswer, match="refuses connections. Check that it is running") as raised:
        exchange("GET", f"http://127.0.0.1:{port}", timeout=60)
    assert raised.value.again
    with pytest.raises(NoAnswer, match="cannot be found"):
        exchange("GET", f"http://{'a' * 64}.invalid/", timeout=60)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_statuses_that_may_pass(status: int) -> None:
    with pytest.raises(NoAnswer) as raised:
        accept(Answer("h", status, "", 3.0, b""))
    assert (raised.value.again, raised.value.wait) == (True, 3.0)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 408, 413, 422, 501])
def test_statuses_that_stay(status: int) -> None:
    with pytest.raises(NoAnswer, match=rf"^The engine at h answered {status}: it .*\.$") as raised:
        accept(Answer("h", status, "", 3.0, b""))
    assert not raised.value.again


@pytest.mark.parametrize(
    ("header", "low", "high"),
    [
        ("7", 7, 7),
        ("99999999999999", 1e6, 1e9),
        ("soon", 0, 0),
        ("-3", 0, 0),
        pytest.param(
            email.utils.formatdate(time.time() + 900, usegmt=True), 60, 901, id="in a while"
        ),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, low: float, high: float) -> None:
    answer = reply({}, 503, "application/json", f"Retry-After: {header}")
    with RecordingServer(http(lambda _: answer)) as server:
        found = exchange("GET", server.url, timeout=60)
    assert low <= found.wait <= high


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(http(lambda _: reply({}))) as server:
        monkeypatch.setenv("http_proxy", f"http://me:p%40ss@127.0.0.1:{server.port}")
        exchange("GET", "http://engine.test:81/a?b=c", timeout=60)
    secret = base64.b64encode(b"me:p@ss").decode()
    lines = server.blob.decode().split("\r\n")
    assert lines[:2] == ["GET http://engine.test:81/a?b=c HTTP/1.1", "Host: engine.test:81"]
    assert lines[6] == f"Proxy-Authorization: {secret}".replace(": ", ": Basic ")


def test_a_proxy_sees_the_host_but_no_query_of_https(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(lambda wire: wire.send(b"HTTP/1.1 407 No\r\n\r\n")) as server:
        monkeypatch.setenv("https_proxy", f"127.0.0.1:{server.port}")
        with pytest.raises(NoAnswer, match="^The proxy set in the environment did not connect to"):
            exchange("GET", "https://engine.test/secret?b=c", timeout=60)
    assert server.blob in (
        b"",
        b"CONNECT engine.test:443 HTTP/1.1\r\nHost: engine.test:443\r\n\r\n",
    )


def unknown(*_: object, **__: object) -> object:
    raise socket.gaierror


def test_a_slow_look_up_ends_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [over.wait(20)])
    with pytest.raises(NoAnswer, match="within 0.2 s"):
        exchange("GET", "http://engine.test/", timeout=0.2)
    over.set()


def test_this_machine_needs_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with RecordingServer(http(lambda _: reply({}))) as server:
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert exchange("GET", server.url, timeout=60).status == 200
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("no_proxy", "engine.test")
        monkeypatch.setattr("socket.getaddrinfo", unknown)
        with pytest.raises(NoAnswer, match="cannot be found"):
            exchange("GET", "http://engine.test/", timeout=60)


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1080", "http://127.0.0.1:x", "https://a"])
def test_proxies_of_other_kinds_are_refused(proxy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(ParameterError, match="must have the form http://host:port") as raised:
        exchange("GET", "http://engine.test/", timeout=60)
    assert proxy not in str(raised.value)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for localhost that nobody trusts yet, with its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", str(file)]
    command += ["-keyout", f"{file}.key", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.key").read_text())
    return file


@pytest.fixture
def secure(certificate: Path) -> Iterator[RecordingServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def serve(wire: Wire) -> None:
        with context.wrap_socket(wire.sock, server_side=True) as inner:
            inner.recv(65536)
            inner.sendall(reply({"secure": True}))

    with RecordingServer(serve) as server:
        yield server


def test_certificates_are_checked(secure: RecordingServer) -> None:
    with pytest.raises(NoAnswer, match="certificate that cannot be verified") as raised:
        exchange("GET", f"https://localhost:{secure.port}/", timeout=60)
    assert not raised.value.again


def test_a_trusted_certificate_is_for_its_host_only(
    secure: RecordingServer, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(connection, "_context", lambda: context)
    answer = exchange("GET", f"https://localhost:{secure.port}/", timeout=60)
    assert json.loads(answer.body) == {"secure": True}
    with pytest.raises(NoAnswer, match="certificate that cannot be verified"):
        exchange("GET", f"https://127.0.0.1:{secure.port}/", timeout=60)


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_session_of_tls_links_two_connections(
    version: ssl.TLSVersion, certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    server.minimum_version = server.maximum_version = version
    client = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr(connection, "_context", lambda: client)
    reused: list[bool | None] = []
    hellos: list[bytes] = []

    def serve(wire: Wire) -> None:
        hellos.append(wire.sock.recv(65536, socket.MSG_PEEK))
        with server.wrap_socket(wire.sock, server_side=True) as inner:
            reused.append(inner.session_reused)
            inner.recv(65536)
            inner.sendall(reply({}))  # and, with it, tickets for later

    with RecordingServer(serve) as recording:
        for _ in range(3):
            exchange("GET", f"https://localhost:{recording.port}/", timeout=60)
    assert reused == [False] * 3
    assert len({hello[44:76] for hello in hellos}) == 3  # the name of a session is made up anew


def test_tls_to_a_server_that_has_none_ends_in_time() -> None:
    with (
        RecordingServer(lambda wire: wire.send(b"HTTP/1.1 400 No\r\n\r\n")) as server,
        pytest.raises(NoAnswer, match="TLS|closed the connection"),
    ):
        exchange("GET", f"https://127.0.0.1:{server.port}/", timeout=60)
    with RecordingServer(Wire.wait) as server, pytest.raises(NoAnswer, match="within 0.3 s"):
        exchange("GET", f"https://127.0.0.1:{server.port}/", timeout=0.3)
