"""N_w and S_w, counted by hand and against the exact law."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from veil.core.types import Floats
from veil.text.explain import explain
from veil.text.measures.measure import measure_all
from veil.text.mechanisms.catalogue import mechanism
from veil.text.mechanisms.mechanism import WordMechanism
from veil.text.protect import protect
from veil.text.vectors.embeddings import Embeddings


def uncertainty(
    mechanism: WordMechanism,
    space: Embeddings,
    texts: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> dict[str, Floats]:
    result = measure_all(texts, rows, mechanism=mechanism, vectors=space)
    return {name: result[name] for name in ("N_w", "S_w")}


def word_mechanism(spec: str) -> WordMechanism:
    result = mechanism(spec)
    assert isinstance(result, WordMechanism)
    return result


def test_shares_and_supports_are_counted_by_word(space: Embeddings) -> None:
    one, two, three, four = space.words[:4]
    variants = [
        *[f"{one} {three}!"] * 17,  # the first word as itself, the second never
        f"{two} {four}!",
        f"{three} {four}!",
        f"{four.upper()} {four}!",
    ]
    result = uncertainty(word_mechanism("cmp(epsilon=1)"), space, [f"{one} {two}!"], [variants])
    assert result["N_w"] == pytest.approx([(17 / 20 + 0) / 2])
    assert result["S_w"] == pytest.approx([(3 + 2) / 2])  # 19 of 20 are enough


def test_words_that_do_not_go_through_the_mechanism_do_not_count(space: Embeddings) -> None:
    one, two = space.words[:2]
    cmp = word_mechanism("cmp(epsilon=1)")
    texts = [f"{one} qqqq", "qqqq", "...", one, one]
    rows = [[f"{one} {two}"] * 4, [two] * 4, [], [], [f"{one} {two}", "a b c"]]
    result = uncertainty(cmp, space, texts, rows)
    assert result["N_w"][0] == result["S_w"][0] == 1
    for values in result.values():  # unknown, no word, nothing sent, another shape
        assert all(math.isnan(value) for value in values[1:])


def test_kept_words_do_not_count(space: Embeddings) -> None:
    wbb = word_mechanism("wbb(epsilon=1, k=2, n=3)")
    texts = [f"the {word}" for word in space.words[:20]]
    rows = protect(texts, wbb, space, 40, rng=3).rows
    result = uncertainty(wbb, space, texts, rows)
    assert np.nanmax(result["N_w"]) == 0  # a word of the safe box never comes out
    assert np.nanmax(result["S_w"]) <= 3


@pytest.mark.parametrize("spec", ["custext(epsilon=2, k=5)", "santext(epsilon=4)"])
def test_with_many_variants_they_are_those_of_the_law(spec: str, space: Embeddings) -> None:
    chosen = word_mechanism(spec)
    texts = [space.words[i] for i in (3, 14, 41)]
    rows = protect(texts, chosen, space, 20_000, rng=5).rows
    result = uncertainty(chosen, space, texts, rows)
    exact = [explain(chosen, space, text) for text in texts]
    assert result["N_w"] == pytest.approx([each.itself for each in exact], abs=0.015)
    assert result["S_w"] == pytest.approx([each.support for each in exact], abs=1)
