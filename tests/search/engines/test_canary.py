"""The trust boundary: nothing of a true query leaves, by no way and whatever the engine does."""

import base64
import inspect
import json
import logging
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import pytest
from tests.search.engines.misbehaviour import MISBEHAVIOUR, POSTGRES_MISBEHAVIOUR, postgres
from tests.search.engines.recording import RecordingServer, Serve, contents, http, leaks, reply

import veil
from veil.core.errors import EngineError, TrustError
from veil.core.types import Ranking, Released, Seeded
from veil.search.engines import ENGINES
from veil.search.engines.engine import Hit
from veil.search.engines.network.exchange import exchange
from veil.search.engines.network.remote import Remote
from veil.testing import check_engine

TRUE_QUERY = "xanthoma quokkapox zebrafish-7731"
VARIANTS = [veil.declassify(text) for text in ("marmalade teapot-1234", "lantern umbrellas")]
LOCAL = {"bm25", "dense", "replay", "tfidf"}
ITEM = {"id": "7", "_id": "7", "url": "7", "_source": {}, "title": "t", "text": "x"}
ANSWER = {"items": [ITEM], "results": [ITEM], "hits": {"hits": [ITEM]}}

# One row for each engine that reaches a network: its parameters at a port, and a good server.
GOOD = http(lambda _: reply(ANSWER))
ROWS: dict[str, tuple[Callable[[int], dict[str, object]], Serve]] = {
    "http": (
        lambda port: {"url": f"http://127.0.0.1:{port}/s?q={{query}}&n={{k}}", "items": "items"},
        GOOD,
    ),
    "opensearch": (lambda port: {"url": f"http://127.0.0.1:{port}", "index": "docs"}, GOOD),
    "postgres": (
        lambda port: {
            "dsn": f"host=127.0.0.1 port={port} user=u dbname=d sslmode=disable",
            "table": "docs",
        },
        postgres([("7", "1", "t", "x")]),
    ),
    "searxng": (lambda port: {"url": f"http://127.0.0.1:{port}"}, GOOD),
}


@pytest.fixture(autouse=True)
def surroundings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for name in ("", "urllib3", "psycopg", "http", "veil"):
        caplog.set_level(logging.DEBUG, logger=name)


