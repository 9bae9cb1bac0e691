"""Decoys: uniform, different within a text, and others in every text."""

import numpy as np
from numpy.random import Generator
from scipy import stats
from tests.conftest import make_space

import veil
from veil.text.protect import Decoys


def test_decoys_are_uniform(rng: Generator) -> None:
    taken = Decoys(50).take([1] * 20_000, rng)
    assert stats.chisquare(np.bincount(taken, minlength=50)).pvalue > 1e-3


def test_words_of_one_text_differ_and_texts_share_none(rng: Generator) -> None:
    counts = [3, 0, 5, 1, 16, 30] * 50
    taken = Decoys(10_000_000).take(counts, rng).tolist()
    assert len(taken) == sum(counts)
    assert len(taken) - len(set(taken)) < 20  # by chance there are about 3
    for _ in range(50):
        few = Decoys(20).take([20], rng).tolist()
        assert sorted(few) == list(range(20))


def test_a_tiny_vocabulary_still_serves(rng: Generator) -> None:
    taken = Decoys(2).take([40], rng)
    assert set(taken.tolist()) <= {0, 1}
    assert len(taken) == 40


def test_no_unknown_word_takes_none(rng: Generator) -> None:
    assert Decoys(5).take([0, 0], rng).shape == (0,)


def test_texts_of_one_process_share_no_decoy() -> None:
    """With a large budget the output is the decoy itself, as an attacker would see it."""
    space = make_space(3000, 4)
    sure = veil.SanText(epsilon=1e6)
    apart = [veil.protect(["xanthippe"], sure, space)[0][0] for _ in range(60)]
    together = [row[0] for row in veil.protect(["xanthippe"] * 60, sure, space)]
    for seen in (apart, together):
        assert len(set(seen)) > 50  # by chance 59.4 of 60


def test_variants_of_an_unknown_word_look_like_those_of_a_known_one() -> None:
    """With a large budget a known word hardly moves; neither may the decoy between variants."""
    space = make_space(60, 4)
    out = veil.protect(["xanthippe"], veil.SanText(epsilon=200), space, 50)
    assert len(set(out.rows[0])) == 1
