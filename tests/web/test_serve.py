"""The real server: its socket, its silence, and the command that starts it."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.cli.conftest import Veil, surroundings, veil  # noqa: F401 - fixtures
from tests.conftest import make_space
from tests.sensitive.drawer import drawer
from tests.web.conftest import CANARY, FakeDesk, Server, make_plane

import veil.proxy.opening as opening
import veil.proxy.slider as planes
import veil.web.server as serving
from veil.core.errors import BudgetError, InputError, install_hint
from veil.proxy.folder import data_folder
from veil.proxy.settings import Budget, Configuration
from veil.text.vectors.embeddings import Embeddings
from veil.web.messages import HEADERS
from veil.web.token import own_token

EVERYWHERE = "0.0.0.0"  # noqa: S104
FORM = "Content-Type: application/x-www-form-urlencoded"


def head(method: str, target: str, *lines: str) -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", *lines, "", ""]).encode("latin-1")


def status(reply: bytes) -> int:
    assert reply.startswith(b"HTTP/1.1 "), reply[:100]
    return int(reply[9:12])


def posted(server: Server, body: bytes, *lines: str) -> bytes:
    own = (f"Host: {server.host}", f"Content-Length: {len(body)}", "Connection: close", FORM)
    return server.raw(head("POST", "/search", *own, *lines) + body)


def test_other_hosts_are_refused(server: Server, desk: FakeDesk) -> None:
    assert status(server.get("/search?q=a", host="evil.example")) == 421
    assert status(server.get("/search?q=a", host=f"evil.example:{server.port}")) == 421
    assert status(server.get("/search?q=a", f"Host: {server.host}")) == 400
    assert status(server.get("/search?q=a", "Host: evil.example")) == 400
    assert status(server.raw(head("GET", "/search?q=a", "Connection: close"))) == 400
    assert status(server.raw(b"GET /search?q=a HTTP/1.0\r\n\r\n")) == 400
    absolute = server.get(f"http://{server.host}/search?q=a")
    assert status(absolute) == 404
    assert desk.searched == []
    assert status(server.get("/search?q=a")) == 200


def test_a_form_of_another_site_is_refused(server: Server, desk: FakeDesk) -> None:
    assert status(posted(server, b"q=a", "Origin: http://evil.example")) == 403
    assert status(posted(server, b"q=a", "Origin: null", "Sec-Fetch-Site: cross-site")) == 403
    held = server.get("/search?q=a", "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate")
    assert status(held) == 200
    assert desk.searched == []
    assert status(posted(server, b"q=a", f"Origin: http://{server.host}")) == 200
    assert len(desk.searched) == 1


@pytest.mark.parametrize(
    ("encoded", "wanted"),
    [("nul%00in", 200), ("%E2%80%AE%D7%A9", 200), ("%F0%9F%98%80", 200), ("%zz%", 200),
     ("%ED%A0%80", 422), ("%ff", 422), ("x" * 100_000, 422), (quote("é") * 10_000, 200)],
)  # fmt: skip
def test_odd_queries(server: Server, desk: FakeDesk, encoded: str, wanted: int) -> None:
    assert status(server.get(f"/search?q={encoded}")) == wanted
    assert status(posted(server, f"q={encoded}".encode())) == wanted
    assert len(desk.searched) == (2 if wanted == 200 else 0)


def test_too_much_is_refused(server: Server, desk: FakeDesk) -> None:
    assert status(posted(server, b"q=" + b"x" * 300_000)) == 413
    endless = server.get("/", f"X-Long: {'x' * 3_000_000}")
    assert endless.startswith(b"HTTP/1.1 431 ") or endless == b""  # closed as it was written
    own = (f"Host: {server.host}", "Connection: close", FORM, "Transfer-Encoding: chunked")
    chunk = b"20000\r\n" + b"x" * 0x20000 + b"\r\n"
    assert status(server.raw(head("POST", "/search", *own), chunk, chunk, b"0\r\n\r\n")) == 413
    assert desk.searched == []


def test_a_slow_body_is_not_waited_for(server: Server, desk: FakeDesk) -> None:
    own = (f"Host: {server.host}", "Content-Length: 100", FORM)
    assert status(server.raw(head("POST", "/search", *own) + b"q=a")) == 408
    assert desk.searched == []


def test_head_and_hidden_names(server: Server) -> None:
    reply = server.raw(head("HEAD", "/", f"Host: {server.host}", "Connection: close"))
    told, _, body = reply.partition(b"\r\n\r\n")
    assert (status(reply), body) == (200, b"")
    names = [line.partition(b":")[0].lower().decode() for line in told.split(b"\r\n")[1:]]
    assert set(HEADERS) <= set(names)
    assert not {"server", "set-cookie", "x-powered-by"} & set(names)
    assert len(set(names)) == len(names)


def test_what_a_query_does_is_written_nowhere(
    server: Server,
    desk: FakeDesk,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(0)
    server.get(f"/search?q={CANARY}")
    posted(server, f"q={CANARY}".encode())
    server.get(f"/{CANARY}?{CANARY}", host=CANARY)
    server.raw(f"{CANARY} /{CANARY}\r\n{CANARY}\r\n\r\n".encode())
    server.get(f"/search?q={CANARY}\xff")
    server.get(f"/search?q={CANARY}", "Upgrade: websocket", "Connection: upgrade, close")
    desk.fails = BudgetError("Nothing is left.")
    assert b"Nothing is left." in server.get(f"/search?q={CANARY}")
    desk.fails = RuntimeError(CANARY)
    assert CANARY.encode() not in server.get(f"/search?q={CANARY}")
    with socket.create_connection(("127.0.0.1", server.port)) as gone:
        gone.sendall(head("POST", "/search", f"Host: {server.host}", "Content-Length: 99", FORM))
        gone.sendall(CANARY.encode())
    server.get("/")
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name != "asyncio"] == []
    assert not [record for record in caplog.records if CANARY in record.getMessage()]


def test_a_port_in_use_is_said(server: Server) -> None:
    with pytest.raises(InputError, match=f"Port {server.port} is in use"):
        serving.bind("127.0.0.1", server.port)
    with pytest.raises(InputError, match="an address of this machine"):
        serving.bind("no.such.host.invalid", 0)
    with pytest.raises(InputError, match="is not available"):
        serving.bind("192.0.2.1", 0)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """Start nothing, and remember what would have been."""
    found: list[dict[str, object]] = []

    def open_desk(**choices: object) -> object:
        found.append(choices)
        return ClosingDesk()

    def run(app: object, sock: socket.socket, *, proxied: bool) -> None:
        found.append({"app": app, "port": sock.getsockname()[1], "proxied": proxied})

    monkeypatch.setattr(opening, "open_desk", open_desk)
    monkeypatch.setattr(planes, "load_plane", lambda folder: make_plane())
    monkeypatch.setattr(serving, "run", run)
    return found


class ClosingDesk(FakeDesk):
    closings = 0
    space = make_space(60, 4)

    def close(self) -> None:
        ClosingDesk.closings += 1

    def prepare(self, setting: Configuration) -> None:
        self.prepared = setting

    def budget(self) -> Budget:
        return replace(super().budget(), bits=6.4919, bits_limit=300.0)


def test_the_command_says_what_is_going_on(veil: Veil, started: list[dict[str, object]]) -> None:  # noqa: F811
    before = ClosingDesk.closings
    result = veil("serve", "--port", 0, "--budget", 50, "-k", 7, "--engine", "bm25")
    assert (result.code, result.out) == (0, "")
    choices, server = started
    assert (choices["budget"], choices["k"], choices["on_bound"]) == (50.0, 7, "refuse")
    lines = result.err.splitlines()
    entrance = f"http://127.0.0.1:{server['port']}/enter?token={own_token()}"
    assert lines[0] == f"Private search at {entrance}  (Ctrl-C stops it)"
    assert lines[1:] == [
        "Anyone with this address has access: keep it secret. 'veil token' prints the token.",
        "Engine: fake, variants leave this machine.",
        "Budget: 100 may be spent in 24 hours; 20 spent in the last 24 hours.",
        "Budget for cover: 300 bits may be leaked in 24 hours; 6.49 bits leaked in the last 24"
        " hours.",
        "Slider: 3 settings of the audit (shipped with Veil).",
        "cover, the mechanism that hides most, is not on the slider: its table of wordnet has not"
        " been built. Run 'veil cover build wordnet' once, then start again.",
        f"Ledger: {data_folder()}",
        "Gate: no rules.",
        "Stopped.",
    ]
    assert ClosingDesk.closings == before + 1


def test_vectors_of_an_unusual_length_are_told_of(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "median length" not in veil("serve", "--port", 0, "--vectors", "own.txt").err
    usual = ClosingDesk.space
    monkeypatch.setattr(ClosingDesk, "space", Embeddings(usual.words, usual.vectors * 1_000))
    told = veil("serve", "--port", 0, "--vectors", "own.txt").err
    assert "with such vectors the usual budgets hide nearly nothing." in told


@pytest.mark.parametrize(
    ("arguments", "address"),
    [
        (["--host", "localhost"], "http://localhost:"),
        (["--host", EVERYWHERE, "--allow-host", "a.lan"], "http://127.0.0.1:"),
        (["--host", "127.0.0.1", "--allow-host", "a.lan"], "http://127.0.0.1:"),
        (["--host", "127.0.0.2"], "http://127.0.0.2:"),
    ],
)
def test_the_address_can_be_opened(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
    arguments: list[str],
    address: str,
) -> None:
    result = veil("serve", "--port", 0, *arguments)
    assert result.code == 0
    assert f"Private search at {address}" in result.err
    assert ("needs the token" in result.err) == (EVERYWHERE in arguments)


def test_the_browser_is_not_started_with_the_token(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other users see what programs are started with."""
    opened: list[str] = []
    running: list[str] = []

    def open_page(address: str) -> bool:
        opened.append(address)
        return True

    def begin(target: Callable[[str], bool], args: tuple[str], **_: object) -> object:
        running.append(Path(urlsplit(args[0]).path).read_text())
        target(*args)
        return SimpleNamespace(start=lambda: None)

    monkeypatch.setattr("webbrowser.open", open_page)
    command = import_module("veil.cli.serve")
    monkeypatch.setattr(command, "threading", SimpleNamespace(Thread=begin))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("DISPLAY", ":0")
    assert veil("serve", "--port", 0).code == 0
    assert [urlsplit(address).scheme for address in opened] == ["file"]
    assert own_token() not in opened[0]
    assert f"/enter?token={own_token()}" in running[0]
    assert not Path(urlsplit(opened[0]).path).exists()
    assert veil("serve", "--port", 0, "--no-browser").code == 0
    assert len(opened) == 1


