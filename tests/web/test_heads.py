"""Heads that do not come, come slowly, are too long, or can be read in two ways."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any, cast
from unittest.mock import Mock

import pytest
from tests.web.conftest import TOKEN, Client, FakeDesk, Server, make_plane
from tests.web.test_serve import FORM, head, status

from veil.text.vectors.embeddings import Embeddings
from veil.web.app import make_app
from veil.web.guard import HEAD_BYTES
from veil.web.server import PatientProtocol, WaitingRoom, bind, configured

LONG = 3_600.0  # seconds that no test waits for
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1"
Start = Callable[..., tuple[Server, WaitingRoom]]


@pytest.fixture
def start(desk: FakeDesk, space: Embeddings) -> Iterator[Start]:
    stops: list[Callable[[], None]] = []

    def begin(**limits: float) -> tuple[Server, WaitingRoom]:
        sock = bind("127.0.0.1", 0)
        server = Server(sock.getsockname()[1])
        server.app = make_app(
            desk, make_plane(), token=TOKEN, hosts=[server.host], vectors=lambda: space
        )
        made = configured(server, **({"head_seconds": LONG} | limits))  # type: ignore[arg-type]
        room = cast(Any, made.config.http).keywords["room"]
        thread = threading.Thread(target=made.run, kwargs={"sockets": [sock]})
        thread.start()

        def stop() -> None:
            desk.hold.set()
            made.should_exit = made.force_exit = True
            thread.join(10)
            assert not thread.is_alive()

        stops.append(stop)
        return server, room

    yield begin
    for stop in stops:
        stop()


def opened(server: Server, *pieces: bytes) -> socket.socket:
    sock = socket.create_connection(("127.0.0.1", server.port), timeout=30)
    for piece in pieces:
        sock.sendall(piece)
    return sock


def is_closed(sock: socket.socket) -> bool:
    """Wait until the other end is gone; what it says until then is passed over."""
    with sock, suppress(ConnectionError):
        while sock.recv(65536):
            pass
    return True


def drips(sock: socket.socket) -> bool:
    """Send byte after byte; tell whether the other end has enough before all are sent."""
    pause = threading.Event()
    try:
        for _ in range(3_000):
            sock.sendall(b"x")
            pause.wait(0.01)
    except ConnectionError:
        return True
    return False


def answered(sock: socket.socket) -> bytes:
    """Read one answer on a connection that stays open."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += sock.recv(65536)
    told, _, body = found.partition(b"\r\n\r\n")
    size = int(told.lower().partition(b"content-length: ")[2].split()[0])
    while len(body) < size:
        body += sock.recv(65536)
    return told + b"\r\n\r\n" + body


def asks(server: Server, *lines: str) -> bytes:
    return head("GET", "/plane", f"Host: {server.host}", *lines)


def test_a_head_that_does_not_come_is_not_waited_for(start: Start) -> None:
    server, room = start(head_seconds=0.2)
    waiting = [opened(server), opened(server, HALF), opened(server, b"\r\n"), opened(server, b"G")]
    assert all(map(is_closed, waiting))
    room.seconds = LONG
    assert status(server.get("/plane")) == 200


def test_a_head_in_drops_is_not_waited_for(start: Start) -> None:
    """Each byte would begin a time-out of silence anew."""
    server, _ = start(head_seconds=0.3)
    with opened(server, HALF) as sock:
        assert drips(sock)


def test_the_time_of_a_head_begins_once() -> None:
    later = Mock()
    patient = PatientProtocol.__new__(PatientProtocol)
    patient._room, patient._deadline = WaitingRoom(seconds=7.0, places=1, at_once=1), None
    patient.transport = Mock()
    patient.loop = Mock(call_later=later)
    for _ in range(3):
        patient._begin()
    later.assert_called_once_with(7.0, patient.transport.abort)
    patient._end()
    patient._begin()
    assert later.call_count == 2


def test_a_second_head_must_come_in_time_too(start: Start) -> None:
    server, room = start()
    with opened(server, asks(server)) as sock:
        assert status(answered(sock)) == 200
        sock.sendall(asks(server))
        assert status(answered(sock)) == 200
        room.seconds = 0.1
        sock.sendall(HALF)
        assert is_closed(sock)


def test_a_body_that_nobody_reads_must_come_in_time(start: Start) -> None:
    server, room = start()
    long = head("POST", "/plane", f"Host: {server.host}", "Content-Length: 99999")
    with opened(server, long) as sock:
        assert status(answered(sock)) == 405
        room.seconds = 0.1
        assert drips(sock)


def test_a_request_under_way_has_all_the_time(start: Start, desk: FakeDesk) -> None:
    server, _ = start(head_seconds=1)
    desk.hold.clear()
    search = head("GET", "/search?q=cat", f"Host: {server.host}", "Connection: close")
    with opened(server, search) as sock:
        assert is_closed(opened(server, HALF))  # later than the search, and out of time
        desk.hold.set()
        assert status(sock.recv(65536)) == 200


