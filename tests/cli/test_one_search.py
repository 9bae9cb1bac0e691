"""One private search: what `veil search` spends, keeps and refuses is what `veil serve` does."""

import importlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio.from_thread
import pytest
from rich.console import Console
from tests.cli.conftest import CANARY, Result, Veil
from tests.search.conftest import BagEncoder
from tests.search.engines.recording import RecordingServer, leaks
from tests.web.conftest import HOST, TOKEN, Client, Reply, make_plane
from tests.web.serving import RecordingEngine, engine_spec

from veil.cli import results
from veil.proxy import opening, sticky
from veil.proxy.folder import data_folder
from veil.proxy.ledger.ledger import Ledger
from veil.proxy.mixer import Mixer
from veil.proxy.opening import open_desk
from veil.proxy.preflight import Preflight
from veil.proxy.private import PrivateDesk
from veil.proxy.settings import NO_LEDGER
from veil.text.log import QueryLog
from veil.text.mechanisms.mechanism import LAYOUT, UNKNOWN
from veil.web.app import make_app

MECHANISM, SIZE = "cmp(epsilon=2)", 3
QUERY = "flu cancer"
COST = 2 * 2 * SIZE  # epsilon x words x variants
Search = Callable[..., Result]
cli_search = importlib.import_module("veil.cli.results")


@pytest.fixture
def engine() -> RecordingEngine:
    return RecordingEngine()


@pytest.fixture
def wire(engine: RecordingEngine) -> Iterator[RecordingServer]:
    with RecordingServer(engine) as server:
        yield server


@pytest.fixture
def search(veil: Veil, wire: RecordingServer, vectors: str) -> Search:
    def call(*more: object) -> Result:
        base = ("--vectors", vectors, "--encoder", "none", "--mechanism", MECHANISM)
        return veil("search", "--engine", engine_spec(wire), *base, "--size", SIZE, *more)

    return call


class Page:
    """The page and its interface, as `veil serve` opens them."""

    def __init__(self, wire: RecordingServer, vectors: str) -> None:
        self._wire, self._vectors = wire, vectors

    def ask(self, query: str, budget: float | None = None) -> Reply:
        desk = open_desk(
            engine=engine_spec(self._wire),
            vectors=self._vectors,
            encoder="none",
            budget=budget,
            setting=None,
        )
        body = {"query": query, "mechanism": MECHANISM, "size": SIZE}
        with closing(desk), anyio.from_thread.start_blocking_portal() as portal:
            app = make_app(desk, make_plane(), token=TOKEN, hosts=[HOST])
            return Client(app, portal).post("/api/search", body)


@pytest.fixture
def page(wire: RecordingServer, vectors: str) -> Page:
    return Page(wire, vectors)


def found(reply: Reply) -> dict[str, object]:
    assert reply.status == 200, reply.text
    answers = reply.json()["answers"]
    assert isinstance(answers, list)
    return dict(answers[0])


def document(result: Result) -> dict[str, object]:
    assert result.code == 0, result.err
    return dict(json.loads(result.out))


def texts(variants: object) -> list[str]:
    assert isinstance(variants, Sequence)
    return [each if isinstance(each, str) else str(each["text"]) for each in variants]


def test_what_the_command_spends_the_page_cannot(
    search: Search, page: Page, wire: RecordingServer
) -> None:
    assert document(search("--json", QUERY))["spent"] == COST
    sent = wire.blob
    assert "are left; nothing was sent" in page.ask("dog bank", COST + 1).refused(403, "budget")
    assert wire.blob == sent
    assert found(page.ask("dog bank", 2 * COST))["spent"] == COST


def test_what_the_page_spends_the_command_cannot(
    search: Search, page: Page, wire: RecordingServer
) -> None:
    page.ask(QUERY)
    sent = wire.blob
    assert "nothing was sent" in search("--budget", COST + 1, f"{CANARY} dog").refused()
    assert wire.blob == sent
    assert document(search("--json", "--budget", 2 * COST, "dog bank"))["spent"] == COST


@pytest.mark.parametrize("first", ["command", "page"])
def test_the_same_query_has_the_same_variants_at_both_doors(
    search: Search, page: Page, engine: RecordingEngine, first: str
) -> None:
    doors: dict[str, Callable[[], dict[str, object]]] = {
        "command": lambda: document(search("--json", "Cancer, FLU")),
        "page": lambda: found(page.ask(QUERY)),
    }
    one, other = doors.pop(first)(), doors.popitem()[1]()
    assert texts(other["variants"]) == texts(one["variants"])
    assert (other["spent"], other["reused"], other["release"]) == (0, SIZE, one["release"])
    assert set(engine.texts) == set(texts(one["variants"]))  # and nothing else was sent


