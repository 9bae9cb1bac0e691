"""Ranks with ties."""

import numpy as np
import pytest

from veil.core.outcome import Ranks, first_guess, rank_with_ties


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
