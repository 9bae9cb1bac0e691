"""Ranks with ties, and the results of attacks."""

import numpy as np
import pytest

from veil.core.outcome import Choice, Outcome, Ranks, first_guess, rank_with_ties
from veil.measures.risk import ATTACKERS, risk


def test_ranks_are_an_array_like_any_other() -> None:
    found = Ranks([1, 5, 2], [1, 2, 1])
    assert found.tolist() == [1, 5, 2]
    assert (found == 1).tolist() == [True, False, False]
    assert type(found + 1) is np.ndarray
    assert float(found.mean()) == pytest.approx(8 / 3)
    assert found[1] == 5
    assert getattr(found.view(), "ties", 0) is None  # what may be a part of it claims nothing


def test_a_part_keeps_its_ties() -> None:
    found = Ranks([1, 5, 2], [1, 2, 3])
    for part in (slice(1, None), np.array([1, 2]), np.array([False, True, True])):
        some = found[part]
        assert isinstance(some, Ranks)
        assert some.ties is not None
        assert some.ties.tolist() == [2, 3]


def test_scores_within_their_rounding_are_level() -> None:
    scores = np.array([-100.0, -100.00004, -99.99996, -100.1, -99.9, -np.inf, -np.inf])
    assert rank_with_ties(scores, 0) == (3, 1)
    assert rank_with_ties(scores, 0, 5e-7) == (2, 3)
    assert rank_with_ties(scores, 5, 5e-7) == (6, 2)
    assert rank_with_ties(scores, -1, 5e-7) == (8, 1)


def test_first_guess_without_ties() -> None:
    assert first_guess(np.array([1, 2]), None).tolist() == [1.0, 0.0]


def test_an_outcome_computes_what_ranks_imply() -> None:
    ranks, among = np.array([1, 2, 5, 1]), np.full(4, 4)
    outcome = Outcome(ranks, among, ties=np.array([2, 1, 1, 1]))
    assert outcome.per_record.tolist() == [0.5, 0.0, 0.0, 1.0]
    assert outcome.baseline == pytest.approx(3 / 16)  # the third is not among the candidates
    assert (float(outcome.success), float(outcome.risk)) == (0.375, 0.375)
    assert outcome.low <= outcome.risk <= outcome.high
    prior = Outcome(ranks, among, prior=np.array([1, 1, 5, 2]))
    assert prior.baseline == 0.5


def test_excess_counts_only_success_above_the_baseline() -> None:
    hits = np.array([1.0, 1.0, 1.0, 0.0])
    assert float(Outcome(per_record=hits, baseline=0.5, excess=True).risk) == 0.5
    assert float(Outcome(per_record=hits, baseline=0.9, excess=True).risk) == 0.0
    assert float(Outcome(per_record=hits, baseline=1.0, excess=True).risk) == 0.0
    assert float(Outcome(per_record=hits, baseline=0.5).risk) == 0.75


def test_an_attack_that_ranks_nothing_makes_one_guess() -> None:
    outcome = Outcome(per_record=np.array([1.0, 0.5]))
    for attacker in ATTACKERS[:3]:
        assert float(risk(outcome, attacker)) == 0.75
    assert float(risk(outcome, "persistent")) == pytest.approx(0.15)


def test_a_choice_is_scored_by_its_advantage() -> None:
    inside = np.array([True, True, True, True, False, False])
    decisions = np.array([True, True, True, False, True, False])
    choice = Choice(decisions=decisions, inside=inside)
    assert (choice.true_positive_rate, choice.false_positive_rate) == (0.75, 0.5)
    assert (float(choice.advantage), float(choice.risk), choice.baseline) == (0.25, 0.25, 0.0)
    assert choice.per_record.tolist() == [1, 1, 1, 0, 0, 1]
    worse = Choice(decisions=~decisions, inside=inside)
    assert (float(worse.success), float(worse.risk)) == (-0.25, 0.0)


def test_former_attributes_of_results_work_with_a_warning() -> None:
    outcome = Outcome(np.array([1]), np.array([3]), details={"absent": 0})
    with pytest.warns(DeprecationWarning, match="Outcome.first is now ranks"):
        assert outcome.first is outcome.ranks  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="candidates"):
        assert outcome.among == 3  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'second'"):
        outcome.second  # type: ignore[attr-defined] # noqa: B018