class Everything:
    """All that can be seen from outside."""

    def __init__(
        self, folder: Path, log: pytest.LogCaptureFixture, printed: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self.log, self.printed = folder, log, printed
        self.said: list[str] = []  # messages and gaps

    def local(self) -> bytes:
        """What stays on the machine but is no place for a query: logs, messages, files."""
        out = self.printed.readouterr()
        texts = [out.out, out.err, self.log.text, *map(str, self.log.records), *self.said]
        return "\n".join(texts).encode() + contents(self.folder)


@pytest.fixture
def everything(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> Everything:
    return Everything(tmp_path, caplog, capsys)


def build(name: str, port: int, timeout: float = 20.0) -> Remote:
    quick = {"timeout": timeout, "attempts": 1, "concurrency": 2}
    engine = ENGINES.get(name).load(ROWS[name][0](port) | quick).open()
    assert isinstance(engine, Remote)
    assert engine.network
    return engine


def test_every_engine_is_either_local_or_has_a_row_here() -> None:
    assert set(ROWS) | LOCAL == set(ENGINES.builtin)
    assert not set(ROWS) & LOCAL


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_local_engines_name_nothing_that_reaches_a_network(name: str) -> None:
    module = Path(inspect.getfile(ENGINES.get(name)))
    imports = [line for line in module.read_text().splitlines() if "import" in line.split()[:4]]
    for word in ("remote", "exchange", "connection", "socket", "urllib", "http.client", "psycopg"):
        assert not any(word in line for line in imports)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_good_engine_sees_the_variants_and_nothing_else(
    name: str, everything: Everything
) -> None:
    with RecordingServer(ROWS[name][1]) as server:
        answers = build(name, server.port).search(VARIANTS, 3)
    assert [answers.list(row) for row in range(2)] == [("7",), ("7",)]
    assert all(leaks(server.blob, variant) for variant in VARIANTS)  # the recorder records
    assert server.connections == len(VARIANTS)
    assert leaks(server.blob, TRUE_QUERY) == []
    assert leaks(everything.local(), TRUE_QUERY) == []
    assert all(leaks(everything.local(), variant) == [] for variant in VARIANTS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_check_suite(name: str) -> None:
    with RecordingServer(ROWS[name][1]) as server:
        check_engine(build(name, server.port), list(VARIANTS), 3)


FAULTS = {"postgres": POSTGRES_MISBEHAVIOUR}


@pytest.mark.parametrize(
    ("name", "fault"),
    [(name, fault) for name in sorted(ROWS) for fault in FAULTS.get(name, MISBEHAVIOUR)],
)
def test_a_bad_engine_learns_no_more_and_nothing_is_quoted(
    name: str, fault: str, everything: Everything
) -> None:
    with RecordingServer(FAULTS.get(name, MISBEHAVIOUR)[fault]) as server:
        engine = build(name, server.port, timeout=0.4)
        with pytest.raises(EngineError) as raised:
            engine.search(VARIANTS, 3)
    everything.said += [str(raised.value), repr(raised.value), repr(raised.value.__cause__)]
    assert str(raised.value).endswith(".")
    assert leaks(server.blob, TRUE_QUERY) == []
    seen = everything.local()
    assert [leaks(seen, text) for text in (TRUE_QUERY, *VARIANTS)] == [[], [], []]


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.parametrize("kind", [str, Seeded])
def test_what_was_not_released_is_refused_before_a_connection_is_made(
    name: str, kind: type[str], everything: Everything
) -> None:
    with RecordingServer(ROWS[name][1]) as server:
        engine = build(name, server.port)
        with pytest.raises(TrustError) as raised:
            engine.search([*VARIANTS, kind(TRUE_QUERY)], 3)  # type: ignore[list-item]
    everything.said += [str(raised.value)]
    assert server.connections == 0
    assert leaks(everything.local(), TRUE_QUERY) == []


class Cheat(Remote):
    """An engine that smuggles a text out beside the query."""

    name: ClassVar[str] = "cheat"

    url: str
    loot: str

    def ask(self, query: Released, k: int) -> list[Hit]:
        raise NotImplementedError

    def search(self, queries: list[Released], k: int) -> Ranking:  # type: ignore[override]
        exchange("POST", self.url, timeout=60, body=self.loot.encode(), kind="text/plain")
        raise NotImplementedError


WAYS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "upper": str.upper,
    "title": str.title,
    "one word": lambda text: text.split()[1],
    "part of a word": lambda text: f"/{text.split('-')[0].split()[-1]}/",
    "url": urllib.parse.quote_plus,
    "every byte": lambda text: "".join(f"%{ord(letter):02X}" for letter in text),
    "json": lambda text: json.dumps({"a": [text]}),
    "escaped": lambda text: "".join(f"\\u{ord(letter):04x}" for letter in text),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64, shifted": lambda text: base64.b64encode(b"q=" + text.encode()).decode(),
    "base64, of a header": lambda text: base64.urlsafe_b64encode(b"?" + text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "backwards": lambda text: text[::-1],
    "wide": lambda text: text.encode("utf-16-le").decode(),
}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_the_detector_finds_a_leak(way: str) -> None:
    with RecordingServer(GOOD) as server:
        cheat = Cheat(url=server.url, loot=WAYS[way](TRUE_QUERY))
        with pytest.raises(NotImplementedError):
            cheat.search(VARIANTS, 3)
    assert leaks(server.blob, TRUE_QUERY)


def test_the_detector_finds_a_leak_in_files_and_logs(everything: Everything) -> None:
    assert leaks(everything.local(), TRUE_QUERY) == []
    (everything.folder / "cache").mkdir()
    (everything.folder / "cache" / "Quokkapox.json").write_text("{}")
    assert leaks(everything.local(), TRUE_QUERY) == ["quokkapox"]
    logging.getLogger("urllib3").debug("GET /?q=xanthoma")
    assert leaks(everything.local(), TRUE_QUERY) == ["xanthoma", "quokkapox"]
