"""FEA: the same keyqueries as by listing everything, and none that tells the text."""

import math
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import scrambling, tiny_wordnet

from veil.core.errors import ParameterError, VeilError
from veil.corpus.catalogue import Collection
from veil.corpus.collection import Document, Documents
from veil.corpus.lexical import analyse, term_of, words_of
from veil.corpus.tokens import STOP_WORDS
from veil.corpus.wordnet import Thesaurus, wordnet
from veil.text.mechanisms.queries import QUERY_MECHANISMS, fea
from veil.text.mechanisms.queries._secret import Secret
from veil.text.mechanisms.queries.fea import (
    FEA,
    KeyqueryIndex,
    OpenedFEA,
    candidates,
    combinations,
)

TOPICS = [
    "melanoma sunlight mole dermatologist biopsy pigment margin",
    "lung cancer smoking cough biopsy chest thorax oncologist tobacco",
    "dog puppy leash kennel vaccine rabies veterinary tobacco",
    "paris museum river cafe tower bridge tourist cough",
    "cholera water outbreak vaccine dehydration epidemic tourist",
]


def corpus(count: int = 60, seed: int = 3) -> list[str]:
    """Texts of random words of one topic each, with some words of others and stop words."""
    draw = random.Random(seed)
    result = []
    for number in range(count):
        own = TOPICS[number % len(TOPICS)].split()
        other = draw.choice(TOPICS).split()
        words = draw.choices(own, k=draw.randint(3, 9)) + draw.choices(other, k=2)
        words.insert(2, "the")
        result.append(" ".join(words))
    return result


TEXTS = corpus()


def collection(texts: list[str]) -> Collection:
    return Collection("tiny", Documents.of(Document(str(i), "", t) for i, t in enumerate(texts)))


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Thesaurus:
    return wordnet(tiny_wordnet.write(tmp_path_factory.mktemp("wordnet") / "dict"))


@pytest.fixture(scope="module")
def held() -> Collection:
    return collection(TEXTS)


def bind(held: Collection, tiny: Thesaurus, **parameters: object) -> KeyqueryIndex:
    return KeyqueryIndex(FEA.load(parameters), held, tiny)


FORBIDDEN = {  # by hand, from the tiny WordNet
    "lung cancer": "lung cancer malignant tumor disease illness melanoma entity",
    "smoking": "smoking",
    "dog vaccine": "dog domestic hound chase pet puppy act move vaccine",
    "melanoma biopsy": "melanoma cancer malignant tumor biopsy",
}


@pytest.mark.parametrize("query", FORBIDDEN)
@pytest.mark.parametrize("score", ["ndcg", "pmi"])
@pytest.mark.parametrize(("window", "longest", "targets"), [(3, 2, 4), (12, 3, 10), (5, 4, 1)])
def test_the_same_as_by_listing_everything(
    held: Collection,
    tiny: Thesaurus,
    query: str,
    score: str,
    window: int,
    longest: int,
    targets: int,
) -> None:
    expected = scrambling.keyqueries(
        analyse(query),
        [[word for word in words_of(text) if word not in STOP_WORDS] for text in TEXTS],
        term_of,
        set(analyse(FORBIDDEN[query])),
        window=window,
        longest=longest,
        targets=targets,
        score=scrambling.ndcg if score == "ndcg" else scrambling.pmi,
    )
    asked = bind(
        held,
        tiny,
        window=window,
        longest=longest,
        targets=targets,
        score=score,
        candidates=1_000_000,
    )
    result = asked.scramble(query, 100_000).queries
    scores = {words: value for value, words in expected}
    if score == "ndcg":
        expected = [each for each in expected if each[0] > 0]
    assert set(result) == {words for _, words in expected}
    assert [scores[each] for each in result] == sorted(scores.values(), reverse=True)[
        : len(result)
    ]
    assert asked.scramble(query, 5).queries == result[:5]


