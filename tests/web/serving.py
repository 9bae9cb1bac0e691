"""Start a real ``veil serve`` in a process of its own, against an engine that records.

The server has a home, a cache and a data folder of its own, and a hook that writes down every
connection that it makes, every program that it starts and every file that it opens for writing;
and that lets it reach nothing but this machine.
"""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.conftest import make_space
from tests.search.engines.recording import RecordingServer, Serve, Wire, read_request, reply
from tests.web.conftest import Reply

import veil

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(veil.__file__).parents[1]  # the very package that is tested
START = "from veil.cli import main; main()"
WORDS = tuple(make_space(300, 6).words)
LOG = tuple(" ".join(WORDS[i : i + 3]) for i in range(0, 240, 3))
_PATIENCE = 60.0  # seconds for what takes two on an idle machine

# Runs at the start of the server's process, before anything else.
_HOOK = """
import json, os, sys
_out = os.open(os.environ["AUDIT"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
_events = {
    "socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo",
    "socket.gethostbyname", "socket.gethostbyaddr", "subprocess.Popen", "os.system", "os.exec",
    "os.posix_spawn", "os.fork", "os.forkpty", "webbrowser.open", "urllib.Request",
}
def _note(event, args):
    if event == "open":
        if args[2] & (os.O_WRONLY | os.O_RDWR):
            os.write(_out, (json.dumps([event, str(args[0])]) + chr(10)).encode())
    elif event in _events:
        os.write(_out, (json.dumps([event, *map(str, args)]) + chr(10)).encode())
        if not event.startswith("socket.") or "'127.0.0.1'" not in repr(args):
            raise PermissionError("tests stay on this machine")
sys.addaudithook(_note)
"""


class RecordingEngine:
    """An engine behind a `RecordingServer`: it answers, waits or misbehaves as it is told.

    `texts` are the queries that arrived whole, in their order. `open` is cleared to let it hang,
    `fault` is what it does instead of answering.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.open = threading.Event()
        self.open.set()
        self.fault: Serve | None = None
        self.arrived = threading.Condition()

    def __call__(self, wire: Wire) -> None:
        if self.fault is not None:
            self.fault(wire)
            return
        text = str(json.loads(read_request(wire).body)["q"])
        with self.arrived:
            self.texts.append(text)
            self.arrived.notify_all()
        self.open.wait(_PATIENCE)
        wire.send(reply({"items": [_item(text, place) for place in range(3)]}))

    def wait_for(self, count: int) -> None:
        """Wait until so many queries arrived in all."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.texts) >= count, _PATIENCE)


def _item(text: str, place: int) -> dict[str, str]:
    words = text.split() or [""]
    return {
        "id": f"https://found.example/{place}/{words[place % len(words)]}",
        "title": f"<b>{text}</b>",
        "text": " ".join(words[place:] + words[:place]),
    }


def engine_spec(server: RecordingServer, **more: object) -> str:
    """Write the spec of an engine that sends JSON to the server by POST."""
    choices = {"timeout": 20, "attempts": 1, "concurrency": 4} | more
    told = ", ".join(f"{name}={value}" for name, value in choices.items())
    return (
        f"http(url='{server.url}/ask', method=POST, body='{{\"q\": {{query}}, \"n\": {{k}}}}',"
        f" items=items, title=title, text=text, {told})"
    )


