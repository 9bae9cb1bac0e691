"""Utility above the majority: its mean, its spread, and where there is none."""

import numpy as np
import pytest
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.estimate import bootstrap
from veil.measures.quipu import quipu, quipu_difference, quipu_interval
from veil.task.study import above_majority


def test_the_mean_is_the_ratio_and_plain_texts_have_one() -> None:
    right, unprotected = np.array([1.0, 0, 1, 0, 1, 0, 0, 1]), np.array([1.0, 1, 1, 0, 1, 0, 1, 1])
    common = np.array([1.0, 1, 0, 0, 0, 0, 0, 0])
    assert above_majority(right, unprotected, common).mean() == pytest.approx((4 - 2) / (6 - 2))
    assert (above_majority(unprotected, unprotected, common) == 1).all()
    assert above_majority(common, unprotected, common).mean() == pytest.approx(0)


def test_the_interval_is_that_of_drawing_other_texts(rng: Generator) -> None:
    """The whole ratio, numerator and denominator, over texts drawn again."""
    n = 600
    unprotected = (rng.random(n) < 0.75).astype(float)
    right = np.where(rng.random(n) < 0.6, unprotected, (rng.random(n) < 0.5).astype(float))
    common = (rng.random(n) < 0.45).astype(float)
    samples = rng.integers(n, size=(4000, n))
    a, p, m = (values[samples].mean(axis=1) for values in (right, unprotected, common))
    expected = np.quantile((a - m) / (p - m), [0.025, 0.975])
    actual = bootstrap(above_majority(right, unprotected, common))
    assert (actual.high - actual.low) == pytest.approx(expected[1] - expected[0], rel=0.15)
    assert actual.low == pytest.approx(expected[0], abs=0.03)


def test_a_classifier_no_better_than_a_constant_has_no_utility() -> None:
    same = np.array([1.0, 0, 1, 0])
    with pytest.raises(InputError, match=r"Got 0.500 against 0.500"):
        above_majority(same, same, same)


def test_a_score_of_values_beyond_the_range_is_that_of_their_cut_means() -> None:
    risks = np.array([[0.0, 0.0], [1.0, 0.0]])
    utilities = np.array([[-3.0, 1.0], [5.0, -2.0]])  # means -1 and 1.5
    assert float(quipu_interval(risks, utilities)) == quipu([0.0, 0.5], [0.0, 1.0])
    actual = quipu_interval(risks, utilities)
    assert -1 <= actual.low <= actual.high <= 1
    assert float(quipu_difference(risks, utilities, risks, utilities)) == 0
    with pytest.raises(InputError, match="Every utility"):
        quipu_interval(risks, utilities * np.inf)
    with pytest.raises(InputError, match="Every risk"):
        quipu_interval(risks * np.nan, utilities)
