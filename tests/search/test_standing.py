"""Where an engine stands: one decision, by which all doors search."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.search.conftest import BagEncoder

from veil.core.types import Ranking, Released
from veil.corpus.collection import Collection
from veil.search.api import engine
from veil.search.engines.local.replay import Recorded
from veil.search.locality import locality, open_engine


@pytest.mark.parametrize("spec", ["bm25", "tfidf", "dense"])
def test_documents_of_ones_own_are_told_from_the_catalogue(
    collection: Collection, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veil.search.engines.local.dense.encoder", lambda *_: BagEncoder())
    assert locality(engine(spec, collection)) == "own"
    assert locality(engine(spec, replace(collection, name="icd10cm"))) == "stand-in"


def test_an_index_is_ones_own(collection: Collection, tmp_path: Path) -> None:
    collection.save(tmp_path / "idx")
    assert locality(open_engine(f"bm25(index={tmp_path / 'idx'})")) == "own"


class Elsewhere:
    """An engine that does not say where it is, though it claims to have documents."""

    def __init__(self, collection: Collection, *told: bool) -> None:
        self.collection = collection
        for one in told:
            self.network = one

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        raise AssertionError


@pytest.mark.parametrize("told", [(), (True,), (None,), (0,)])
def test_only_who_says_so_is_here(collection: Collection, told: tuple[bool, ...]) -> None:
    assert locality(Elsewhere(collection, *told)) == "elsewhere"
    assert locality(Elsewhere(collection, False)) == "own"


def test_engines_on_a_network_are_elsewhere_also_on_this_machine() -> None:
    for spec in (
        "searxng(url=http://127.0.0.1:8888)",
        "opensearch(url=http://localhost, index=x)",
    ):
        assert locality(open_engine(spec)) == "elsewhere"
    assert locality(Recorded("x", {})) == "stand-in"
