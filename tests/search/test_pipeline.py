"""The whole way of a query: what is sent, what comes back, and what never leaves."""

from collections.abc import Sequence

import numpy as np
import pytest
from tests.search.conftest import BagEncoder

import veil
from veil.core.types import Engine, Ranking, Released, Seeded
from veil.corpus.collection import Collection, passage
from veil.search.engines.engine import Hit, check_call, ranking
from veil.search.pipeline import plain_depth
from veil.text.vectors.embeddings import Embeddings

pytest.importorskip("bm25s", reason="the extra 'search' is not installed")


class Spy:
    """An engine that remembers what it was asked, and answers with a local one."""

    def __init__(self, inner: Engine, network: bool = False) -> None:
        self.inner = inner
        self.network = network
        self.seen: list[Released] = []

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        check_call(queries, k, network=self.network)
        self.seen += queries
        return self.inner.search([Released(query) for query in queries], k)


@pytest.fixture
def spy(collection: Collection) -> Spy:
    return Spy(veil.engine("bm25", collection))


def test_identity_equals_plain_engine_and_reranker(
    collection: Collection, words: Embeddings, encoder: BagEncoder
) -> None:
    engine = veil.engine("bm25", collection)
    for start in range(0, 60, 3):
        query = " ".join(words.words[start : start + 3])
        plain = engine.search([veil.declassify(query)], 50)
        items = plain.list(0)
        places = [plain.items.index(item) for item in items]
        vectors = encoder.encode([passage(plain.titles[p], plain.texts[p]) for p in places])
        scores = vectors @ encoder.encode([query], "query")[0]
        wanted = [items[i] for i in np.argsort(-scores, kind="stable")]
        got = veil.ask(query, [veil.declassify(query)], engine, 50, encoder=encoder)
        assert list(got.list(0)) == wanted
        assert np.array_equal(got.scores[0], np.sort(scores.astype(np.float64))[::-1])


def test_only_variants_are_sent(spy: Spy, words: Embeddings, encoder: BagEncoder) -> None:
    query = " ".join(words.words[:3])
    result = veil.search(
        query, veil.CMP(epsilon=3), words, spy, size=7, k=20, encoder=encoder, rng=5
    )
    assert sorted(spy.seen) == sorted(result.variants[0])
    assert len(result.variants[0]) == 7
    assert query not in spy.seen  # with this seed
    assert result.cost.epsilon == 3 * 7 * 3
    assert result.gaps == ("",) * 7
    assert result.answers.index.shape == (7, 20)
    assert len(result.ranking) == 1
    assert len(result.ranking.list(0)) <= 20
    union = {result.answers.items[i] for i in np.unique(result.answers.index) if i >= 0}
    assert set(result.ranking.list(0)) <= union


def test_reranking_uses_the_true_query(spy: Spy, words: Embeddings, encoder: BagEncoder) -> None:
    query = " ".join(words.words[:3])
    result = veil.search(query, veil.CMP(epsilon=3), words, spy, 7, 20, encoder=encoder, rng=5)
    shown = result.ranking
    passages = [
        passage(shown.titles[shown.items.index(i)], shown.texts[shown.items.index(i)])
        for i in shown.list(0)
    ]
    scores = encoder.encode(passages) @ encoder.encode([query])[0]
    assert np.allclose(shown.scores[0], scores, atol=1e-6)
    fused = veil.search(query, veil.CMP(epsilon=3), words, spy, 7, 20, encoder=None, rng=5)
    assert fused.variants == result.variants
    assert set(fused.ranking.scores[0]) != set(shown.scores[0])


def test_a_seeded_release_stays_off_the_network(spy: Spy, words: Embeddings) -> None:
    spy.network = True
    query = words.words[0]
    with pytest.raises(veil.TrustError, match="released with a seed"):
        veil.search(query, veil.CMP(epsilon=3), words, spy, 3, 5, encoder=None, rng=1)
    with pytest.raises(veil.TrustError, match="released with a seed"):
        veil.search(
            query,
            veil.CMP(epsilon=3),
            words,
            spy,
            3,
            5,
            encoder=None,
            rng=np.random.default_rng(1),
        )
    assert not spy.seen
    veil.search(query, veil.CMP(epsilon=3), words, spy, 3, 5, encoder=None)
    assert len(spy.seen) == 3
    assert not any(isinstance(query, Seeded) for query in spy.seen)


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "The query is empty"),
        ("  \n", "The query is empty"),
        ("?!", "No word of the query would be protected"),
        ("x" * 10_001, "more than 10,000 characters"),
        ("a\ud800", "lone surrogate"),
        (None, "must be a string"),
    ],
)
def test_bad_queries_send_nothing(spy: Spy, words: Embeddings, query: str, sentence: str) -> None:
    with pytest.raises(veil.InputError, match=sentence):
        veil.search(query, veil.CMP(epsilon=3), words, spy, encoder=None)
    assert not spy.seen


def test_what_is_not_selected_is_not_sent_alone(spy: Spy, words: Embeddings) -> None:
    query = " ".join(words.words[:2])
    with pytest.raises(veil.InputError, match="No word of the query would be protected"):
        veil.search(query, veil.CMP(epsilon=3), words, spy, encoder=None, select=[words.words[9]])
    assert not spy.seen


