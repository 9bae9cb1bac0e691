"""Documents of one's own are searched for the query as it is; all else is searched privately."""

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.conftest import CANARY, Veil
from tests.search.engines.recording import RecordingServer, leaks
from tests.web.serving import RecordingEngine, engine_spec

from veil.corpus.catalogue import load_collection
from veil.proxy.folder import data_folder
from veil.search import locality
from veil.search.locality import HERE, SIMULATION, stand_in_notice

cli_search = importlib.import_module("veil.cli.results")
PRIVATE = ("--mechanism", "cmp(epsilon=2)", "--size", 3)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search with what needs no table, where nothing is named."""
    monkeypatch.setattr(cli_search, "usual_mechanism", lambda _: "cmp(epsilon=2)")


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    file = tmp_path / "docs.jsonl"
    texts = {"d1": f"the flu and {CANARY}", "d2": "a mad dog", "d3": "money in a bank"}
    lines = [json.dumps({"id": name, "text": text}) for name, text in texts.items()]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture
def wire() -> Iterator[RecordingServer]:
    with RecordingServer(RecordingEngine()) as server:
        yield server


@pytest.mark.parametrize("index", [False, True])
def test_they_are_searched_as_it_is_and_nothing_is_kept(
    veil: Veil, docs: Path, tmp_path: Path, index: bool
) -> None:
    own: tuple[object, ...] = ("--collection", docs)
    if index:
        assert veil("index", docs, "--out", tmp_path / "idx").code == 0
        own = ("--engine", f"bm25(index={tmp_path / 'idx'})")
    base = ("search", *own, "--encoder", "none", "--vectors", tmp_path / "none")
    shown = veil(*base, f"{CANARY} flu")  # nor are there vectors to draw with
    assert (shown.code, shown.err) == (0, "")
    assert shown.lines[0] == HERE
    assert "1 d1" in " ".join(shown.out.split())
    for word in ("variant", "cost", "epsilon", "saw"):
        assert word not in shown.out.lower()
    told = json.loads(veil(*base, "--json", f"{CANARY} flu").out)
    assert (told["plain"], told["standing"], told["note"]) == (True, "own", HERE)
    assert (told["variants"], told["sent"], told["size"], told["network"]) == ([], 0, 0, False)
    assert (told["ledger"], told["release"], told["cost"]["bits"]) == (False, None, 0)
    assert told["results"][0]["id"] == "d1"
    assert not data_folder().exists()


@pytest.mark.parametrize(
    "flags", [PRIVATE, ("--seed", 1), ("--size", 2), ("--select", "content"), ("--record", "r")]
)
def test_who_asks_for_variants_has_a_demonstration(
    veil: Veil, docs: Path, vectors: str, flags: tuple[object, ...], tmp_path: Path
) -> None:
    flags = tuple(tmp_path / "r.jsonl" if one == "r" else one for one in flags)
    base = ("search", "--collection", docs, "--encoder", "none", "--vectors", vectors)
    shown = veil(*base, *flags, "flu dog")
    assert (shown.code, shown.lines[0]) == (0, SIMULATION)
    assert "What the engine saw" in shown.out
    if flags == PRIVATE:
        told = json.loads(veil(*base, *flags, "--json", "flu dog").out)
        assert (told["plain"], told["standing"], len(told["variants"])) == (False, "own", 3)


def test_the_catalogue_stands_in_for_an_engine_elsewhere(
    veil: Veil, docs: Path, vectors: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = docs.rename(tmp_path / "icd10cm.jsonl")  # small, and of that name
    monkeypatch.setattr(locality, "load_collection", lambda *_: load_collection(file))
    base = ("search", "--encoder", "none", "--vectors", vectors, "--seed", 1)
    shown = veil(*base, "--size", 2, "flu dog")
    assert shown.lines[0] == stand_in_notice("icd10cm")
    assert "What the engine saw: 2 variants" in shown.out
    told = json.loads(veil(*base, "--json", "flu dog").out)
    assert (told["plain"], told["standing"]) == (False, "stand-in")


@pytest.mark.parametrize("flags", [(), ("--json",), ("--no-ledger",)])
def test_an_engine_on_a_network_is_never_searched_so(
    veil: Veil, wire: RecordingServer, vectors: str, flags: tuple[str, ...]
) -> None:
    base = ("search", "--engine", engine_spec(wire), "--encoder", "none", "--vectors", vectors)
    told = veil(*base, *flags, f"{CANARY} flu")
    assert told.code == 0, told.err
    assert wire.blob
    assert leaks(wire.blob, CANARY) == []
    assert HERE not in told.out
    assert "stands in" not in told.out