def test_what_a_killed_server_left_is_removed(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
) -> None:
    own_token()
    old, young, other = (data_folder() / name for name in ("enter-a.html", "enter-b.html", "x"))
    for path in (old, young, other):
        path.write_text(own_token())
        path.chmod(0o600)
    for path in (old, other):
        os.utime(path, (0, 0))
    assert veil("serve", "--port", 0, "--no-browser").code == 0
    assert [path.exists() for path in (old, young, other)] == [False, True, True]


def test_no_budget_and_a_talkative_engine(veil: Veil, started: list[dict[str, object]]) -> None:  # noqa: F811
    spec = "http(url='http://127.0.0.1:1/?q={query}', items=x)"
    result = veil("serve", "--port", 0, "--budget", "none", "--engine", spec)
    assert started[0]["budget"] is None
    assert "end up in logs" in result.err
    body = "http(url='http://127.0.0.1:1/', method=POST, body='{\"q\": {query}}')"
    assert "end up in logs" not in veil("serve", "--port", 0, "--engine", body).err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--budget", "0"], "--budget must be"),
        (["--budget", "nan"], "--budget must be"),
        (["--budget", CANARY], "--budget must be"),
        (["--host", EVERYWHERE], "--allow-host NAME"),
        (["--host", "veil.example"], "--allow-host NAME"),
        (["--allow-host", "a/b"], "allowed host must"),
        (["--port", "70000"], "--port must be"),
        (["--engine", "nothing"], "nothing"),
        (["--bound", "0"], "--bound must be"),
        (["--on-bound", "wait"], "--on-bound must be"),
        (["--rate", "0"], "--rate must be"),
        (["--sensitive", "nowhere"], "veil sensitive index"),
    ],
)
def test_odd_options_are_refused(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
    arguments: list[str],
    told: str,
) -> None:
    assert told in veil("serve", *arguments).refused()
    assert started == []


