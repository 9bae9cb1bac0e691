"""Thousands of connections at once cost the server little, whoever opens them."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from tests.web.conftest import TOKEN
from tests.web.test_serve import head, status

from veil.web import peers
from veil.web.guard import KEPT
from veil.web.server import WaitingRoom, bind

FLOOD, LIMIT = 2_000, 768
linux = pytest.mark.skipif(sys.platform != "linux", reason="peers are known on Linux alone")
root = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="needs to become another user"
)
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Flooded:
    """A server that reports what connections cost it."""

    process: "subprocess.Popen[str]"
    port: int

    def report(self) -> SimpleNamespace:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        seconds, highest, count = self.process.stdout.readline().split()
        return SimpleNamespace(seconds=float(seconds), highest=int(highest), count=int(count))

    def cost(self, work: Callable[[], None]) -> float:
        """Return the processor time that the server spends while something is done."""
        before = self.report().seconds
        work()
        return float(self.report().seconds - before)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def page(self, sock: socket.socket, token: str = TOKEN) -> int:
        lines = (f"Host: 127.0.0.1:{self.port}", f"Authorization: Bearer {token}")
        sock.sendall(head("GET", "/robots.txt", *lines))
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += sock.recv(65536)
        top, _, body = answer.partition(b"\r\n\r\n")
        size = int(top.lower().partition(b"content-length: ")[2].split()[0])
        while len(body) < size:
            body += sock.recv(65536)
        return status(answer)

    def pages(self) -> None:
        """Ask for a page so many times, over one connection."""
        with self.connect() as sock:
            for _ in range(FLOOD):
                assert self.page(sock) == 200


@contextmanager
def flooded(*choices: str) -> Iterator[Flooded]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.web.flood_server", *choices],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        try:
            yield Flooded(process, int(process.stdout.readline()))
            process.communicate(timeout=60)
        finally:
            process.kill()


@pytest.mark.parametrize("means", ["diag", "tables"])
def test_a_flood_of_connections_costs_less_than_as_many_requests(means: str) -> None:
    count = FLOOD if means == "diag" else FLOOD // 4
    with flooded(means) as server, ExitStack() as sockets:

        def flood() -> None:
            for _ in range(count):
                sockets.enter_context(server.connect())
            with server.connect() as last:  # which is served when all others were accepted
                assert server.page(last) == 200

        spent = server.cost(flood)
        if means == "diag":
            assert spent < server.cost(server.pages)
        elif sys.platform == "linux":  # the tables are read once for many connections
            assert spent < count / 4 * _table_seconds()
        assert server.report().highest < LIMIT
        assert server.report().count == count + 1 + (means == "diag")


def _table_seconds() -> float:
    """Return the processor time of one reading of the tables."""
    before = time.process_time()
    for _ in range(10):
        peers.is_other_user(("127.0.0.1", 1), ("127.0.0.1", 2), peers._TABLES)
    return (time.process_time() - before) / 10


_OTHER = """
import socket, sys
socks, answers = [], set()
for _ in range(int(sys.argv[2])):
    socks.append(socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60))
for sock in socks[:int(sys.argv[3])]:
    try:
        answers.add(sock.recv(65536)[:12])
    except ConnectionError:
        answers.add(b"")
