"""A text apart from its draws: the same words and places as `protect`, and the same law."""

from collections import Counter

import pytest
from scipy import stats

import veil
from veil.core.errors import InputError
from veil.core.types import Released, Seeded
from veil.text.mechanisms.words import MECHANISMS
from veil.text.protect import draft, draw
from veil.text.vectors.embeddings import Embeddings

SANTEXT = MECHANISMS.parse("santext(epsilon=2)")


def test_a_draft_replaces_the_words_that_protect_replaces(space: Embeddings) -> None:
    one, two = space.words[3], space.words[8]
    text = f"{one.title()}, {two.upper()}-{one} xyzzy (100%)!"
    made = draft(text, SANTEXT, space)
    assert made.words == (one, two, one, "xyzzy", "100")
    assert made.known == (True, True, True, False, False)
    row = veil.protect([text], SANTEXT, space, 1).protected
    assert row == (len(made.words),)
    spelt = made.spell([two, one, two, one, one])
    assert spelt == f"{two.title()}, {one.upper()}-{two} {one} ({one}%)!"
    assert type(spelt) is Released


def test_draws_have_the_law_of_the_mechanism(space: Embeddings) -> None:
    word = space.words[5]
    made = draft(f"xyzzy {word}", SANTEXT, space)
    draws = draw(made, [1], SANTEXT, space, 4000, [0])[0]
    law = veil.law(SANTEXT, space, [word])[0]
    counts = Counter(draws)
    result = [counts[each] for each in space.words]
    assert stats.chisquare(result, law * 4000).pvalue > 1e-6


def test_each_place_has_draws_of_its_own_and_none_is_seeded(space: Embeddings) -> None:
    made = draft(f"{space.words[5]} {space.words[5]}", SANTEXT, space)
    first, second = draw(made, [0, 1], SANTEXT, space, 200, [0, 0])
    assert first != second
    assert draw(made, [0], SANTEXT, space, 99, [0]) != draw(made, [0], SANTEXT, space, 99, [0])
    assert not isinstance(made.spell(["a", "b"]), Seeded)


def test_a_place_without_a_draw_is_refused(space: Embeddings) -> None:
    made = draft(f"{space.words[5]} {space.words[6]}", SANTEXT, space)
    with pytest.raises(InputError, match="one sampled word for each slot"):
        made.spell(["a"])


def test_words_that_are_not_selected_are_kept_and_told(space: Embeddings) -> None:
    made = draft(f"the {space.words[5]}", SANTEXT, space, select="content")
    assert made.kept == ("the",)
    assert made.spell(["x"]) == "the x"


def test_an_unknown_word_has_the_law_of_its_decoy(space: Embeddings) -> None:
    made = draft("xyzzy", SANTEXT, space)
    draws = Counter(draw(made, [0], SANTEXT, space, 4000, [7])[0])
    law = veil.law(SANTEXT, space, [space.words[7]])[0]
    assert stats.chisquare([draws[each] for each in space.words], law * 4000).pvalue > 1e-6
