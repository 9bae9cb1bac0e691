"""Nothing but white space and punctuation may stand outside the words."""

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from veil.core.errors import InputError
from veil.corpus.tokens import Case, Kind, apply_case, case_of, check_text, tokens

PIECES = st.sampled_from(
    "the Don't x-ray j.doe@x.org http://a.b/c?d=e www.x.org 3.5 +3 12:30 4x4 3rd HIV € 😀 \u200d"
    " - ' @ . , % %s _ // \ufeff \u00ad \0 a@b a.b@c e\u0301 İ \u2028 1/2 -- ’日本".split(" ")
)
TEXTS = st.text() | st.lists(PIECES | st.sampled_from([" ", "\n", ""])).map("".join)


def layout(character: str) -> bool:
    return character.isspace() or unicodedata.category(character)[0] in "PZ"


def words(text: str) -> list[str]:
    return [text[t.start : t.end] for t in tokens(text)]


@given(TEXTS)
@example("a@b.cd+e@f.gh")
@example("+j@x.org www.+")
def test_words_are_disjoint_ordered_and_cover_all_but_layout(text: str) -> None:
    at = 0
    for token in tokens(text):
        assert at <= token.start < token.end <= len(text)
        assert all(map(layout, text[at : token.start]))
        assert not all(map(layout, text[token.start : token.end]))
        at = token.end
    assert all(map(layout, text[at:]))


@given(TEXTS)
def test_kind_is_told_by_the_spelling(text: str) -> None:
    for token in tokens(text):
        word = text[token.start : token.end]
        letters, digits = any(map(str.isalpha, word)), any(map(str.isdigit, word))
        if token.kind is Kind.WORD:
            assert letters
            assert not digits
        if token.kind is Kind.NUMBER:
            assert digits
            assert not letters
        if token.kind is Kind.SYMBOL:
            assert not letters
            assert not digits
        if token.kind is Kind.EMAIL:
            assert "@" in word
        assert not any(map(str.isspace, word))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cat", [("cat", Kind.WORD)]),
        ("naïve 日本", [("naïve", Kind.WORD), ("日本", Kind.WORD)]),
        ("don’t e-mail", [("don’t", Kind.WORD), ("e-mail", Kind.WORD)]),
        ("'quoted' -dash-", [("quoted", Kind.WORD), ("dash", Kind.WORD)]),
        ("3.5 1,000 12:30 1/2", [(n, Kind.NUMBER) for n in ("3.5", "1,000", "12:30", "1/2")]),
        ("in 2024.", [("in", Kind.WORD), ("2024", Kind.NUMBER)]),
        ("4x4 3rd AB-12", [(w, Kind.IDENTIFIER) for w in ("4x4", "3rd", "AB-12")]),
        ("j.doe+x@mail.org.", [("j.doe+x@mail.org", Kind.EMAIL)]),
        ("(a@b.co)", [("a@b.co", Kind.EMAIL)]),
        ("see http://a.b/c?d=e#f.", [("see", Kind.WORD), ("http://a.b/c?d=e#f", Kind.URL)]),
        ("www.x.org, ftp://y", [("www.x.org", Kind.URL), ("ftp://y", Kind.URL)]),
        ("5 € 😀", [("5", Kind.NUMBER), ("€", Kind.SYMBOL), ("😀", Kind.SYMBOL)]),
        ("\x00 \u200b", [("\x00", Kind.SYMBOL), ("\u200b", Kind.SYMBOL)]),
        ("e\u0301a", [("e\u0301a", Kind.WORD)]),
        ("", []),
        (" ... \n\t— _ % ", []),
    ],
)
def test_examples(text: str, wanted: list[tuple[str, Kind]]) -> None:
    assert [(text[t.start : t.end], t.kind) for t in tokens(text)] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "a" * 200_000 + " @",
        "a." * 100_000 + " @",
        "a@" * 100_000,
        "a@b." * 50_000 + "!",
        "www." + "!" * 200_000,
        "www.!" * 40_000,
        "1." * 100_000 + "x",
        "x-" * 100_000,
        "://" * 70_000,
    ],
)
def test_time_grows_with_the_length_alone(text: str) -> None:
    start = time.process_time()
    tokens(text)
    assert time.process_time() - start < 30  # quadratic: minutes


@pytest.mark.parametrize(
    ("word", "case", "followed"),
    [
        ("cancer", Case.AS_IS, "flu"),
        ("Cancer", Case.TITLE, "Flu"),
        ("HIV", Case.UPPER, "FLU"),
        ("I", Case.TITLE, "Flu"),
        ("iPhone", Case.AS_IS, "flu"),
        ("McDonald", Case.AS_IS, "flu"),
        ("X-ray", Case.TITLE, "Flu"),
        ("É", Case.TITLE, "Flu"),
        ("日本", Case.AS_IS, "flu"),
        ("4X4", Case.UPPER, "FLU"),
        ("42", Case.AS_IS, "flu"),
    ],
)
def test_case_patterns(word: str, case: Case, followed: str) -> None:
    assert case_of(word) is case
    assert apply_case(case, "flu") == followed


@given(st.text())
def test_case_of_any_word_can_be_followed(word: str) -> None:
    assert apply_case(case_of(word), "") == ""


@pytest.mark.parametrize("text", ["\ud800", "abc \udfff", "ok\udc80" + "x"])
def test_lone_surrogates_are_refused(text: str) -> None:
    place = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
    with pytest.raises(InputError, match=f"Text 3 has a lone surrogate at character {place + 1}"):
        check_text(text, "Text 3")


def test_limit_on_length() -> None:
    assert check_text("abc", "Text 1", 3) == "abc"
    with pytest.raises(InputError, match="Text 1 must have at most 3 characters"):
        check_text("abcd", "Text 1", 3)
    with pytest.raises(InputError, match="1,000,000 characters"):
        check_text("a" * 1_000_001, "Text 1")


@pytest.mark.parametrize("value", [None, 5, b"abc", ["abc"]])
def test_other_types_are_refused_without_quoting_them(value: object) -> None:
    with pytest.raises(InputError, match="must be a string") as caught:
        check_text(value, "Text 1")
    assert "abc" not in str(caught.value)
