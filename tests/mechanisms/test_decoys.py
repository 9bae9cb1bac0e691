"""Decoys: uniform, different within a text, thrown away after a few texts."""

from collections import Counter

import numpy as np
from numpy.random import Generator
from scipy import stats
from tests.conftest import make_space

import veil
from veil.mechanisms.words._decoys import Decoys, decoys


def test_decoys_are_uniform(rng: Generator) -> None:
    taken = Decoys(50).take([1] * 20_000, rng)
    # A decoy serves up to eight texts, so that the counts are those of an eighth of the draws.
    counts = np.bincount(taken, minlength=50)
    assert stats.chisquare(counts / 8).pvalue > 1e-3
    assert counts.min() > 0


def test_words_of_one_text_differ_and_no_decoy_lives_long(rng: Generator) -> None:
    counts = [3, 0, 5, 1, 16, 30] * 50
    pool = Decoys(1_000_000)
    uses: Counter[int] = Counter()
    for count in counts:
        taken = pool.take([count], rng).tolist()
        assert len(taken) == len(set(taken)) == count
        uses.update(taken)
    assert max(uses.values()) <= 8


def test_a_tiny_vocabulary_still_serves(rng: Generator) -> None:
    taken = Decoys(2).take([40], rng)
    assert set(taken.tolist()) <= {0, 1}
    assert len(taken) == 40


def test_no_unknown_word_takes_none(rng: Generator) -> None:
    assert Decoys(5).take([0, 0], rng).shape == (0,)


def test_seeded_releases_do_not_share_decoys_and_private_ones_do() -> None:
    space = make_space(60, 4)
    mechanism = veil.CMP(epsilon=1)
    assert decoys(mechanism, space, seeded=True) is not decoys(mechanism, space, seeded=True)
    assert decoys(mechanism, space, seeded=False) is decoys(mechanism, space, seeded=False)
    other = veil.CMP(epsilon=2)
    assert decoys(other, space, seeded=False) is not decoys(mechanism, space, seeded=False)


def test_variants_of_an_unknown_word_look_like_those_of_a_known_one() -> None:
    """With a large budget a known word hardly moves; neither may the decoy between variants."""
    space = make_space(60, 4)
    out = veil.protect(["xanthippe"], veil.SanText(epsilon=200), space, 50)
    assert len(set(out.rows[0])) == 1
