"""Comparisons of two configurations."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

from veil.core.errors import InputError
from veil.core.estimate import compare, p_values


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_up_to_sixteen_queries_every_choice_of_signs_is_counted(gaps: list[int]) -> None:
    found = compare(gaps, np.zeros(len(gaps)))
    seen = abs(sum(gaps))
    choices = list(itertools.product((1, -1), repeat=len(gaps)))
    far = [abs(sum(s * g for s, g in zip(signs, gaps, strict=True))) >= seen for signs in choices]
    assert found.exact
    assert found.p_value == pytest.approx(sum(far) / len(choices))


def test_it_agrees_with_scipy(rng: Generator) -> None:
    one = rng.normal(0.2, 1, size=60)
    found = compare(one, np.zeros(60))
    expected = stats.permutation_test(
        (one,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
    ).pvalue
    assert not found.exact
    assert found.p_value == pytest.approx(expected, abs=0.015)
    assert found.p_value == compare(one, np.zeros(60)).p_value
    assert found.difference == pytest.approx(one.mean())
    assert found.difference.low < found.difference < found.difference.high


def test_equal_configurations_differ_by_chance_only(rng: Generator) -> None:
    values = [compare(*rng.random((2, 12))).p_value for _ in range(300)]
    assert 0.02 <= np.mean(np.array(values) <= 0.05) <= 0.09
    same = compare([0.5] * 40, [0.5] * 40)
    assert [same.difference, same.p_value] == [0, 1]


def test_a_clear_difference_is_told() -> None:
    found = compare(np.full(43, 0.6), np.linspace(0.1, 0.5, 43))
    assert found.p_value == pytest.approx(1 / 20_001)
    assert found.difference.low > 0


def test_queries_without_a_value_are_left_out() -> None:
    found = compare([0.5, np.nan, 0.7, 0.2], [0.25, 0.5, np.nan, 0.1])
    assert found.difference.n == 2
    assert found.difference == pytest.approx(0.175)


def test_the_values_of_one_text_change_sign_together() -> None:
    found = compare([1.0] * 20, [0.0] * 20, groups=[0] * 10 + [1] * 10)
    assert found.difference.n == 2
    assert found.p_value == 0.5


def test_bad_input_is_told_in_one_sentence() -> None:
    for one, other in (([1], [1, 2]), ([[1]], [[1]]), (["a"], ["b"])):
        with pytest.raises(InputError, match="two lists of numbers"):
            compare(one, other)
    with pytest.raises(InputError, match="at least one finite number"):
        compare([np.nan], [1.0])
    with pytest.raises(InputError, match="needs one group"):
        compare([1, 2], [1, 2], groups=[1])


@pytest.mark.parametrize("n", [1, 5, 16, 17, 43])
def test_each_p_value_is_that_of_its_own_comparison(n: int, rng: Generator) -> None:
    plain = rng.random(n)
    others = np.clip(plain + rng.normal([[0.0], [0.05], [-0.4]], 0.2, (3, n)), 0, 1)
    found = p_values(others - plain)
    alone = [compare(other, plain).p_value for other in others]
    assert found.tolist() == pytest.approx(alone, abs=1e-15)


def test_a_query_that_is_not_known_is_left_out(rng: Generator) -> None:
    gaps = rng.normal(0.3, 0.4, 12)
    holes = np.append(gaps, [np.nan, np.nan])
    alone = compare(gaps, np.zeros(12)).p_value
    assert p_values([holes])[0] == alone
    assert p_values([[np.nan, 0.0]])[0] == 1


def test_there_must_be_differences() -> None:
    some: tuple[list[Any], ...] = ([], [0.5], [[]], [[np.inf]])
    for bad in some:
        with pytest.raises(InputError, match="one row per configuration"):
            p_values(bad)