def test_unknown_words_may_be_dropped_but_not_all(spy: Spy, words: Embeddings) -> None:
    with pytest.raises(veil.InputError):
        veil.search("qqqq", veil.CMP(epsilon=3), words, spy, encoder=None, unknown="drop")
    assert not spy.seen


class Careless:
    """An engine on a network, of somebody else, that checks nothing."""

    network = True

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        pytest.fail("it was handed something")


def test_the_pipeline_checks_what_it_hands_to_any_engine(words: Embeddings) -> None:
    with pytest.raises(veil.TrustError):
        veil.ask("my secret", ["my secret"], Careless(), encoder=None)  # type: ignore[list-item]
    query = words.words[0]
    with pytest.raises(veil.TrustError):
        veil.search(query, veil.CMP(epsilon=1), words, Careless(), encoder=None, rng=1)


def test_the_cost_tells_what_passed(spy: Spy, words: Embeddings) -> None:
    query = " ".join(words.words[:2])
    result = veil.search(
        query, veil.CMP(epsilon=3), words, spy, 2, 5, encoder=None, select=[words.words[0]]
    )
    assert "1 word passed unchanged" in result.cost.caveat


def test_the_cost_tells_what_epsilon_is_worth(spy: Spy, words: Embeddings) -> None:
    long = Embeddings(words.words, words.vectors * 1_000)
    result = veil.search(words.words[0], veil.CMP(epsilon=3), long, spy, 2, 5, encoder=None)
    assert "the usual budgets hide nearly nothing." in result.cost.caveat


class Half:
    """An engine that answers every other query."""

    network = True

    def search(self, queries: Sequence[Released], k: int) -> Ranking:
        check_call(queries, k, network=True)
        hits = [[Hit("page", 1.0, "title", "text")] if i % 2 else [] for i in range(len(queries))]
        return ranking(hits, k, ["" if i % 2 else "it was down." for i in range(len(queries))])


def test_gaps_are_reported_and_the_rest_is_used(words: Embeddings, encoder: BagEncoder) -> None:
    result = veil.search(words.words[0], veil.CMP(epsilon=3), words, Half(), 4, 5, encoder=encoder)
    assert result.ranking.list(0) == ("page",)
    assert result.gaps == ("it was down.", "", "it was down.", "")
    assert veil.came_back(words.words[0], result, Half(), encoder=encoder) is None


def test_came_back_counts_the_plain_results(
    collection: Collection, words: Embeddings, encoder: BagEncoder
) -> None:
    engine = veil.engine("bm25", collection)
    query = " ".join(words.words[:2])
    plain = veil.ask(query, [veil.declassify(query)], engine, 100, encoder=encoder).list(0)[:10]
    huge = veil.search(query, veil.TEM(epsilon=1e6), words, engine, 1, encoder=encoder, rng=0)
    assert veil.came_back(query, huge, engine, encoder=encoder) == 1.0  # the variant is the query
    far = veil.search(query, veil.CMP(epsilon=0.1), words, engine, 3, encoder=encoder, rng=0)
    shown = set(far.ranking.list(0)[:10])
    wanted = sum(item in shown for item in plain) / len(plain)
    assert veil.came_back(query, far, engine, encoder=encoder) == wanted < 1
    assert veil.came_back("nowhere", huge, engine, encoder=encoder) is None


def test_a_fair_comparison_is_as_deep_as_the_union(
    collection: Collection, words: Embeddings, encoder: BagEncoder
) -> None:
    """One document for each variant: plain search puts one in order, and as deep, several."""
    engine = veil.engine("bm25", collection)
    query = " ".join(words.words[:2])
    far = veil.search(query, veil.CMP(epsilon=0.1), words, engine, 6, 3, encoder=encoder, rng=0)
    union = {item for i in range(6) for item in far.answers.list(i)}
    assert plain_depth(far.answers) == len(union) > 3
    plain = veil.ask(query, [veil.declassify(query)], engine, len(union), encoder=encoder)
    shown = set(far.ranking.list(0)[:2])
    wanted = sum(item in shown for item in plain.list(0)[:2]) / 2
    assert veil.came_back(query, far, engine, 2, encoder=encoder, deep=True) == wanted
    assert plain_depth(Ranking((), np.empty((1, 0), dtype=np.int64), np.empty((1, 0)))) == 1


def test_a_failed_search_says_that_variants_were_sent(words: Embeddings) -> None:
    class Down:
        network = True

        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            raise veil.EngineError("It was down.")

    with pytest.raises(veil.EngineError, match=r"^It was down. Up to \d+ variants had been sent"):
        veil.search(words.words[0], veil.CMP(epsilon=1), words, Down(), 4, encoder=None)


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (0, "Nothing was sent."),
        (1, "One variant had been sent and counts as released."),
        (3, "3 variants had been sent and count as released."),
    ],
)
def test_a_failed_search_says_how_many_variants_were_sent(
    words: Embeddings, sent: int, told: str
) -> None:
    class Down:
        network = True

        def search(self, queries: Sequence[Released], k: int) -> Ranking:
            raise veil.EngineError("It was down.", sent=sent)

    with pytest.raises(veil.EngineError, match=rf"^It was down[.] {told}$"):
        veil.search(words.words[0], veil.CMP(epsilon=1), words, Down(), 4, encoder=None)
