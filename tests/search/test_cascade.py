"""Re-ranking in a cascade: a cheap order first, the model for the best of it."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.random import Generator
from tests.search.conftest import BagEncoder

from veil.core.errors import ParameterError
from veil.core.types import Ranking, Role, Singles
from veil.corpus.collection import Collection
from veil.encoders.vectors import document_vectors
from veil.search import rerank
from veil.search.engines.engine import Hit, ranking
from veil.search.pipeline import reciprocal_rank
from veil.search.rerank import LEAST, POOL, Reranker, cheap_order, cheap_scores

WORDS = "skin cancer lung fever bone heart liver blood cell nerve joint vein".split()
QUERY = "skin cancer"


def union_of(rng: Generator, count: int, bare: Sequence[int] = ()) -> Ranking:
    """One fused list; the items in `bare` have no text."""
    hits = [
        Hit(f"i{i}", text="" if i in bare else " ".join(rng.choice(WORDS, 6)) + f" n{i}")
        for i in range(count)
    ]
    return reciprocal_rank(ranking([hits], count))


def text_of(fused: Ranking, item: str) -> str:
    return fused.texts[fused.items.index(item)]


@pytest.mark.parametrize("pool", [60, 1_000])
def test_a_pool_as_large_as_the_union_is_the_full_order(
    encoder: BagEncoder, rng: Generator, pool: int
) -> None:
    fused = union_of(rng, 60)
    got = Reranker(encoder, pool=pool).order(QUERY, fused)
    scores = encoder.encode(list(fused.texts)) @ encoder.encode([QUERY])[0]
    assert got.list(0) == tuple(fused.items[i] for i in np.argsort(-scores, kind="stable"))
    assert np.allclose(got.scores[0], np.sort(scores)[::-1])


def test_the_pool_bounds_what_is_encoded_and_stands_above_the_rest(
    encoder: BagEncoder, rng: Generator
) -> None:
    fused = union_of(rng, 80)
    got = Reranker(encoder, pool=15).order(QUERY, fused)
    encoded, asked = encoder.encoded[:-1], encoder.encoded[-1]
    assert asked == QUERY
    assert len(encoded) == 15
    cheap = [fused.list(0)[i] for i in cheap_order(QUERY, fused.texts)]
    assert {text_of(fused, item) for item in cheap[:15]} == set(encoded)
    assert set(got.list(0)[:15]) == set(cheap[:15])
    assert list(got.list(0)[15:]) == cheap[15:]  # the others in the cheap order
    scores = (
        encoder.encode([text_of(fused, i) for i in got.list(0)[:15]]) @ encoder.encode([QUERY])[0]
    )
    assert (np.diff(scores) <= 1e-6).all()
    assert (np.diff(got.scores[0]) < 0).all()


def test_the_default_pool_is_used(encoder: BagEncoder, rng: Generator) -> None:
    Reranker(encoder).order(QUERY, union_of(rng, POOL + 50))
    assert len(encoder.encoded) == POOL + 1


def test_an_order_does_not_depend_on_what_was_searched_before(
    encoder: BagEncoder, rng: Generator
) -> None:
    fused = union_of(rng, 50)
    one = Reranker(encoder, pool=10)
    first = one.order(QUERY, fused)
    encoder.encoded.clear()
    assert one.order(QUERY, fused).list(0) == first.list(0)
    assert encoder.encoded == [QUERY]  # the vectors are remembered, and nothing more is encoded
    one.order("liver blood", fused)
    assert one.order(QUERY, fused).list(0) == first.list(0)
    assert Reranker(encoder, pool=10).order(QUERY, fused).list(0) == first.list(0)


def test_items_without_text_keep_their_place_in_a_cascade(
    encoder: BagEncoder, rng: Generator
) -> None:
    bare = (0, 7, 33)
    fused = union_of(rng, 40, bare)
    got = Reranker(encoder, pool=5).order(QUERY, fused)
    assert [got.list(0)[i] for i in bare] == [fused.list(0)[i] for i in bare]
    assert sorted(got.list(0)) == sorted(fused.list(0))
    assert len(encoder.encoded) == 5 + 1


def test_known_vectors_are_all_scored_and_cost_no_place_in_the_pool(
    collection: Collection, encoder: BagEncoder, rng: Generator
) -> None:
    known = document_vectors(collection.documents.passages, encoder)
    old = [Hit(f"old{i}", text=text) for i, text in enumerate(collection.documents.passages)]
    new = [Hit(f"new{i}", text=" ".join(rng.choice(WORDS, 5)) + f" n{i}") for i in range(20)]
    fused = reciprocal_rank(ranking([old + new], len(old) + len(new)))
    encoder.encoded.clear()
    got = Reranker(encoder, known, pool=4).order(QUERY, fused)
    assert len(encoder.encoded) == 4 + 1
    assert all(item.startswith("new") for item in got.list(0)[len(old) + 4 :])


def test_only_so_many_new_passages_are_looked_at(
    encoder: BagEncoder, rng: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerank, "DEEPEST", 12)
    fused = union_of(rng, 30)
    got = Reranker(encoder, pool=5).order(QUERY, fused)
    assert got.list(0)[12:] == fused.list(0)[12:]


class Gated(BagEncoder):
    """Waits in its first call until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def encode(self, texts: Sequence[str], role: Role = "document") -> Singles:
        if role == "document":
            self.begun.set()
            assert self.go.wait(30)
        return super().encode(texts, role)


