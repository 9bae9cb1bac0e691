"""Likelihoods over a part of the vocabulary are those over the whole of it."""

import numpy as np
import pytest
from tests.conftest import make_space
from tests.text.attacks.test_bayes import word_mechanism

from veil.text.attacks import likelihood as _likelihoods
from veil.text.attacks.likelihood import WordLikelihoods, likelihood, slot_likelihoods

SPECS = [
    "cmp(epsilon=3)",
    "mahalanobis(epsilon=3, unit_direction=true)",
    "vickrey(epsilon=3)",
    "santext(epsilon=3)",
    "santext(epsilon=3, sensitive_share=0.5, p=0.3)",
    "tem(epsilon=3, beta=0.5)",
    "custext(epsilon=4, k=8)",
    "wbb(epsilon=4, k=2, n=12)",
]


@pytest.mark.parametrize("surrogate", ["simulated", "density"])
@pytest.mark.parametrize("spec", SPECS)
def test_a_part_gives_what_the_whole_gives(
    spec: str, surrogate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = make_space(1500, 6)
    made = word_mechanism(spec)
    law = likelihood(made, space, surrogate)  # type: ignore[arg-type]
    rng = np.random.default_rng(3)
    seen = made.bind(space).sample(np.array([40]), 5, rng)[:, 0]
    logged = np.array([3, 40, 41, 700, 1400])
    law.prepare(logged)
    asked = np.array([40, -1, 3, 1400, -1])
    whole = WordLikelihoods.of(law, space, logged, np.unique(seen))
    assert not whole.part
    monkeypatch.setattr(_likelihoods, "_OTHERS", 600)
    space.memo.put("other words", np.sort(rng.permutation(1500)[:600]))
    part = WordLikelihoods.of(law, space, logged, np.unique(seen))
    assert part.part == ("custext" not in spec and "wbb" not in spec)
    expected, result = whole.at(seen, asked), part.at(seen, asked)
    known = asked >= 0
    np.testing.assert_allclose(result[known], expected[known], rtol=1e-6, atol=1e-6)
    assert result[1] == pytest.approx(expected[1], abs=0.7)  # a sample stands for the rest
    assert result[1] == result[4]


def test_shares_add_up_to_the_vocabulary() -> None:
    space = make_space(1500, 4)
    space.memo.put("other words", np.arange(0, 1500, 5))
    law = likelihood(word_mechanism("cmp(epsilon=3)"), space)
    result = WordLikelihoods.of(law, space, np.array([0, 1, 2]), np.array([5, 9]))
    assert np.exp(result.shares).sum() == pytest.approx(1)
    assert result.words.tolist() == sorted({0, 1, 2, 5, 9, *range(0, 1500, 5)})


def test_many_places_are_weighed_as_one() -> None:
    space = make_space(300, 5)
    law = likelihood(word_mechanism("cmp(epsilon=3)"), space)
    rng = np.random.default_rng(1)
    seen = [rng.integers(300, size=size) for size in (3, 0, 5, *range(1, 20))]
    for one, result in zip(seen, slot_likelihoods(law, seen), strict=True):
        np.testing.assert_allclose(result, law.of(one), rtol=1e-9, atol=1e-9)