def test_connections_that_wait_do_not_keep_others_out(start: Start) -> None:
    server, _ = start(waiting=8, at_once=4)
    waiting = [opened(server, HALF) for _ in range(40)]
    with opened(server, asks(server)) as sock:
        assert status(answered(sock)) == 200
    assert all(map(is_closed, waiting[:32]))
    last = opened(server, asks(server, "Connection: close"))
    assert status(last.recv(65536)) == 200
    for sock in (*waiting, last):
        sock.close()


def test_connections_that_are_kept_leave_the_oldest_first(start: Start) -> None:
    server, _ = start(waiting=2)
    first, second = opened(server, asks(server)), opened(server, asks(server))
    answered(first), answered(second)
    first.sendall(asks(server))
    answered(first)  # it is younger than the second one now
    third = opened(server, HALF)
    assert is_closed(second)
    first.sendall(asks(server))
    assert status(answered(first)) == 200
    first.close()
    third.close()


def test_too_many_requests_at_once_are_refused(start: Start, desk: FakeDesk) -> None:
    server, _ = start(at_once=1)
    desk.hold.clear()
    search = head("GET", "/search?q=cat", f"Host: {server.host}", "Connection: close")
    with opened(server, search) as sock:
        while not desk.searched:
            threading.Event().wait(0.01)
        assert status(server.get("/plane")) == 503
        desk.hold.set()
        assert status(sock.recv(65536)) == 200
    assert status(server.get("/plane")) == 200


def test_forms_of_those_outside_do_not_keep_others_out(start: Start, desk: FakeDesk) -> None:
    server, _ = start(at_once=20)
    server.lets_in = False
    own = (f"Host: {server.host}", "Content-Length: 100", FORM)
    request = head("POST", "/enter", *own) + b"token="
    with ExitStack() as sockets:
        for _ in range(16):
            sockets.enter_context(opened(server, request))
        for _ in range(10):
            assert b"Try again" in answered(sockets.enter_context(opened(server, request)))
        assert status(server.get("/plane", f"Authorization: Bearer {TOKEN}")) == 200


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("more", "wanted"), [(-1, 200), (0, 200), (1, 431), (5_000, 431)])
def test_a_head_has_a_limit(server: Server, more: int, wanted: int, whole: bool) -> None:
    server.lets_in = False
    lines = (f"Host: {server.host}", "Connection: close", f"Authorization: Bearer {TOKEN}")
    short = len(head("GET", "/plane", *lines, "X-Long: "))
    request = head("GET", "/plane", *lines, f"X-Long: {'x' * (HEAD_BYTES - short + more)}")
    assert len(request) == HEAD_BYTES + more
    pieces = [request] if whole else [request[:-3], request[-3:]]
    reply = server.raw(pieces[0], *pieces[1:])
    assert status(reply) == wanted if whole or more < 2 else reply[:12] in (b"", b"HTTP/1.1 431")
    server.lets_in = True


def test_a_limit_is_for_the_address_as_well(server: Server) -> None:
    assert status(server.get(f"/plane?{'x' * HEAD_BYTES}")) == 431
    assert status(server.get(f"/{'x' * (HEAD_BYTES - 500)}")) == 404


@pytest.mark.parametrize("version", ["1.1", "1.0"])
@pytest.mark.parametrize("order", [1, -1])
def test_a_length_told_in_two_ways_is_refused(
    server: Server, desk: FakeDesk, order: int, version: str
) -> None:
    lengths = ["Content-Length: 5", "Transfer-Encoding: chunked"][::order]
    request = head("POST", "/search", f"Host: {server.host}", FORM, *lengths)
    request = request.replace(b"HTTP/1.1", f"HTTP/{version}".encode())
    smuggled = head("GET", "/search?q=cat", f"Host: {server.host}")
    reply = server.raw(request + b"0\r\n\r\n" + smuggled)
    assert status(reply) == 400
    assert reply.count(b"HTTP/1.1 ") == 1  # nothing that follows is read
    assert desk.searched == []


def test_chunks_alone_are_read(server: Server, desk: FakeDesk) -> None:
    own = (f"Host: {server.host}", "Connection: close", FORM, "Transfer-Encoding: chunked")
    assert status(server.raw(head("POST", "/search", *own) + b"5\r\nq=cat\r\n0\r\n\r\n")) == 200
    assert len(desk.searched) == 1


@pytest.mark.parametrize("name", ["Sec-Purpose", "Purpose", "X-Purpose", "X-Moz", "Moz-Purpose"])
@pytest.mark.parametrize(
    "value",
    ["prefetch", "preview", "Preview", "prefetch;prerender", "prefetch;anonymous-client-ip",
     "prerender", ": preview"],
)  # fmt: skip
def test_nothing_is_loaded_ahead(client: Client, desk: FakeDesk, name: str, value: str) -> None:
    for target in ("/search?q=cat", "/", f"/enter?token={TOKEN}"):
        assert client.ask("GET", target, {name: value}).status == 403
    assert desk.searched == []
