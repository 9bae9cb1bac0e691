"""A desk that searches nowhere, a small plane, and two ways to ask: in this process, and over a
socket."""

import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from urllib.parse import unquote, urlencode

import anyio.from_thread
import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from veil.core.errors import VeilError
from veil.core.guarantee import Guarantee
from veil.corpus.document_file import OpenedDocument
from veil.proxy.results import ResultItem, SearchOutcome, SentVariant, VariantPiece
from veil.proxy.settings import (
    Budget,
    Configuration,
    Decision,
    PreflightResult,
    Release,
    TruthRank,
)
from veil.proxy.slider import MeasuredPlane, SliderStop
from veil.search.locality import Locality
from veil.studies.results import Row
from veil.text.vectors.embeddings import Embeddings
from veil.web.app import make_app
from veil.web.server import bind, configured

CANARY = "xanthippe"
TOKEN = "a-token_" + "0123456789" * 3 + "abcde"  # of the form of real ones
LET_IN = f"Bearer {TOKEN}"
HOST = "127.0.0.1:8765"
ORIGIN = f"http://{HOST}"


def make_row(kind: str = "risk", score: float = 0.1, spec: str = "cmp(epsilon=1.0)") -> Row:
    risk = kind == "risk"
    return Row(
        "small", "bm25", "cmp", spec, "epsilon", 1.0, 5, "risk" if risk else "utility",
        "lazy" if risk else "nDCG@10", "inference" if risk else "", score, score / 2, score * 2,
        40, 1 / 500 if risk else None,
    )  # fmt: skip


def make_plane(stops: int = 3) -> MeasuredPlane:
    """Stops from private to useful: epsilon 1, 2, 3 and so on, with 5 variants."""
    made = tuple(
        SliderStop(
            Configuration(f"cmp(epsilon={i + 1}.0)", 5),
            make_row("risk", 0.1 * (i + 1)),
            make_row("utility", 0.2 * (i + 1)),
            float("nan") if i == 0 else 0.3 * i,
            "",
        )
        for i in range(stops)
    )
    rows = tuple(row for stop in made for row in (stop.risk, stop.utility))
    return MeasuredPlane("shipped with Veil", True, "small", "bm25", made, rows, 1)


def make_release(number: int) -> Release:
    when = datetime(2026, 11, 16, 9, 5, tzinfo=UTC)
    return Release(number, when, when, 1, "cmp(epsilon=1.0)", ("dog",), 1, 0, 5.0, False)


