"""Fusion and re-ranking."""

from pathlib import Path

import numpy as np
import pytest
from numpy.random import Generator
from tests.search.conftest import BagEncoder

from veil.core.types import Ranking
from veil.corpus.collection import Collection
from veil.encoders.vectors import document_vectors
from veil.search import rerank
from veil.search.engines.engine import Hit, ranking
from veil.search.pipeline import reciprocal_rank, truncate
from veil.search.rerank import Reranker


def lists_of(rows: list[list[str]], k: int, **more: str) -> Ranking:
    return ranking([[Hit(item, text=more.get(item, "")) for item in row] for row in rows], k)


def test_reciprocal_rank_by_hand() -> None:
    fused = reciprocal_rank(lists_of([["a", "b", "c"], ["b", "d"], []], 4))
    wanted = {"b": 1 / 62 + 1 / 61, "a": 1 / 61, "d": 1 / 62, "c": 1 / 63}
    assert fused.list(0) == tuple(wanted)
    assert np.allclose(fused.scores[0], list(wanted.values()))


def test_fusion_is_a_union_without_duplicates(rng: Generator) -> None:
    for _ in range(30):
        rows = [[f"i{i}" for i in rng.permutation(30)[: rng.integers(0, 12)]] for _ in range(6)]
        fused = reciprocal_rank(lists_of(rows, 12))
        assert sorted(fused.list(0)) == sorted({item for row in rows for item in row})
        assert (np.diff(fused.scores[0]) <= 0).all()
        score = {item: 0.0 for row in rows for item in row}
        for row in rows:
            for rank, item in enumerate(row, start=1):
                score[item] += 1 / (60 + rank)
        got = dict(zip(fused.list(0), fused.scores[0], strict=True))
        assert got == pytest.approx(score)


def test_one_list_keeps_its_order() -> None:
    assert reciprocal_rank(lists_of([["x", "m", "a"]], 5)).list(0) == ("x", "m", "a")


def test_nothing_fuses_to_nothing() -> None:
    fused = reciprocal_rank(lists_of([[], []], 3))
    assert fused.list(0) == ()
    assert truncate(fused, 3).items == ()


def test_hits_become_a_ranking() -> None:
    hits = [
        [Hit("a", 3.0, "A", ""), Hit("b", 5.0), Hit("a", 9.0), Hit("c", None, text="cc")],
        [Hit("a", float("nan"), "A", "aa")],
        [],
    ]
    made = ranking(hits, 3, ("", "", "broken"))
    assert made.list(0) == ("a", "b", "c")
    assert made.scores[0].tolist() == [3.0, 3.0, 1 / 3]  # the engine's order counts
    assert made.texts == ("aa", "", "cc")
    assert made.titles == ("A", "", "")
    assert made.index[2].tolist() == [-1, -1, -1]
    assert made.gaps == ("", "", "broken")


def test_reranking_sorts_by_the_true_query(encoder: BagEncoder) -> None:
    texts = {"a": "bone fever", "b": "skin cancer", "c": "skin fever", "d": "lung"}
    fused = reciprocal_rank(lists_of([["a", "b"], ["c", "a", "d"]], 5, **texts))
    got = Reranker(encoder).order("skin cancer", fused)
    scores = dict(
        zip(
            texts,
            encoder.encode(list(texts.values())) @ encoder.encode(["skin cancer"])[0],
            strict=True,
        )
    )
    assert list(got.list(0)) == sorted(texts, key=lambda item: -scores[item])
    assert np.allclose(got.scores[0], sorted(scores.values(), reverse=True), atol=1e-6)


def test_items_without_text_keep_their_place(encoder: BagEncoder) -> None:
    texts = {"b": "lung", "d": "skin cancer"}
    fused = reciprocal_rank(lists_of([["a", "b", "c", "d"]], 4, **texts))
    got = Reranker(encoder).order("skin cancer", fused)
    assert got.list(0) == ("a", "d", "c", "b")
    assert (np.diff(got.scores[0]) < 0).all()
    bare = reciprocal_rank(lists_of([["a", "c"]], 4))
    assert Reranker(encoder).order("skin cancer", bare) is bare


def test_only_so_many_passages_are_encoded(
    encoder: BagEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "DEEPEST", 2)
    texts = {"a": "lung", "b": "skin cancer", "c": "skin cancer"}
    fused = reciprocal_rank(lists_of([["a", "b", "c"]], 3, **texts))
    got = Reranker(encoder).order("skin cancer", fused)
    assert got.list(0) == ("b", "a", "c")
    assert (np.diff(got.scores[0]) < 0).all()


def test_known_vectors_are_used_and_others_stay_in_memory(
    collection: Collection, encoder: BagEncoder, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = document_vectors(collection.documents.passages, encoder, cache / "vectors")
    documents = collection.documents
    items = {documents.ids[i]: documents.passages[i] for i in range(5)} | {"x": "other words"}
    fused = reciprocal_rank(lists_of([list(items)], 9, **items))
    files = sorted(cache.rglob("*"))
    encoder.encoded.clear()
    reranker = Reranker(encoder, known)
    first = reranker.order("skin", fused)
    assert encoder.encoded == ["other words", "skin"]
    assert reranker.order("skin", fused).list(0) == first.list(0)
    assert encoder.encoded == ["other words", "skin", "skin"]
    assert sorted(cache.rglob("*")) == files
    alone = Reranker(encoder).order("skin", fused)
    assert alone.list(0) == first.list(0)
    monkeypatch.setattr(rerank, "_REMEMBERED", 2)
    bounded = Reranker(encoder)
    bounded.order("skin", fused)
    assert len(bounded._recent) == 2
