"""The desk with documents of the user's own: as it is where that is safe, and nowhere else."""

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.search.conftest import BagEncoder
from tests.web.serving import LOG

from veil.core.errors import EngineError, GateError, TrustError
from veil.corpus.collection import Collection, Document, Documents
from veil.proxy import opening
from veil.proxy.opening import open_desk
from veil.proxy.private import PrivateDesk
from veil.search.engines.local.replay import Recorded
from veil.search.locality import open_engine
from veil.search.rerank import Reranker

QUERY = "quokkapox of the knee"


@pytest.fixture
def idx(tmp_path: Path) -> Path:
    texts = ["quokkapox", "the knee", "a dog and a cat"]
    docs = Documents.of(Document(f"d{i}", "", text) for i, text in enumerate(texts))
    return Collection("mine", docs, log=LOG).save(tmp_path / "idx").home or tmp_path


@pytest.fixture
def desk(idx: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PrivateDesk]:
    monkeypatch.setattr(opening, "reranker", lambda *_, **__: Reranker(BagEncoder()))
    rules = tmp_path / "gate.toml"
    rules.write_text('[[rule]]\nname = "dogs"\nwords = ["dog"]\naction = "refuse"\n')
    private_desk = open_desk(engine=f"bm25(index={idx})", folder=tmp_path / "veil", gate=rules)
    with closing(private_desk):
        yield private_desk


def test_nothing_of_the_query_is_written_down_or_counted(
    desk: PrivateDesk, tmp_path: Path
) -> None:
    assert (desk.standing, desk.collection) == ("own", "mine")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "veil").iterdir())}
    outcome = desk.search_here(QUERY)
    assert {path: path.read_bytes() for path in sorted((tmp_path / "veil").iterdir())} == before
    assert [item.id for item in outcome.results] == ["d1", "d0"]
    assert (outcome.plain, outcome.here, outcome.ledger, outcome.sent, outcome.seen) == (
        True, True, False, 0, (),
    )  # fmt: skip
    assert (outcome.cost.kind, outcome.cost.bits) == ("leakage", 0)
    assert outcome.news.startswith("Nothing was sent")
    assert desk.releases(1) == ()


def test_a_rule_that_refuses_holds(desk: PrivateDesk) -> None:
    with pytest.raises(GateError):
        desk.search_here("my dog")


@pytest.mark.parametrize(
    "engine", [Recorded("x", {}), open_engine("searxng(url=http://x.example)")]
)
def test_other_engines_never_get_a_query_so(desk: PrivateDesk, engine: Recorded) -> None:
    object.__setattr__(desk, "untrusted", engine)
    with pytest.raises(TrustError, match="nothing was sent") as told:
        desk.search_here(QUERY)
    assert "quokkapox" not in str(told.value)


def test_without_variants_there_is_no_ledger(idx: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        elsewhere = f"searxng(url=http://127.0.0.1:{server.getsockname()[1]})"
        for spec, members in ((f"bm25(index={idx})", False), (elsewhere, True)):
            instance = open_desk(
                engine=spec, encoder="none", folder=tmp_path / "none", once=True, plainly=True
            )
            with closing(instance):
                assert (instance.ledger is not None) == (tmp_path / "none").exists() == members


def test_an_engine_that_is_not_there_is_told_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a table nor a model is prepared for it, and there is no ledger."""
    monkeypatch.setattr(opening, "reranker", lambda *_, **__: pytest.fail("it was prepared"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
    for spec in (
        f"searxng(url=http://{address})",
        f"searxng(url=https://{address})",
        f"opensearch(url=http://{address}, index=docs)",
        f"http(url='http://{address}/?q={{query}}')",
    ):
        with pytest.raises(EngineError, match="Nothing was sent, and nothing was counted") as told:
            open_desk(engine=spec, folder=tmp_path / "none", once=True)
        assert told.value.sent == 0
    assert not (tmp_path / "none").exists()