@dataclass
class FakeDesk:
    """Finds the same for everything, remembers what it was asked, and fails when told to.

    `fails` is raised by every search, `closed` by everything else. `hold` makes searches wait:
    clear it to hold them, set it to let them go.
    """

    engine: str = "fake"
    network: bool = True
    standing: Locality = "elsewhere"
    collection: str = ""
    fails: Exception | None = None
    closed: Exception | None = None
    decision: Decision = field(default_factory=lambda: Decision("obfuscate"))
    entries: list[int] = field(default_factory=lambda: list(range(120, 0, -1)))
    results: tuple[ResultItem, ...] = ()
    searched: list[tuple[str, Configuration, bool]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)
    kept: Configuration | None = None
    files: dict[str, OpenedDocument] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.hold.set()
        self.results = self.results or tuple(
            ResultItem(rank, f"https://example.org/{rank}", f"Title {rank}", "Text", 1 / rank)
            for rank in range(1, 31)
        )

    def gate(self, query: str) -> Decision:
        self._check()
        return self.decision

    def search(self, query: str, setting: Configuration, *, plain: bool = False) -> SearchOutcome:
        self.searched.append((query, setting, plain))
        self.hold.wait(120)
        if self.fails is not None:
            raise self.fails
        return self._found(setting, plain=plain)

    def search_here(self, query: str) -> SearchOutcome:
        assert self.standing == "own"
        found = self.search(query, Configuration("plain", 0), plain=True)
        return replace(found, here=True, ledger=False, release=0, spent=0.0, sent=0)

    def opened(self, name: str) -> OpenedDocument | None:
        self._check()
        return self.files.get(name)

    def search_all(self, queries: Sequence[str], setting: Configuration) -> list[SearchOutcome]:
        return [self.search(query, setting) for query in queries]

    def budget(self) -> Budget:
        self._check()
        return Budget("2026-11-16", 20.0, 100.0)

    def releases(self, count: int, before: int | None = None) -> tuple[Release, ...]:
        self._check()
        wanted = [number for number in self.entries if before is None or number < before]
        return tuple(make_release(number) for number in wanted[:count])

    def choose(self, setting: Configuration) -> None:
        self._check()
        self.kept = setting

    def chosen(self) -> Configuration | None:
        return self.kept

    def forget(self, number: int) -> bool:
        self._check()
        if number not in self.entries:
            return False
        self.entries.remove(number)
        return True

    def _check(self) -> None:
        if self.closed is not None:
            raise self.closed

    def _found(self, setting: Configuration, *, plain: bool) -> SearchOutcome:
        marks = (
            VariantPiece("dog", "changed"),
            VariantPiece(" ", "layout"),
            VariantPiece("cat", "same"),
        )
        return SearchOutcome(
            results=self.results,
            seen=()
            if plain
            else (SentVariant("dog cat", marks), SentVariant("cow hen", (), "No answer.")),
            setting=setting,
            release=7,
            words=2,
            kept=("the",),
            cost=Guarantee("metric-dp", 20.0, "euclidean", "release", "Only so far."),
            spent=20.0,
            earlier=float("inf"),
            reused=1,
            shared=0,
            sent=2,
            budget=Budget("2026-11-16", 40.0, 100.0),
            gate=self.decision,
            preflight=PreflightResult((TruthRank("inference", 3, 500),), waiting=("bayes",)),
            back=(4, 10),
            plain=plain,
        )


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    pairs: list[tuple[str, str]]
    body: bytes

    @property
    def headers(self) -> dict[str, str]:
        """All headers; one that comes twice fails."""
        found = dict(self.pairs)
        assert len(found) == len(self.pairs)
        return found

    @property
    def text(self) -> str:
        return self.body.decode()

    def json(self) -> dict[str, object]:
        assert self.headers["content-type"] == "application/json"
        found = json.loads(self.body, parse_constant=_no_number)
        assert isinstance(found, dict)
        return found

    def refused(self, status: int, kind: str = "input") -> str:
        """Check that a program was refused in one sentence; return it."""
        assert self.status == status, self.text
        found = self.json()
        assert set(found) == {"error", "kind"}
        assert found["kind"] == kind
        sentence = str(found["error"])
        assert sentence.endswith(".")
        assert CANARY not in sentence
        return sentence


def _no_number(constant: str) -> object:
    raise AssertionError(f"{constant} is not JSON")


