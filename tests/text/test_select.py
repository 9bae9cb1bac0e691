"""Which words are protected; in doubt, all of them."""

import sys
from collections.abc import Callable, Sequence

import pytest

from veil.core.errors import MissingExtraError, ParameterError, UnknownNameError, VeilError
from veil.corpus.tokens import _spacy, tagger
from veil.text import select as select_module
from veil.text.select import Select, selector


def chosen(select: Select, text: str) -> list[str]:
    words = text.split()
    answers = selector(select)(words)
    assert len(answers) == len(words)
    return [word for word, answer in zip(words, answers, strict=True) if answer]


def test_all() -> None:
    assert chosen("all", "The cat sat on it") == ["The", "cat", "sat", "on", "it"]
    assert chosen("all", "") == []


def test_content() -> None:
    assert chosen("content", "The CAT sat on IT") == ["CAT", "sat"]


def test_terms_and_phrases() -> None:
    terms = ["Flu", "breast cancer", "cancer of the lung", "e-mail", "  "]
    assert chosen(terms, "my FLU and Breast Cancer") == ["FLU", "Breast", "Cancer"]
    assert chosen(terms, "breast pain, cancer") == []
    assert chosen(terms, "breast") == []
    assert chosen(terms, "Cancer of the lung or of the skin") == ["Cancer", "of", "the", "lung"]
    assert chosen(set(terms), "an E-Mail") == ["E-Mail"]
    assert chosen(("a b", "b c"), "a b c") == ["a", "b", "c"]


@pytest.mark.parametrize("terms", [[], ["", " ", "..."]])
def test_no_term_protects_nothing_and_is_refused(terms: list[str]) -> None:
    with pytest.raises(VeilError, match="at least one term to protect"):
        selector(terms)


@pytest.mark.parametrize("value", [[5], [None], [b"flu"], b"flu", 5, None, 1.5])
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="'select'"):
        selector(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("choice", ["", "some", "pos:", "pos: ", "tags:NN", "ALL", "pos"])
def test_unknown_choice(choice: str) -> None:
    with pytest.raises(ParameterError, match=r"must be 'all', 'content', 'pos:'"):
        selector(choice)


def test_function() -> None:
    def long(words: Sequence[str]) -> list[bool]:
        return [len(word) > 3 for word in words]

    assert chosen(long, "the leukaemia is bad") == ["leukaemia"]


@pytest.mark.parametrize("answers", [[], [True], [True] * 4])
def test_function_of_wrong_length(answers: list[bool]) -> None:
    choose = selector(lambda _: answers)
    with pytest.raises(ParameterError, match=f"2 words, {len(answers)} answers") as caught:
        choose(["secret", "words"])
    assert "secret" not in str(caught.value)


class TestTags:
    def test_tags(self) -> None:
        text = "the old doctor quickly visited two large hospitals"
        assert chosen("pos:NN", text) == ["doctor"]
        assert chosen("pos:NN NNS", text) == ["doctor", "hospitals"]
        assert chosen("pos:JJ  RB", text) == ["old", "quickly", "large"]
        assert chosen("pos:NN", "") == []

    @pytest.mark.parametrize("choice", ["pos:nn", "pos:NN NOUN", "pos:NN,JJ"])
    def test_tag_that_does_not_exist(self, choice: str) -> None:
        with pytest.raises(ParameterError, match="unknown tag"):
            selector(choice)

    def test_strange_spellings_do_not_upset_the_tagger(self) -> None:
        text = "a/b foo_bar x|y 3.5 😀 e-mail don't % . doctor"
        answers = selector("pos:NN")(text.split())
        assert len(answers) == len(text.split())
        assert answers[-1]


def fake(monkeypatch: pytest.MonkeyPatch, tag: Callable[[Sequence[str]], list[str]]) -> None:
    monkeypatch.setattr(select_module, "tagger", lambda _: tag)


@pytest.mark.parametrize("marks", [[], ["DT"], ["DT"] * 5])
def test_tagger_that_cuts_otherwise_protects_everything(
    monkeypatch: pytest.MonkeyPatch, marks: list[str]
) -> None:
    fake(monkeypatch, lambda _: marks)
    assert chosen("pos:NN", "my breast cancer") == ["my", "breast", "cancer"]


def test_word_with_several_tags_is_protected_for_any_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake(monkeypatch, lambda _: ["DT", "NN|VBG", "VBZ"])
    assert chosen("pos:NN", "the screening helps") == ["screening"]
    assert chosen("pos:VBG VBZ", "the screening helps") == ["screening", "helps"]


def test_taggers_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="No tagger 'best'. Known: pattern, nltk"):
        tagger("best")
    monkeypatch.setitem(sys.modules, "spacy", None)
    _spacy.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install .*\[spacy\]'"):
        selector("spacy:NN")


@pytest.mark.parametrize(
    ("term", "word"),
    [
        ("HIV", "HIV-positive"),
        ("hiv", "pre-HIV"),
        ("cancer", "cancer's"),
        ("cancer", "Cancer’s"),
        ("crohn's", "Crohn’s"),
        ("crohn’s", "crohn"),
        ("caf\u00e9", "cafe\u0301"),
        ("STRASSE", "straße"),
    ],
)
def test_a_term_is_found_however_it_is_written(term: str, word: str) -> None:
    assert selector([term])([word, "other"]) == [True, False]


def test_a_phrase_is_found_across_hyphens() -> None:
    assert selector(["breast cancer"])(["my", "breast-cancer", "and"]) == [False, True, False]
    assert selector(["x-ray film"])(["x", "ray", "film"]) == [True, True, True]


def test_many_terms_with_one_first_word_are_no_burden() -> None:
    choose = selector([f"skin {i}" for i in range(20_000)])
    assert sum(choose(["skin"] * 2000 + ["skin", "7"])) == 2