def test_both_doors_tell_the_same(search: Search, page: Page) -> None:
    here, there = document(search("--json", QUERY)), found(page.ask(QUERY))
    assert set(here) - set(there) == {"engine"}
    assert set(there) <= set(here)
    assert here["cost"] == there["cost"]
    assert [*here["budget"]] == [*there["budget"]]  # type: ignore[misc]
    assert all(isinstance(text, str) for text in here["variants"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("checked", [False, True])
def test_without_the_ledger_nothing_is_kept_and_it_is_said(
    search: Search, engine: RecordingEngine, tmp_path: Path, checked: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    attackers(monkeypatch)
    (tmp_path / "log.txt").write_text("money bank\n")
    flags = ["--no-ledger", *(["--log", tmp_path / "log.txt"] if checked else [])]
    told = document(search("--json", *flags, "flu cancer dog money"))
    assert (told["ledger"], told["note"], told["seeded"]) == (False, NO_LEDGER, False)
    assert [told[key] for key in ("release", "spent", "earlier", "budget")] == [None] * 4
    assert (told["preflight"] is not None) == checked
    again = search(*flags, "flu cancer dog money")
    assert NO_LEDGER in again.out
    assert "left for 24 hours" not in again.out
    assert not data_folder().exists()
    assert len(set(engine.texts)) > SIZE  # drawn anew
    assert "a fixed group is sent again" in NO_LEDGER  # cover draws nothing


def test_a_seed_keeps_off_the_ledger_and_the_network(
    search: Search, veil: Veil, wire: RecordingServer, vectors: str, tmp_path: Path
) -> None:
    assert "was released with a seed" in search("--seed", 1, f"{CANARY} flu").refused()
    assert wire.blob == b""
    (tmp_path / "d.jsonl").write_text('{"id": "d1", "text": "the flu"}\n')
    local = ("search", "--collection", tmp_path / "d.jsonl", "--vectors", vectors, "--encoder",
             "none", "--mechanism", MECHANISM, "--size", 4, "--json")  # fmt: skip
    first, second = (document(veil(*local, "--seed", 5, QUERY)) for _ in range(2))
    assert first == second
    assert (first["seeded"], first["ledger"], first["note"]) == (True, False, NO_LEDGER)
    assert not data_folder().exists()
    for flag in (("--seed", 1), ("--no-ledger",)):
        for limit in ("--budget", "--bits"):
            said = veil(*local, *flag, limit, 5, CANARY).refused()
            assert f"{limit} needs the ledger" in said


def spoil(how: str) -> None:
    folder = data_folder()
    if how == "open to others":
        folder.chmod(0o755)
    elif how == "damaged":
        (folder / "ledger.sqlite").write_bytes(b"no ledger" * 1_000)
    elif how == "empty":
        (folder / "ledger.sqlite").write_bytes(b"")
    else:
        (folder / "ledger.key").unlink()


@pytest.mark.parametrize("how", ["open to others", "damaged", "empty", "without its key"])
def test_nothing_is_sent_where_the_ledger_cannot_be_used(
    search: Search, wire: RecordingServer, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    monkeypatch.setenv("VEIL_KEYRING", "off")
    Ledger().close()
    spoil(how)
    refused = search(f"{CANARY} flu").refused()
    assert "Nothing was sent. For experiments, --no-ledger searches without" in refused
    assert wire.blob == b""
    assert search("--no-ledger", "flu").code == 0


def test_the_rules_are_those_of_the_page(
    search: Search, wire: RecordingServer, tmp_path: Path
) -> None:
    rules = tmp_path / "gate.toml"
    rules.write_text('[[rule]]\nname = "flu"\nwords = ["flu"]\naction = "refuse"\n')
    assert "flu" in search("--gate", rules, f"{CANARY} flu").refused()
    assert wire.blob == b""
    told = document(search("--gate", rules, "--json", "dog bank"))
    assert told["gate"] == {
        "action": "obfuscate",
        "reason": "None of your rules matches, so the query is obfuscated.",
        "rules": [],
    }


def attackers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the local attackers have an encoder that needs no file."""

    def preflight(log: QueryLog, encoder: str) -> Preflight:
        del encoder
        return Preflight(log, BagEncoder(), ("inference",))

    monkeypatch.setattr(opening, "Preflight", preflight)


def test_attackers_look_first_where_that_is_asked_for(
    search: Search, wire: RecordingServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opening, "open_preflight_log", lambda *_: pytest.fail("not asked for"))
    assert document(search("--json", QUERY))["preflight"] is None
    monkeypatch.undo()
    monkeypatch.setenv("VEIL_DATA", str(tmp_path / "data"))
    attackers(monkeypatch)
    log = tmp_path / "log.txt"
    log.write_text("mad doctor\nparis london\n")
    sent = wire.blob
    refused = search("--log", log, "--bound", 3, f"{CANARY} flu dog").refused()
    assert "which is within your limit; nothing was sent" in refused
    assert "needs a log" in search("--bound", 3, CANARY).refused()
    assert wire.blob == sent
    shown = search("--log", log, "hiv doctor").out  # it is waited for
    assert "Local attacks ran. The rank of your query is shown only on a terminal." in shown
    assert "ranks your query" not in shown
    monkeypatch.setattr(results, "stdout", lambda: Console(force_terminal=True, width=300))
    shown = search("--log", log, "hiv doctor").out
    assert "inference ranks your query" in shown
    assert "only on a terminal" not in shown
    (standing,) = document(search("--json", "--log", log, "hiv doctor"))["preflight"]["standings"]  # type: ignore[index]
    assert standing["candidates"] == 3


def test_the_screen_says_that_a_bound_chose(
    search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attackers(monkeypatch)
    monkeypatch.setattr(sticky, "exceeds_bound", lambda *_: False)
    log = tmp_path / "log.txt"
    log.write_text("mad doctor\nparis london\n")
    plain = search("dog bank").out
    assert "passed a local attack" not in plain
    assert "which reveals that the word is the same; no bound covers this." in plain
    assert not [usual for usual in (LAYOUT, UNKNOWN) if usual in plain]  # the manual has these
    chosen = "released because they, or variants they share samples with, passed a local attack"
    for flags in (["--log", log, "--bound", 1], [], ["--no-ledger", "--log", log, "--bound", 1]):
        assert chosen in search(*flags, "hiv doctor").out


@pytest.mark.parametrize(
    ("error", "code", "why"),
    [
        (KeyboardInterrupt, 130, "stopped"),
        (partial(OSError, 28, "No space left on device"), 2, "No space left on device"),
        (partial(RuntimeError, CANARY), 1, "internal error"),
    ],
)
def test_what_is_cut_short_says_that_variants_may_be_out(
    search: Search,
    monkeypatch: pytest.MonkeyPatch,
    error: Callable[[], BaseException],
    code: int,
    why: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error()

    for owner, name in ((Mixer, "ask"), (cli_search, "show_results"), (PrivateDesk, "ready")):
        with monkeypatch.context() as patched:
            patched.setattr(owner, name, fail)
            told = search("flu dog")
        assert (told.code, told.out.strip()) == (code, "")
        assert f"veil: {why}" in told.err
        sent = "; variants may have been sent and count as released." in told.err
        assert sent == (name != "ready")
        assert ("no file was written" in told.err) == (name == "ready")
        assert CANARY not in told.err


def test_a_recording_is_there_though_nobody_reads_the_results(
    search: Search, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object, **__: object) -> None:
        raise OSError(9, "Bad file descriptor")

    with monkeypatch.context() as patched:
        patched.setattr(cli_search, "show_results", closed)
        assert search("--record", tmp_path / "r.jsonl", QUERY).code == 2
    assert (tmp_path / "r.jsonl").stat().st_size
    monkeypatch.setattr(cli_search, "write_recording", closed)
    told = search("--record", tmp_path / "s.jsonl", QUERY)
    assert "What the engine saw" in told.out  # nor the other way round
    assert "Bad file descriptor; variants may have been sent" in told.err


def test_of_an_address_the_document_has_the_host(search: Search, wire: RecordingServer) -> None:
    told = document(search("--json", QUERY))["engine"]
    assert f"http(url='{wire.url}', " in str(told)
    assert "/ask" not in str(told)


def test_a_log_in_another_encoding_is_to_be_converted(search: Search, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(f"one\n{CANARY} \xe9\n".encode("latin-1"))
    refused = search("--log", tmp_path / "log.txt", CANARY).refused()
    assert "log.txt is not UTF-8 text after line 1. To fix this, convert it to UTF-8." in refused


@pytest.mark.parametrize("flags", [[], ["--no-ledger"], ["--unknown", "mask"]])
def test_a_query_is_in_nothing_that_is_sent_printed_or_kept(
    search: Search, wire: RecordingServer, flags: list[str]
) -> None:
    query = f"{CANARY} quokkapox flu"
    for more in ((), ("--json",), ("--size", 5)):
        result = search(*flags, *more, query)
        assert result.code == 0, result.err
        kept = [path.read_bytes() for path in data_folder().glob("*") if path.is_file()]
        assert bool(kept) == ("--no-ledger" not in flags)
        for secret in (CANARY, "quokkapox"):
            told = f"{result.out}{result.err}".encode()
            assert [leaks(seen, secret) for seen in (wire.blob, told, *kept)] == [
                [] for _ in range(2 + len(kept))
            ]


def test_the_screen_says_what_was_spent_and_what_is_left(search: Search) -> None:
    assert (
        f"Newly spent: {COST}; 88 are left for 24 hours (ledger entry 1"
        in search("--budget", 100, QUERY).out
    )
    again = search("--budget", "none", QUERY).out
    assert "No new variants: the earlier ones were sent again" in again
    assert "Newly spent: 0; no budget is set (ledger entry 1)" in again
    other = search("--select", "content", "--policy", "number=drop", QUERY).out
    assert f"Earlier releases of this query with other settings: {COST}, in addition." in other


def test_what_no_sum_covers_needs_a_search_without_a_budget(
    search: Search, wire: RecordingServer
) -> None:
    loose = ("--mechanism", "custext(epsilon=1, k=5, mapping='neighbours')")
    assert "--budget none" in search(*loose, f"{CANARY} flu").refused()
    assert wire.blob == b""
    assert "No sum covers it; no budget is set" in search(*loose, "--budget", "none", "flu").out