@pytest.mark.parametrize(("same", "encoded"), [(True, 20), (False, 36)])
def test_searches_at_once_encode_a_passage_once(rng: Generator, same: bool, encoded: int) -> None:
    """And they share the pool: the second has 16 passages scored, where alone it has 20."""
    encoder, fused, other = Gated(), union_of(rng, 50), union_of(rng, 50)
    one = Reranker(encoder, pool=20)
    lists = [fused, fused if same else other]
    got: list[Ranking] = []
    threads = [
        threading.Thread(target=lambda each=each: got.append(one.order(QUERY, each)))
        for each in lists
    ]
    threads[0].start()
    assert encoder.begun.wait(30)
    threads[1].start()
    encoder.go.set()
    for thread in threads:
        thread.join(30)
    assert len(got) == 2
    assert len([text for text in encoder.encoded if text != QUERY]) == encoded


def test_letters_count_beside_the_cosine(encoder: BagEncoder, rng: Generator) -> None:
    fused = union_of(rng, 60)
    weight, cheap = 0.7, cheap_scores(QUERY, fused.texts)
    cosines = encoder.encode(list(fused.texts)) @ encoder.encode([QUERY])[0]
    wanted = cosines + weight * cosines.std() * cheap
    got = Reranker(encoder, letters=weight).order(QUERY, fused)
    assert np.allclose(got.scores[0], np.sort(wanted)[::-1], atol=1e-6)
    assert got.list(0) != Reranker(encoder).order(QUERY, fused).list(0)
    known = document_vectors(fused.texts, encoder)
    assert Reranker(encoder, known, letters=weight).order(QUERY, fused).list(0) == got.list(0)


def test_a_search_alone_has_the_whole_pool_again(encoder: BagEncoder, rng: Generator) -> None:
    one = Reranker(encoder, pool=40)
    with one._sharing() as first, one._sharing() as second, one._sharing() as third:
        assert (first, second, third) == (40, 20, LEAST)
    with one._sharing() as alone:
        assert alone == 40
    with Reranker(encoder, pool=5)._sharing() as small:
        assert small == 5


@pytest.mark.parametrize("letters", [-0.1, 11, float("nan")])
def test_a_bad_weight_is_refused(encoder: BagEncoder, letters: float) -> None:
    with pytest.raises(ParameterError, match="'letters'"):
        Reranker(encoder, letters=letters)


def test_a_fault_lets_others_go_on(encoder: BagEncoder, rng: Generator) -> None:
    one = Reranker(encoder, pool=5)
    encoder.encode = None  # type: ignore[method-assign, assignment]
    with pytest.raises(TypeError):
        one.order(QUERY, union_of(rng, 9))
    assert not one._turn.locked()
    assert one._busy == 0


@pytest.mark.parametrize("pool", [0, -1, 2.5, True, None])
def test_a_bad_pool_is_refused(encoder: BagEncoder, pool: object) -> None:
    with pytest.raises(ParameterError, match="'pool'"):
        Reranker(encoder, pool=pool)  # type: ignore[arg-type]


def test_the_cheap_order_goes_by_words_and_by_runs_of_letters() -> None:
    passages = ["bone fever", "cancerous growth", "skin cancer", "the skins", "lung"]
    assert cheap_order(QUERY, passages).tolist()[0] == 2
    assert set(cheap_order(QUERY, passages).tolist()[1:3]) == {1, 3}  # a stem, and letters alone


def test_the_cheap_order_counts_what_is_rare_among_the_passages() -> None:
    passages = ["skin one"] * 8 + ["cancer one", "skin one"]
    assert cheap_order(QUERY, passages).tolist()[0] == 8


def test_the_cheap_order_agrees_with_bm25_by_hand(rng: Generator) -> None:
    from veil.search.rerank import _bm25, _runs, _terms

    passages = [" ".join(rng.choice(WORDS, rng.integers(3, 9))) for _ in range(30)]
    counts, lengths = _terms(QUERY, passages)
    assert counts.tolist() == [
        [t.split().count("skin"), t.split().count("cancer")] for t in passages
    ]
    assert lengths.tolist() == [len(t.split()) for t in passages]
    runs, letters = _runs(QUERY, passages)
    asked = f" {QUERY} "
    wanted = sorted({asked[i : i + 4] for i in range(len(asked) - 3)})
    hand = [
        [sum(f" {text} "[i:].startswith(run) for i in range(len(text))) for run in wanted]
        for text in passages
    ]
    assert runs.tolist() == hand
    assert (np.diff(letters[np.argsort([len(t) for t in passages])]) >= 0).all()
    row, tf = 3, counts[3]
    df = (counts > 0).sum(axis=0)
    idf = np.log(1 + (30 - df + 0.5) / (df + 0.5))
    long = 1.2 * (0.25 + 0.75 * lengths[row] / lengths.mean())
    assert _bm25(counts, lengths)[row] == pytest.approx(float((idf * tf / (tf + long)).sum()))


@pytest.mark.parametrize("query", ["", "a", "the", "zzz", "\0", "\ud800", "日本語 皮膚"])
def test_a_query_that_tells_nothing_leaves_the_order(query: str) -> None:
    assert cheap_order(query, ["skin", "\0\0\0", "\udfff", ""]).tolist() == [0, 1, 2, 3]
    assert cheap_order(query, []).tolist() == []