@dataclass(frozen=True)
class House:
    """The folders of one user: `own` is all that a program may write to, `given` its input."""

    folder: Path

    @classmethod
    def build(cls, folder: Path) -> "House":
        made = cls(folder)
        for each in (made.own, made.given, made.own / "home", made.own / "tmp"):
            each.mkdir()
        (made.own / "data").mkdir(mode=0o700)
        space = make_space(300, 6)
        lines = (
            " ".join([word, *(f"{0.2 * number:.4f}" for number in vector)])
            for word, vector in zip(space.words, space.vectors, strict=True)
        )
        (made.given / "v.txt").write_text("\n".join(lines) + "\n")
        (made.given / "log.txt").write_text("\n".join(LOG) + "\n")
        (made.given / "sitecustomize.py").write_text(_HOOK)
        plugin = made.given / "bag-0.dist-info"
        plugin.mkdir()
        (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: bag\nVersion: 0\n")
        (plugin / "entry_points.txt").write_text(
            "[veil.encoders]\nbag = tests.reference.bag_plugin:Bag\n"
        )
        return made

    @property
    def own(self) -> Path:
        return self.folder / "own"

    @property
    def given(self) -> Path:
        return self.folder / "given"

    @property
    def data(self) -> Path:
        return self.own / "data"

    @property
    def environment(self) -> dict[str, str]:
        kept = {
            name: os.environ[name]
            for name in ("PATH", "LANG", "VEIL_KERNELS")
            if name in os.environ
        }
        own = {"HOME": "home", "VEIL_CACHE": "cache", "VEIL_DATA": "data", "TMPDIR": "tmp"}
        own |= {f"XDG_{name}_HOME": f"home/{name}" for name in ("CONFIG", "CACHE", "DATA")}
        return {
            **kept,
            **{name: str(self.own / place) for name, place in own.items()},
            "VEIL_KEYRING": "off",
            "AUDIT": str(self.own / "audit.jsonl"),
            "PYTHONPATH": os.pathsep.join([str(self.given), str(SOURCE), str(ROOT)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONWARNINGS": "default",
            "OMP_NUM_THREADS": "1",
        }

    def audit(self) -> list[list[str]]:
        """Return what the hook wrote down, of all servers up to now."""
        return [json.loads(line) for line in (self.own / "audit.jsonl").read_text().splitlines()]

    def contents(self) -> bytes:
        """Return all names and all bytes of what a program may write to, also while it does."""
        found = []
        for path in sorted(self.own.rglob("*")):
            found.append(str(path.relative_to(self.own)).encode())
            with suppress(FileNotFoundError, IsADirectoryError):
                found.append(path.read_bytes())
        return b"\n".join(found)


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    process: subprocess.Popen[bytes]
    port: int
    out: Path
    err: Path
    token: str = ""  # sent with every request

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def said(self) -> list[str]:
        """Return the lines on stderr, after checking that stdout has none."""
        assert self.out.read_bytes() == b""
        return self.err.read_text().splitlines()

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
    ) -> Reply:
        """Send one request, over a connection of its own."""
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        given = list(headers.items() if isinstance(headers, Mapping) else headers)
        names = {name.lower() for name, _ in given}
        if self.token and "authorization" not in names:
            given.append(("Authorization", f"Bearer {self.token}"))
        try:
            made.putrequest(method, target, skip_host="host" in names, skip_accept_encoding=True)
            for name, value in given:
                made.putheader(name, value.encode("latin-1", "replace"))
            if body and "content-length" not in names:
                made.putheader("Content-Length", str(len(body)))
            made.endheaders(body)
            found = made.getresponse()
            return Reply(found.status, found.getheaders(), found.read())
        finally:
            made.close()

    def get(self, target: str, **headers: str) -> Reply:
        return self.ask("GET", target, headers)

    def form(self, target: str, fields: Mapping[str, object], **headers: str) -> Reply:
        """Post a form, as our own page does."""
        own = {"Content-Type": "application/x-www-form-urlencoded"}
        own["Origin"] = f"http://{self.host}"
        return self.ask("POST", target, own | headers, urlencode(fields).encode())

    def post(self, target: str, content: object) -> Reply:
        """Post JSON, as a program does; bytes are sent as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.ask("POST", target, {"Content-Type": "application/json"}, body)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        self.process.wait(_PATIENCE)


@contextmanager
def serving(house: House, engine: str, *options: object) -> Iterator[Running]:
    """Run ``veil serve`` with the vectors of the house and the encoder `bag`.

    It is interrupted at the end, unless it is gone already.
    """
    command = [sys.executable, "-c", START, "serve", "--port", "0", "--no-browser"]
    command += ["--engine", engine, "--vectors", str(house.given / "v.txt"), "--rate", "1000000"]
    command += ["--encoder", "bag"]
    number = len(list(house.own.glob("err-*")))
    out, err = house.own / f"out-{number}", house.own / f"err-{number}"
    with out.open("wb") as stdout, err.open("wb") as stderr:
        process = subprocess.Popen(
            [*command, *map(str, options)],
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=house.own,
            env=house.environment,
        )
    try:
        port, token = _address(process, err)
        yield Running(process, port, out, err, token)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            assert process.wait(_PATIENCE) == 0, err.read_text()
            assert err.read_text().splitlines()[-1] == "Stopped."
    finally:
        process.kill()
        process.wait(_PATIENCE)


_ADDRESS = re.compile(r"(?s)at http://127\.0\.0\.1:(\d+)/enter\?token=(\S+)  .*\nGate: .*\n")


def _address(process: subprocess.Popen[bytes], err: Path) -> tuple[int, str]:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and process.poll() is None:
        # the last of the lines at the start: it is after the address
        if found := _ADDRESS.search(err.read_text()):
            return int(found[1]), found[2]
        time.sleep(0.02)
    pytest.fail(f"the server did not start: {err.read_text()}")