print(*sorted(answers), sep=chr(10))
"""


def _as_other_user(server: Flooded, count: int, closed: int) -> set[str]:
    """Open connections as another user, and return what the first of them receive."""
    python = next(
        (p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(p).exists()), ""
    )
    if not python:
        pytest.skip("no Python that others may run")
    found = subprocess.run(
        [python, "-S", "-c", _OTHER, str(server.port), str(count), str(closed)],
        user=65534, capture_output=True, text=True, timeout=600, check=False, cwd="/",
    )  # fmt: skip
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split("\n")) - {""}


@root
@pytest.mark.parametrize("means", ["diag", "tables"])
def test_strangers_are_closed_when_they_are_accepted(means: str) -> None:
    count = FLOOD if means == "diag" else FLOOD // 4
    with flooded(means) as server:
        with server.connect() as own:
            assert server.page(own) == 200
            seen = server.report().count
            answers = set[str]()
            spent = server.cost(lambda: answers.update(_as_other_user(server, count, count)))
            assert answers == {"b'HTTP/1.1 403'"}
            assert server.report().count == seen  # nothing was set up for them
            assert server.page(own) == 200  # and nobody was put out
        if means == "diag":
            assert spent < server.cost(server.pages) / 2
        assert server.report().highest < LIMIT


@root
def test_behind_a_proxy_strangers_leave_first() -> None:
    """A proxy may be of another user: the application decides, by the name."""
    with flooded("proxied") as server, server.connect() as own:
        assert server.page(own) == 200
        assert _as_other_user(server, 500, 300) <= {"b''"}  # the oldest of them
        assert server.report().count > 500
        assert server.page(own) == 200
        assert server.report().highest < LIMIT


@linux
def test_the_kernel_finds_the_owner_of_a_connection() -> None:
    for host in ("127.0.0.1", "::"):
        with bind(host, 0) as sock:
            assert peers.can_ask(sock)
            with socket.create_connection(("127.0.0.1", sock.getsockname()[1])) as client:
                end, address = socket.socket.accept(sock)
                ends = address[:2], end.getsockname()[:2]
                assert peers._ask(*ends) == {os.getuid()}
                assert not peers.is_other_user(*ends)
                assert peers._ask(ends[1], (ends[0][0], 1)) == set()  # what listens is no peer
                client.close()
                assert peers.is_other_user(*ends)  # given up: nobody's
                end.close()


@linux
def test_where_the_kernel_finds_nothing_the_tables_are_read_once_for_all(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """ENOENT is also what a kernel says that cannot look: it must find what is surely there."""
    reads: list[Path] = []
    table = tmp_path / "tcp"
    lines = [
        f"{n}: 0100007F:{n + 1:04X} 0100007F:223D 01 0:0 0:0 0 {os.getuid()} 0 77 1"
        for n in range(9)
    ]
    table.write_text("\n".join(["head", *lines]))
    read = Path.read_text

    def counted(path: Path, **choices: str) -> str:
        reads.append(path)
        return read(path, **choices)

    monkeypatch.setattr(Path, "read_text", counted)
    monkeypatch.setattr(peers, "_TABLES", (table,))
    monkeypatch.setattr(peers, "_look_up", lambda *ends: None)
    ends = [(("127.0.0.1", n + 1), ("127.0.0.1", 8765)) for n in range(9)]
    with bind("127.0.0.1", 0) as sock:
        assert not peers.can_ask(sock)
    assert peers.other_users(ends, diag=False) == [False] * 9
    assert len(reads) == 1
    assert peers.other_users([*ends, (("127.0.0.1", 99), ends[0][1])], diag=False)[-1]
    assert len(reads) == 1 + peers._TRIES

    def refuses(*ends: object) -> None:
        raise PermissionError

    monkeypatch.setattr(peers, "_look_up", refuses)  # as a sandbox does
    assert peers.other_users(ends) == [False] * 9


def test_a_turn_accepts_few_and_goes_on_in_the_next() -> None:
    with bind("127.0.0.1", 0) as sock, ExitStack() as sockets:
        sock.setblocking(False)
        for _ in range(40):
            sockets.enter_context(socket.create_connection(sock.getsockname()))

        def turn() -> int:
            for count in range(100):
                try:
                    sockets.enter_context(sock.accept()[0])
                except BlockingIOError:
                    return count
            return 100

        turns = [turn() for _ in range(4)]
        assert turns == [16, 16, 8, 0]


def test_a_full_room_puts_others_out_first() -> None:
    room = WaitingRoom(places=3, at_once=1, seconds=1.0)
    own = [Mock(app_state={KEPT: False}) for _ in range(4)]
    others = [Mock(app_state={KEPT: True}) for _ in range(2)]
    for connection in (own[0], others[0], others[1], own[1], own[2], own[3]):
        room.enter(connection)
    left = [one.transport.abort.called for one in (*own, *others)]
    assert left == [True, False, False, False, True, True]
