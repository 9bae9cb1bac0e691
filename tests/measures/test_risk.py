"""The four attackers and the blind one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.outcome import Ranks
from veil.measures.risk import ATTACKERS, Attacker, chance, risk, successes

RANKS = [1, 2, 3, 10, 11, 750_000]


@pytest.mark.parametrize(
    ("attacker", "expected"),
    [
        ("lazy", [1, 0, 0, 0, 0, 0]),
        ("active", [1, 1, 1, 1, 0, 0]),
        ("motivated", [1, 1 / 2, 1 / 3, 1 / 10, 1 / 11, 1 / 750_000]),
        ("persistent", [0.2, 0.16, 0.128, 0.2 * 0.8**9, 0.2 * 0.8**10, 0]),
    ],
)
def test_the_formulas(attacker: Attacker, expected: list[float]) -> None:
    assert successes(RANKS, attacker) == pytest.approx(expected, rel=1e-12, abs=1e-300)
    found = risk(RANKS, attacker)
    assert found == pytest.approx(np.mean(expected))
    assert found.low <= found <= found.high
    assert found.n == 6


@pytest.mark.parametrize("attacker", ATTACKERS)
@given(rank=st.integers(1, 3000), ties=st.integers(1, 300), k=st.integers(1, 30))
def test_level_guesses_are_tried_in_any_order(
    attacker: Attacker, rank: int, ties: int, k: int
) -> None:
    orders = successes(np.arange(rank, rank + ties), attacker, k=k, p=0.9)
    found = successes([rank, 1], attacker, k=k, p=0.9, ties=[ties, 1])
    assert found[0] == pytest.approx(orders.mean(), rel=1e-9, abs=1e-300)
    assert found[1] == successes([1], attacker, k=k, p=0.9)[0]


def test_a_tie_of_all_is_a_blind_guess() -> None:
    for attacker in ATTACKERS:
        level = successes([1], attacker, ties=[1223])[0]
        assert level == pytest.approx(chance(1223, attacker), rel=1e-12)
        assert chance(9, attacker, prior=[1], prior_ties=[9]) == pytest.approx(chance(9, attacker))


def test_ranks_bring_their_ties_along() -> None:
    ranks = Ranks([1, 1, 3], [4, 1, 1])
    assert risk(ranks, "lazy") == pytest.approx(1.25 / 3)
    assert risk(ranks[:1], "lazy") == 0.25
    assert risk(np.asarray(ranks), "lazy") == pytest.approx(2 / 3)


def test_as_many_ties_as_ranks() -> None:
    with pytest.raises(InputError, match="2 ranks and 1 numbers of ties"):
        risk([1, 2], "lazy", ties=[1])
    with pytest.raises(InputError, match="A number of ties must be a whole number >= 1"):
        risk([1, 2], "lazy", ties=[1, 0])


def test_depth_and_patience_can_be_set() -> None:
    assert successes(RANKS, "active", k=2).sum() == 2
    assert successes([1, 2], "persistent", p=0.95) == pytest.approx([0.05, 0.0475])


def test_a_truth_that_is_not_among_the_candidates_is_never_found() -> None:
    for attacker in ATTACKERS:
        assert successes([6, 1], attacker, candidates=5)[0] == 0
        assert successes([6, 1], attacker, candidates=[5, 5])[1] > 0


def test_words_of_one_text_are_drawn_together() -> None:
    ranks, texts = [1, 1, 1, 9, 9, 9], [0, 0, 0, 1, 1, 1]
    together = risk(ranks, "lazy", groups=texts)
    assert together == 0.5
    assert (together.low, together.high, together.n) == (0, 1, 2)


@pytest.mark.parametrize("attacker", ATTACKERS)
@given(st.lists(st.integers(1, 2500), min_size=1, max_size=4), st.integers(1, 30))
def test_chance_is_the_mean_over_all_ranks(attacker: Attacker, sizes: list[int], k: int) -> None:
    means = [successes(np.arange(1, n + 1), attacker, k=k, p=0.9).mean() for n in sizes]
    assert chance(sizes, attacker, k=k, p=0.9) == pytest.approx(np.mean(means), rel=1e-12)


def test_chance_of_a_huge_log() -> None:
    assert chance(10**12, "lazy") == 1e-12
    assert chance(750_000, "motivated") == pytest.approx(
        (1 / np.arange(1, 750_001)).sum() / 750_000, rel=1e-12
    )


@pytest.mark.parametrize("bad", [[], [0], [-1], [1.5], [np.nan], [np.inf], ["1"], [[1]], [1e30]])
def test_bad_ranks_are_told_in_one_sentence(bad: object) -> None:
    with pytest.raises(InputError, match="A rank must be a whole number"):
        risk(bad, "lazy")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="A number of candidates must be a whole number"):
        chance(bad, "lazy")  # type: ignore[arg-type]


def test_bad_parameters_are_told_in_one_sentence() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'lazy'"):
        risk([1], "lasy")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="'k'"):
        risk([1], "active", k=0)
    with pytest.raises(ParameterError, match="'p'"):
        chance([1], "persistent", p=1.0)
    with pytest.raises(InputError, match="2 ranks and 3 numbers"):
        risk([1, 2], "lazy", candidates=[1, 2, 3])
    with pytest.raises(InputError, match="number 2 is not"):
        risk([1, 0], "lazy")


def test_what_is_not_there_cannot_be_guessed_blindly() -> None:
    assert chance(4, "lazy", ranks=[1, 5, 5, 5]) == 0.25 / 4
    assert chance([4, 2], "active", ranks=[3, 1]) == 1.0
    assert chance(4, "lazy", ranks=[5, 5]) == 0.0


def test_a_belief_is_scored_by_its_own_ranks() -> None:
    assert chance(10, "lazy", prior=[1, 1, 3, 11]) == 0.5
    assert chance(10, "motivated", prior=[2, 2, 11, 11]) == 0.25
