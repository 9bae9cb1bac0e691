"""A private search page that is really served: all of its parts are real, but for the engine.

One server for many tests; each has a desk, a ledger and an application of its own.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.search.conftest import BagEncoder
from tests.web.conftest import TOKEN

from veil.core.errors import EngineError
from veil.core.types import Ranking, Released
from veil.corpus.collection import Collection, Document, Documents
from veil.dp.sql.database import Database
from veil.proxy.gate import Gate
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.mixer import Mixer
from veil.proxy.preflight import Preflight
from veil.proxy.private import PrivateDesk
from veil.proxy.slider import MeasuredPlane, load_plane, without_embedded
from veil.proxy.sticky import PreflightBound, StickyVariants
from veil.search.engines.engine import Hit, ranking
from veil.search.rerank import Reranker
from veil.sensitive.index import Stored
from veil.text.log import QueryLog
from veil.text.mechanisms.words import MECHANISMS
from veil.text.vectors.embeddings import Embeddings
from veil.web.app import make_app
from veil.web.server import bind, configured

WORDS = tuple(
    """
    knee pain fever cough sleep rash ankle throat stomach migraine allergy vaccine surgery clinic
    doctor nurse tablet bandage muscle bone skin heart lung kidney liver blood sugar vitamin diet
    garden tomato seed soil spring winter summer rain snow storm cloud river bridge castle museum
    train ticket harbour island hotel tent boat paddle saddle bicycle helmet engine wheel brake
    recipe flour butter cheese honey lemon pepper salad soup bread kettle spoon window carpet
    ladder hammer paint fence roof chimney piano violin novel poem painter theatre camera lens
    """.split()
)
QUERY = "knee pain Quokkapox"  # the last word is in no vocabulary
RIGHT = "Quokkapox of the knee"  # the title of the result that fits


REFUSE = '[[rule]]\nname = "numbers"\nkinds = ["number"]\naction = "refuse"\n'
LET = '[[rule]]\nname = "pain"\nwords = ["knee", "pain", "quokkapox"]\naction = "pass"\n'


def make_words() -> Embeddings:
    """Put words so far apart that one end of the slider draws at random, and the other copies."""
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(len(WORDS), 12)) * rng.uniform(0.3, 0.6, size=(len(WORDS), 1))
    return Embeddings(WORDS, vectors.astype(np.float32), "words")


HITS = (
    Hit("https://garden.example/seeds", 5.0, "Seeds for the spring", "tomato seed and soil"),
    Hit("https://train.example/tickets", 4.0, "Train tickets", "to the harbour and the island"),
    Hit("d17", 3.0, "", "A passage without a title or a link: paint the fence and the roof."),
    Hit("https://health.example/knee", 2.0, RIGHT, "knee pain quokkapox : what helps"),
)
MINE = Collection("mine", Documents.of([Document("d1", "", "a document of one's own")]))


@dataclass
class Web:
    """An engine on a network: it answers all alike, and keeps what it was sent.

    `fails` says of a variant why it has no answer. Clear `free` to hold what is asked, set it to
    let it go.
    """

    network: bool = True
    hits: Sequence[Hit] = HITS
    fails: Callable[[str], str] = lambda _: ""
    seen: list[str] = field(default_factory=list)
    free: threading.Event = field(default_factory=threading.Event)
    collection: Collection | None = None

    def __post_init__(self) -> None:
        self.free.set()

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        self.seen += map(str, queries)
        assert self.free.wait(60)
        for query in queries:
            if reason := self.fails(str(query)):
                raise EngineError(reason)
        return ranking([self.hits for _ in queries], k)


def first_fails(reason: str) -> tuple[list[str], Callable[[str], str]]:
    """Let the first variant have no answer; it is noted down which one that is."""
    gone: list[str] = []

    def fails(variant: str) -> str:
        if not gone:
            gone.append(variant)
        return reason if variant in gone else ""

    return gone, fails


class Switch:
    """Hands requests to whichever application is put in."""

    def __init__(self) -> None:
        self.app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


@dataclass
class Stage:
    """A server, and what is behind it now."""

    port: int
    switch: Switch
    words: Embeddings
    plane: MeasuredPlane
    folder: Path
    web: Web = field(default_factory=Web)
    desks: list[PrivateDesk] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def desk(self) -> PrivateDesk:
        return self.desks[-1]

    @property
    def start(self) -> int:
        """The stop at which the slider starts."""
        return self.plane.default

    @property
    def useful(self) -> int:
        """The stop at the other end, where words are often sampled again."""
        return len(self.plane.stops) - 1

    @property
    def many(self) -> int:
        """A stop with many variants, the most private of those."""
        return max(range(len(self.plane.stops)), key=lambda i: self.plane.stops[i].setting.size)

    @property
    def another(self) -> int:
        """A stop next to the one at which the slider starts."""
        return self.start - 1 if self.start else 1

    def mechanism(self, stop: int) -> str:
        return self.plane.stops[stop].setting.mechanism

    @property
    def size(self) -> int:
        """Variants at the start of the slider."""
        return self.plane.stops[self.start].setting.size

    def cost(self, words: int) -> float:
        """What so many words cost at the start of the slider."""
        guarantee = MECHANISMS.parse(self.mechanism(self.start)).guarantee
        return guarantee.epsilon * (words * self.size)

    @property
    def last(self) -> str:
        """The mechanism of the last release."""
        return self.desk.releases(1)[0].mechanism.partition(" in ")[0]

    def open(
        self,
        *,
        budget: float | None = 10_000,
        rules: str = "",
        bound: PreflightBound | None = None,
        own: bool = False,
        database: Database | None = None,
        sensitive: Stored | None = None,
    ) -> None:
        """Begin anew: an empty ledger, these rules, and the slider where it starts.

        `own` makes the engine one over documents of the user's own, on this machine.
        """
        if own:
            self.web.network, self.web.collection = False, MINE
        folder = self.folder / f"desk-{len(self.desks)}"
        folder.mkdir()
        gate = Gate.empty()
        if rules:
            (folder / "gate.toml").write_text(rules)
            gate = Gate.load(folder / "gate.toml")
        ledger, encoder = Ledger(folder / "veil"), BagEncoder()
        log = [f"{a} {b} {c}" for a, b, c in zip(WORDS, WORDS[1:], WORDS[2:50], strict=False)]
        desk = PrivateDesk(
            engine="bm25 over mine" if own else "searxng at search.example",
            untrusted=self.web,
            mixer=Mixer(self.web),
            vectors=lambda: self.words,
            ledger=ledger,
            # nobody stands in place 0: to ask for that waits until the attackers are ready
            drawer=StickyVariants(ledger, budget, bound or PreflightBound(0)),
            rules=gate,
            preflight=Preflight(QueryLog.of(log), encoder),
            reranker=Reranker(encoder),
            k=20,
        )
        self.desks.append(desk)
        self.switch.app = make_app(
            desk,
            self.plane,
            token=TOKEN,
            hosts=[f"127.0.0.1:{self.port}"],
            vectors=lambda: self.words,
            rate=100_000,
            database=database,
            sensitive=sensitive,
        )

    def close(self) -> None:
        self.web.free.set()
        for desk in self.desks:
            desk.close()


@contextmanager
def serving(switch: Switch) -> Iterator[int]:
    """Serve an application at a free port, and say which."""
    sock = bind("127.0.0.1", 0)
    port: int = sock.getsockname()[1]
    server = configured(switch)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(120)
        assert not thread.is_alive()


def shipped_plane(folder: Path) -> MeasuredPlane:
    """Load the plane that is shipped, whatever audits this machine has seen."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VEIL_DATA", str(folder))
        patch.chdir(folder)
        return without_embedded(load_plane())  # no table is built for a page


@dataclass
class Elsewhere:
    """Another site on this machine: pages by path, and what was asked of it."""

    port: int
    pages: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def address(self, path: str, host: str = "localhost") -> str:
        return f"http://{host}:{self.port}{path}"

    def link(self, path: str, to: str) -> None:
        """Put a page there that has a link and nothing else."""
        self.pages[path] = f"<!doctype html><title>Link</title><a href='{to}'>a link</a>"


@contextmanager
def elsewhere() -> Iterator[Elsewhere]:
    """Serve another site at a free port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            told = {name.lower(): value for name, value in self.headers.items()}
            site.asked.append((self.path, told))
            body = site.pages.get(self.path, "<!doctype html><title>Elsewhere</title>").encode()
            self.send_response(200)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *parts: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site = Elsewhere(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()