def test_ndcg_against_ir_measures(held: Collection) -> None:
    measures = pytest.importorskip("ir_measures")
    runner = OpenedFEA(held.lexical())
    targets = runner.top(held.lexical().ids("lung cancer"), 10)
    draw = np.random.default_rng(1)
    queries = [
        sorted(draw.choice(len(held.lexical().spelt), size=size, replace=False).tolist())
        for size in (1, 2, 3, 4) * 10
    ]
    result = runner.ndcg(queries, targets)
    for terms, value in zip(queries, result, strict=True):
        order = runner.top(terms, 100)
        run = {str(i): -float(rank) for rank, i in enumerate(order)} or {"none": 0.0}
        judged = {"q": {str(i): 1 for i in targets}}
        exact = measures.calc_aggregate([measures.nDCG @ 100], judged, {"q": run})
        assert value == pytest.approx(next(iter(exact.values())))


def test_only_the_first_hundred_count(tiny: Thesaurus) -> None:
    many = collection(["alpha beta", *["beta gamma"] * 150, "beta delta"])
    runner = OpenedFEA(many.lexical())
    beta = many.lexical().ids("beta")
    last = np.array([151])
    assert runner.ndcg([beta], last).tolist() == [0.0]  # ties go by position: it is the 152nd
    assert runner.ndcg([beta], np.array([99]))[0] == pytest.approx(1 / math.log2(101))
    assert runner.ndcg([beta], np.array([100]))[0] == 0
    assert "beta" not in bind(many, tiny, targets=1).scramble("delta", 10).queries


def test_pruning_runs_the_heaviest(held: Collection, tiny: Thesaurus) -> None:
    every = bind(held, tiny, candidates=1_000_000).scramble("lung cancer", 100_000).queries
    some = bind(held, tiny, candidates=40).scramble("lung cancer", 100_000).queries
    assert len(some) <= 40 < len(every)
    assert set(some) <= set(every)
    assert every.index(some[0]) < len(every) / 10


def test_weights_of_terms_in_the_targets(held: Collection) -> None:
    lexical = held.lexical()
    runner = OpenedFEA(lexical)
    targets = np.array([1, 5, 6, 40])
    dense = np.zeros((len(lexical.spelt), lexical.size))
    for term in range(len(lexical.spelt)):
        documents, weights = runner.postings(term)
        dense[term, documents] = weights
    terms = list(range(len(lexical.spelt)))
    assert runner.weigh(terms, targets) == pytest.approx(dense[:, targets].sum(axis=1))


def test_windows() -> None:
    words = [("a", 0), ("b", 1), ("x", -1), ("c", 2), ("a", 0)]
    result = [" ".join(each.words) for each in combinations(words, 3, 2)]
    assert result == ["a", "a b", "b", "b c", "c", "c a", "a"]
    best = candidates([words], {0: 1.0, 1: 5.0, 2: 2.0}, 5, 3, 3)
    assert [each.words for each in best] == [("a", "b", "c"), ("b", "c"), ("a", "b")]


def test_words_keep_their_spelling_and_order(tiny: Thesaurus) -> None:
    held = collection(["Cholera causes Epidemics; vaccines help", "dogs"])
    queries = bind(held, tiny).scramble("cholera", 100).queries
    assert {"epidemics vaccines", "causes epidemics help", "vaccines"} <= set(queries)
    assert not any("vaccines epidemics" in query for query in queries)


def test_phrases(tiny: Thesaurus) -> None:
    """A hyponym of two words is left out where both are there; a synonym's words never pass."""
    held = collection(["illness stage lung", "cancer lung malignant tumor stage", "paris river"])
    queries = bind(held, tiny, candidates=1000).scramble("cancer", 100).queries
    assert set(queries) == {"lung", "stage", "lung stage"}
    both = collection(["paris of light city river", "dog"])
    assert bind(both, tiny).scramble("paris", 100).queries == ("river",)


