"""Engines on this machine, against scoring every document by hand."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

import veil
from veil.core.errors import InputError, ParameterError, TrustError
from veil.core.types import Ranking
from veil.corpus.collection import Collection
from veil.corpus.lexical import analyse
from veil.search.engines.engine import Hit, ranking
from veil.search.engines.local import dense as dense_module
from veil.search.engines.local.dense import DenseEngine
from veil.testing import check_engine
from veil.text.vectors.embeddings import Embeddings

pytest.importorskip("bm25s", reason="the extra 'search' is not installed")


def released(texts: Sequence[str]) -> list[veil.Released]:
    return [veil.declassify(text) for text in texts]


def check_shape(answer: Ranking, n: int, k: int) -> None:
    assert answer.index.shape == answer.scores.shape == (n, k)
    assert len(set(answer.items)) == len(answer.items) == len(answer.texts) == len(answer.titles)
    assert answer.gaps == ("",) * n
    for row, scores in zip(answer.index, answer.scores, strict=True):
        length = int((row >= 0).sum())
        assert (row[length:] == -1).all()
        assert np.isneginf(scores[length:]).all()
        assert (np.diff(scores[:length]) <= 0).all()
        assert len(set(row[:length].tolist())) == length


@pytest.mark.parametrize("scheme", ["bm25", "bm25(k1=0.9, b=0.4)", "tfidf"])
def test_lexical_engines_rank_as_scoring_everything(
    collection: Collection, words: Embeddings, scheme: str
) -> None:
    engine = veil.engine(scheme, collection)
    queries = [" ".join(words.words[i : i + 3]) for i in range(0, 60, 3)] + ["nothing of it", ""]
    answer = engine.search(released(queries), 15)
    check_shape(answer, 22, 15)
    index = collection.lexical()
    if scheme == "tfidf":
        weights = index.weights("tfidf")
    else:
        weights = index.weights("bm25", *((0.9, 0.4) if "0.9" in scheme else (1.2, 0.75)))
    ids = list(collection.documents.ids)
    for row, query in enumerate(queries):
        scores = np.zeros(len(ids))
        for term in analyse(query):
            if term in index.terms:
                span = slice(*index.indptr[index.terms[term] :][:2])
                scores[index.docs[span]] += weights[span]
        order = [i for i in np.argsort(-scores, kind="stable") if scores[i] > 0][:15]
        assert answer.list(row) == tuple(ids[i] for i in order)
        assert np.allclose(answer.scores[row, : len(order)], scores[order], atol=1e-5)
    place = answer.items.index(answer.list(0)[0])
    position = ids.index(answer.items[place])
    assert answer.texts[place] == collection.documents.texts[position]
    assert answer.titles[place] == collection.documents.titles[position]


def test_dense_ranks_by_cosine_also_in_blocks(
    collection: Collection,
    words: Embeddings,
    encoder: BagEncoder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = encoder.encode(list(collection.documents.passages))
    engine = DenseEngine(collection, vectors, encoder)
    queries = [" ".join(words.words[i : i + 3]) for i in range(0, 30, 3)]
    answer = engine.search(released(queries), 20)
    check_shape(answer, 10, 20)
    scores = encoder.encode(queries, "query") @ vectors.T
    ids = list(collection.documents.ids)
    for row in range(10):
        order = np.argsort(-scores[row], kind="stable")[:20]
        assert answer.list(row) == tuple(ids[i] for i in order)
    monkeypatch.setattr(dense_module, "_BLOCK", 4 * 200 * 3)  # three queries at a time
    assert engine.search(released(queries), 20).items == answer.items
    assert engine.search([], 20).index.shape == (0, 20)


def test_an_engine_takes_released_strings_only(collection: Collection) -> None:
    engine = veil.engine("bm25", collection)
    for bad in (["secret words"], "secret words", [veil.declassify("a"), "secret words"], 5):
        with pytest.raises(TrustError) as caught:
            engine.search(bad, 5)  # type: ignore[arg-type]
        assert "secret" not in str(caught.value)
    for k in (0, -1, True, 2.5, 10**9):
        with pytest.raises(ParameterError, match="'k' must be an integer"):
            engine.search(released(["a"]), k)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["bm25", "tfidf"])
def test_check_suite(collection: Collection, words: Embeddings, name: str) -> None:
    check_engine(veil.engine(name, collection), [" ".join(words.words[:4]), "zzz"])


def test_check_suite_of_the_dense_engine(collection: Collection, encoder: BagEncoder) -> None:
    vectors = encoder.encode(list(collection.documents.passages))
    check_engine(DenseEngine(collection, vectors, encoder), ["any words"])


class Careless:
    """An engine that takes any string."""

    network = False

    def search(self, queries: Sequence[str], k: int) -> Ranking:
        return ranking([[Hit("a", 1.0)] for _ in queries], k)


def test_check_suite_finds_an_engine_that_takes_any_string() -> None:
    with pytest.raises(AssertionError, match="must refuse text that was not released"):
        check_engine(Careless(), ["any words"])


def test_what_is_made_of_a_released_string_is_not_released(collection: Collection) -> None:
    engine = veil.engine("bm25", collection)
    text = veil.declassify("some words")
    for other in (text.lower(), text + " more", f"{text}", text[:4], text.strip()):
        with pytest.raises(TrustError):
            engine.search([other], 5)  # type: ignore[list-item]


def test_local_engines_take_seeded_releases(collection: Collection, words: Embeddings) -> None:
    variants = veil.protect([words.words[0]], veil.CMP(epsilon=5), words, 3, rng=1)
    assert len(veil.engine("bm25", collection).search(variants[0], 5)) == 3


def test_saved_collection_by_its_folder(collection: Collection, tmp_path: Path) -> None:
    collection.save(tmp_path / "idx")
    query = released([collection.documents.texts[3]])
    for name in ("bm25", "tfidf"):
        there = veil.engine(f"{name}(index={tmp_path / 'idx'})")
        here = veil.engine(name, collection)
        assert there.search(query, 9).list(0) == here.search(query, 9).list(0)
        with pytest.raises(ParameterError, match=f"{name} engine needs either a collection"):
            veil.engine(name)
        with pytest.raises(ParameterError, match="either"):
            veil.engine(f"{name}(index=idx)", collection)
    with pytest.raises(InputError, match="Folder .* does not exist"):
        veil.engine(f"bm25(index={tmp_path / 'none'})")
    with pytest.raises(InputError, match="is not an index"):
        veil.engine(f"bm25(index={tmp_path})")
