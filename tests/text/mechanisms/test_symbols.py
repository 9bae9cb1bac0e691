"""Punctuation is never drawn as a word, whatever the vectors hold."""

import unicodedata

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.rows import NAMES, built

import veil
from veil.core.types import ClosedForm
from veil.text.policy import Policy
from veil.text.vectors.embeddings import Embeddings, is_word
from veil.text.vectors.nearest import Engine, NearestWords

SYMBOLS = (
    *('"', "(", ")", "-", "--", ":", ",", ".", "...", "'", "'s", "-lrb-", "?", "!", "&", "%", "+"),
    *("$", "€", "=", "/", "\\", "|", "~", "^", "*", "#", "@", "_", "“", "”", "’", "…", "[", "]"),
    *("😀", "❤️", "\u0301", "☃", " ", "\u00a0", "\u200b", "→", "©", "\x07", "a\x1b[2Jb", "a\rb"),
    *("\ud800", "x\u2028y", "a\u202eb"),
)
PLAIN = make_space(24, 3)
SPECS = [built(name, epsilon=1).brief for name in NAMES]
SPECS += ["santext(epsilon=1, sensitive_share=0.5)", "vickrey(epsilon=1, k=4)", "tem(epsilon=9)"]
SPECS += ["custext(epsilon=1, k=5, mapping=neighbours)", "wbb(epsilon=1, metric=distance)"]


def mixed() -> Embeddings:
    """Put a symbol in the very place of each word, before it in the order of frequency."""
    rng = np.random.default_rng(5)
    words: list[str] = []
    rows = []
    for place, symbol in enumerate(SYMBOLS):
        row = PLAIN.vectors[place % PLAIN.size]
        words.append(symbol)
        rows.append(row + rng.normal(size=3) * 1e-3)
        if place < PLAIN.size:
            words.append(PLAIN.words[place])
            rows.append(row)
    return Embeddings(tuple(words), np.array(rows, dtype=np.float32), "mixed")


MIXED = mixed()


def readable(word: str) -> bool:
    return unicodedata.category(word[0])[0] in "LN"


def test_symbols_are_no_part_of_the_vocabulary() -> None:
    assert MIXED.words == PLAIN.words
    np.testing.assert_array_equal(MIXED.vectors, PLAIN.vectors)
    assert [MIXED.id(symbol) for symbol in SYMBOLS] == [-1] * len(SYMBOLS)


def test_nothing_is_copied_where_nothing_is_left_out() -> None:
    assert np.shares_memory(Embeddings(PLAIN.words, PLAIN.vectors).vectors, PLAIN.vectors)


@pytest.mark.parametrize("spec", SPECS)
def test_symbols_are_never_drawn(spec: str) -> None:
    mechanism = veil.MECHANISMS.parse(spec)
    text = " ".join(PLAIN.words)
    out = veil.protect([text], mechanism, MIXED, 50, select="all", rng=np.random.default_rng(1))
    draws = {word for row in out.rows[0] for word in row.split()}
    assert draws <= set(PLAIN.words)
    kernel = mechanism.bind(MIXED)
    if isinstance(kernel, ClosedForm):
        np.testing.assert_array_equal(
            veil.law(mechanism, MIXED, list(PLAIN.words)),
            veil.law(mechanism, PLAIN, list(PLAIN.words)),
        )
    told = veil.explain(mechanism, MIXED, PLAIN.words[0])
    assert all(readable(word) for word, *_ in told.top)


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_both_searches_see_the_same_words(engine: Engine) -> None:
    if engine == "numba":
        pytest.importorskip("numba")
    result, _ = NearestWords(MIXED.vectors, engine).nearest(MIXED.points(np.arange(MIXED.size)), 3)
    expected, _ = NearestWords(PLAIN.vectors, "numpy").nearest(
        PLAIN.points(np.arange(PLAIN.size)), 3
    )
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("symbol", ["$", "€", "+", "=", "😀", "~", "^", "→", "\x07"])
def test_a_symbol_of_the_text_gives_way_to_a_word(spec: str, symbol: str) -> None:
    mechanism = veil.MECHANISMS.parse(spec)
    out = veil.protect([f"{PLAIN.words[0]} {symbol}"], mechanism, MIXED, 20, select="all")
    assert symbol not in " ".join(out.rows[0])
    assert all(readable(word) for row in out.rows[0] for word in row.split())
    assert out.kept[0] == ()


def test_policies_for_symbols_hold() -> None:
    text = f"{PLAIN.words[0]} $ {PLAIN.words[1]}"
    cases: list[tuple[Policy, str | None]] = [("mask", "[MASK]"), ("drop", None), ("keep", "$")]
    for policy, shown in cases:
        out = veil.protect(
            [text], veil.SanText(epsilon=1), MIXED, 5, select="all", policies={"symbol": policy}
        )
        for row in out.rows[0]:
            words = row.split()
            assert len(words) == (2 if shown is None else 3)
            assert shown is None or words[1] == shown


def test_words_are_told_from_symbols() -> None:
    words = ("a", "1", "x-ray", "c++", "Ωmega", "日本", "½", "²", "ⅷ", "١٢", "e\u0301", "o'brien")
    assert all(is_word(word) for word in words)
    assert not any(is_word(symbol) for symbol in SYMBOLS)


def test_glove_has_words_alone(glove: Embeddings) -> None:
    assert glove.size == 341_439 or glove.size > 341_439
    assert all(word.isprintable() and readable(word) for word in glove.words)
    for symbol in '"(-:,.$%&+=':
        assert glove.id(symbol) == -1
    law = veil.law(veil.SanText(epsilon=1), glove, ["and"])
    assert law.shape == (1, glove.size)