def test_an_index_of_sensitive_documents_is_opened(
    veil: Veil,  # noqa: F811
    started: list[dict[str, object]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    made: list[Any] = []
    monkeypatch.setattr("veil.web.app.make_app", lambda *_, **named: made.append(named))
    documents = drawer(tmp_path).collection.documents
    assert veil("serve", "--port", 0, "--sensitive", tmp_path / "index").code == 0
    assert made[0]["sensitive"].collection.documents.digest == documents.digest
    assert veil("serve", "--port", 0).code == 0
    assert made[1]["sensitive"] is None


def test_a_port_in_use_opens_nothing(
    veil: Veil,  # noqa: F811
    server: Server,
    started: list[dict[str, object]],
) -> None:
    assert "is in use" in veil("serve", "--port", server.port).refused()
    assert started == []


@pytest.mark.parametrize("module", ["anyio", "jinja2", "starlette", "uvicorn"])
def test_the_extra_is_named_where_it_is_missing(
    veil: Veil,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    module: str,
) -> None:
    import veil as package

    monkeypatch.setattr(package, "web", package.web)  # as it was, when this is over
    for name in [*sys.modules]:
        if name.partition(".")[0] == module or name.startswith("veil.web"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    told = veil("serve", "--port", 0).refused()
    assert f"The search page needs {module}: {install_hint('web')}" in told


def test_all_extras_of_the_page_are_named_at_once(
    veil: Veil,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("veil.cli.serve.find_spec", lambda _: None)
    assert install_hint("search,web") in veil("serve", "--port", 0).refused()
    elsewhere = ("--engine", "searxng(url=http://127.0.0.1:9)", "--encoder", "none")
    assert install_hint("web") in veil("serve", "--port", 0, *elsewhere).refused()


PROGRAM = """
import veil.proxy.opening as opening, veil.proxy.slider as planes
from tests.web.conftest import make_plane
from tests.web.test_serve import ClosingDesk
from veil.cli import main
opening.open_desk = lambda **_: ClosingDesk()
planes.load_plane = lambda folder: make_plane()
main()
"""


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", "--port", "0"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=root,
        env=dict(os.environ, PYTHONWARNINGS="error", VEIL_DATA=str(tmp_path / "data")),
    ) as process:
        assert process.stderr is not None
        try:
            first = process.stderr.readline().decode()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/enter\?token=(\S+)", first)
            assert found is not None, first
            server = Server(int(found[1]))
            assert status(server.get(f"/search?q={CANARY}")) == 401
            let_in = f"Authorization: Bearer {found[2]}"
            assert status(server.get(f"/search?q={CANARY}", let_in)) == 200
            process.send_signal(signal.SIGINT)
            rest = process.stderr.read().decode()
            assert process.wait(120) == 0
        finally:
            process.kill()
    assert rest.splitlines()[-1] == "Stopped."
    assert CANARY not in first + rest