class Client:
    """Asks an application in this process; one loop for all requests."""

    def __init__(self, app: ASGIApp, portal: anyio.from_thread.BlockingPortal) -> None:
        self.app, self.portal = app, portal

    def ask(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        body: bytes = b"",
        *,
        host: str | None = HOST,
        ends: bool = True,
        gone: bool = False,
        token: bool = True,
    ) -> Reply:
        """Send one request; a body that does not end (`ends`) never comes to a close.

        It has the token unless told otherwise.
        """
        given = list(headers.items() if isinstance(headers, Mapping) else headers)
        given += [] if host is None else [("host", host)]
        given += [("authorization", LET_IN)] if token else []
        path, _, query = target.partition("?")
        scope: Scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "query_string": query.encode("latin-1"),
            "headers": [(key.lower().encode(), value.encode("latin-1")) for key, value in given],
        }
        return self.portal.call(self._ask, scope, body, ends, gone)

    async def _ask(self, scope: Scope, body: bytes, ends: bool, gone: bool) -> Reply:
        waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": not ends}]
        waiting += [{"type": "http.disconnect"}] if gone else []
        sent: list[Message] = []

        async def receive() -> Message:
            if waiting:
                return waiting.pop(0)
            await anyio.sleep_forever()
            raise AssertionError

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return Reply(0, [], b"")
        assert [message["type"] for message in sent] == [
            "http.response.start",
            *["http.response.body"] * (len(sent) - 1),
        ]
        pairs = [(key.decode(), value.decode()) for key, value in sent[0]["headers"]]
        return Reply(sent[0]["status"], pairs, b"".join(one["body"] for one in sent[1:]))

    def get(self, target: str, **headers: str) -> Reply:
        return self.ask("GET", target, _spelt(headers))

    def form(self, target: str, fields: Mapping[str, object], **headers: str) -> Reply:
        """Post a form, as our own page does."""
        own = {"content-type": "application/x-www-form-urlencoded", "origin": ORIGIN}
        return self.ask("POST", target, own | _spelt(headers), urlencode(fields).encode())

    def post(self, target: str, content: object, **headers: str) -> Reply:
        """Post JSON, as a program does; bytes are sent as they are."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.ask(
            "POST", target, {"content-type": "application/json"} | _spelt(headers), body
        )


def _spelt(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


MakeClient = Callable[..., Client]


@pytest.fixture(scope="session")
def portal() -> Iterator[anyio.from_thread.BlockingPortal]:
    with anyio.from_thread.start_blocking_portal() as made:
        yield made


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def make_client(
    desk: FakeDesk, space: Embeddings, portal: anyio.from_thread.BlockingPortal
) -> MakeClient:
    def make(**choices: object) -> Client:
        known: dict[str, object] = {"hosts": [HOST], "vectors": lambda: space, "rate": 100_000}
        known["token"] = TOKEN
        app = make_app(desk, make_plane(), **(known | choices))  # type: ignore[arg-type]
        return Client(app, portal)

    return make


@pytest.fixture
def client(make_client: MakeClient) -> Client:
    return make_client()


@dataclass
class Server:
    """A real server on a free port; `app` is what it serves at the moment.

    Requests are given the token where `lets_in` is set, for tests that are not about it.
    """

    port: int
    app: ASGIApp | None = None
    lets_in: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None
        if self.lets_in:
            scope["headers"] = [*scope["headers"], (b"authorization", LET_IN.encode())]
        await self.app(scope, receive, send)

    def raw(self, request: bytes, *more: bytes) -> bytes:
        """Send bytes as they are, and return all that comes back until it is closed."""
        found = b""
        with (
            socket.create_connection(("127.0.0.1", self.port), timeout=120) as sock,
            suppress(ConnectionError),  # it was closed before all was sent
        ):
            with suppress(ConnectionError):
                for piece in (request, *more):
                    sock.sendall(piece)
            while piece := sock.recv(65536):
                found += piece
        return found

    def get(self, target: str, *lines: str, host: str | None = None) -> bytes:
        head = [f"GET {target} HTTP/1.1", f"Host: {host or self.host}", "Connection: close"]
        return self.raw("\r\n".join([*head, *lines, "", ""]).encode("latin-1"))

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"


@pytest.fixture(scope="session")
def running() -> Iterator[Server]:
    sock = bind("127.0.0.1", 0)
    server = Server(sock.getsockname()[1])
    made = configured(server)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [sock]})
    thread.start()
    yield server
    made.should_exit = True
    thread.join(120)
    assert not thread.is_alive()


@pytest.fixture
def server(running: Server, desk: FakeDesk, space: Embeddings) -> Server:
    running.app = make_app(
        desk,
        make_plane(),
        token=TOKEN,
        hosts=[running.host],
        vectors=lambda: space,
        patience=0.5,
    )
    running.lets_in = True
    return running


def errors() -> list[tuple[type[VeilError], int, str]]:
    """What a search can raise, with its status and kind."""
    from veil.core import errors as known

    return [
        (known.BudgetError, 403, "budget"),
        (known.GateError, 403, "gate"),
        (known.RiskError, 403, "risk"),
        (known.EngineError, 502, "engine"),
        (known.InputError, 422, "input"),
        (known.ParameterError, 422, "input"),
        (known.UnknownNameError, 422, "input"),
        (known.LawError, 422, "input"),
        (known.LedgerError, 500, "server"),
        (known.TrustError, 500, "server"),
        (known.AssetError, 500, "server"),
        (known.MissingExtraError, 500, "server"),
    ]