@pytest.mark.parametrize("text", ["", "the", "zzz unknown", "???"])
def test_nothing_found_sends_nothing(held: Collection, tiny: Thesaurus, text: str) -> None:
    assert bind(held, tiny).scramble(text, 5).queries == ()


def test_nothing_else_in_the_documents(tiny: Thesaurus) -> None:
    held = collection(["dogs hound puppy", "river"])
    result = bind(held, tiny).scramble("dog", 5)
    assert (result.queries, result.kept, result.protected) == ((), (), 1)


words = st.sampled_from(
    [*dict.fromkeys(" ".join(TOPICS).split()), "the", "dogs", "Lungs", "x-ray"]
)


@settings(deadline=None, max_examples=60)
@given(text=st.lists(words, max_size=4).map(" ".join))
def test_no_word_of_the_text_leaves(held: Collection, tiny: Thesaurus, text: str) -> None:
    own = {word for word in re.findall(r"\w+", text.lower()) if word not in STOP_WORDS}
    for query in bind(held, tiny, candidates=100).scramble(text, 30).queries:
        assert not own & set(query.split())
        assert not set(analyse(text)) & set(analyse(query))
        if own & {"dog", "dogs"}:
            assert not {"puppy", "hound", "pet"} & set(query.split())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("fea(window=2)", "'window' parameter of fea must be a whole number >= 3"),
        ("fea(window=65)", "'window' parameter of fea must be a whole number <= 64"),
        ("fea(longest=5)", "'longest' parameter of fea must be a whole number <= 4"),
        ("fea(targets=0)", "'targets' parameter of fea must be a whole number >= 1"),
        ("fea(candidates=1)", "'candidates' parameter of fea must be a whole number >= 10"),
        ("fea(score=map)", "'score' parameter of fea must be 'ndcg' or 'pmi'"),
        ("fea(index='')", "'index' parameter of fea"),
    ],
)
def test_bad_parameters(spec: str, said: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(said)):
        QUERY_MECHANISMS.parse(spec)


def test_a_missing_index(tmp_path: Path) -> None:
    with pytest.raises(VeilError) as caught:
        FEA(index=str(tmp_path / "none")).bind()
    assert "\n" not in str(caught.value)


def test_an_index_on_disk(
    tmp_path: Path, held: Collection, tiny: Thesaurus, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.save(tmp_path / "index")
    monkeypatch.setattr(fea, "wordnet", lambda: tiny)
    saved = FEA(index=str(tmp_path / "index")).bind().scramble("lung cancer", 10)
    assert saved == bind(held, tiny).scramble("lung cancer", 10)
    assert len(saved.queries) == 10


def test_guarantee() -> None:
    mechanism = QUERY_MECHANISMS.parse("fea(window=14)")
    assert QUERY_MECHANISMS.parse(str(mechanism)) == mechanism
    assert mechanism.guarantee.kind == "none"
    assert "must be public" in mechanism.guarantee.caveat


def test_accents_hide_no_word_of_the_text(tiny: Thesaurus) -> None:
    secret = Secret(tiny, ["waldenstrom", "Sjögren", "barré"])
    for word in ("waldenström", "sjogren", "sjögren", "barre", "barré", "Waldenstrom's"):
        assert secret.reveals(word)


def test_a_piece_of_a_word_tells_of_it(tiny: Thesaurus) -> None:
    secret = Secret(tiny, ["polyneuropathy", "bloodstream"])
    for word in ("neuropathy", "blood", "stream", "neuropathies bloodstreams"):
        assert secret.reveals(word)
    assert not secret.reveals("poly path")


def test_rules_of_a_document_are_not_sent(tiny: Thesaurus) -> None:
    texts = [f"___ {text} __ -- _{number}" for number, text in enumerate(TEXTS)]
    result = bind(collection(texts), tiny, candidates=5000).scramble("lung cancer", 5000)
    sent = {word for query in result.queries for word in query.split()}
    assert len(sent) > 3
    assert all(word[0].isalnum() for word in sent)
