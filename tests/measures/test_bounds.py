"""Bounds on a mean: they hold as often as they say, and are no higher than they need to be."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

from veil.core.errors import InputError
from veil.measures.bounds import ERROR, cases_needed, excess_bound, upper_bound


def test_counts_have_the_bound_of_clopper_and_pearson() -> None:
    for hits, n in [(0, 3), (0, 43), (1, 30), (7, 40), (40, 40)]:
        exact = stats.binomtest(hits, n).proportion_ci(1 - 2 * ERROR, method="exact").high
        assert upper_bound(hits / n, n, binary=True) == pytest.approx(exact)
        assert upper_bound(0.2 * hits / n, n, top=0.2, binary=True) == pytest.approx(0.2 * exact)
    assert upper_bound(0.0, 43, binary=True) == pytest.approx(0.0822, abs=1e-4)


@pytest.mark.parametrize("n", [1, 3, 10, 43, 72, 200])
@pytest.mark.parametrize("limit", [0.05, 0.2, 0.5])
def test_a_share_above_the_limit_keeps_it_by_chance_alone(n: int, limit: float) -> None:
    kept = [hits for hits in range(n + 1) if upper_bound(hits / n, n, binary=True) <= limit]
    assert stats.binom.pmf(kept, n, limit + 1e-9).sum() <= ERROR
    if n >= math.log(ERROR) / math.log(1 - limit):
        assert 0 in kept


@given(st.floats(0, 1), st.integers(1, 500), st.sampled_from([1.0, 0.2]))
def test_any_mean_has_the_bound_of_the_formula(share: float, n: int, top: float) -> None:
    found = upper_bound(top * share, n, top=top) / top
    assert share <= found <= 1
    if found < 1 - 1e-6:  # nearer to 1 the check itself is not precise
        divergence = stats.entropy([share, 1 - share], [found, 1 - found])
        assert n * divergence == pytest.approx(math.log(40), rel=1e-6)


@pytest.mark.parametrize("n", [2, 10, 60])
@pytest.mark.parametrize("shape", ["reciprocal", "two", "beta"])
def test_the_general_bound_holds_for_any_numbers(n: int, shape: str, rng: Generator) -> None:
    size = (4000, n)
    cases, mean = {
        "reciprocal": (1 / rng.integers(1, 21, size), float((1 / np.arange(1, 21)).mean())),
        "two": ((rng.random(size) < 0.1).astype(float), 0.1),
        "beta": (rng.beta(0.1, 0.9, size), 0.1),
    }[shape]
    bounds = [upper_bound(float(one), n) for one in cases.mean(axis=1)]
    assert np.mean(np.array(bounds) < mean) <= ERROR


def test_counts_are_bounded_more_closely_than_other_numbers() -> None:
    assert upper_bound(0.1, 30, binary=True) < upper_bound(0.1, 30)
    assert upper_bound(0.1, 25, binary=True) == upper_bound(0.1, 25)  # no count of 25 gives 0.1


@pytest.mark.parametrize(("limit", "n"), [(0.05, 72), (0.1, 36), (0.01, 368), (1.0, 1)])
def test_the_cases_needed_are_enough_and_no_more(limit: float, n: int) -> None:
    assert cases_needed(limit) == n
    assert upper_bound(0.0, n, binary=True) <= limit
    assert n == 1 or upper_bound(0.0, n - 1, binary=True) > limit
    assert cases_needed(limit * 0.2, top=0.2) == n


def test_a_measured_mean_needs_more_cases() -> None:
    enough = cases_needed(0.05, mean=0.02)
    assert enough is not None
    assert upper_bound(0.02, enough) <= 0.05 < upper_bound(0.02, enough - 1)
    assert cases_needed(0.05, mean=0.05) is cases_needed(0.0) is None


@pytest.mark.parametrize(("mean", "n"), [(-0.1, 5), (1.1, 5), (math.nan, 5), (0.5, 0)])
def test_what_is_no_mean_is_refused(mean: float, n: int) -> None:
    with pytest.raises(InputError):
        upper_bound(mean, n)


def test_the_bound_above_chance_holds_in_most_samples() -> None:
    rng, chance, truth = np.random.default_rng(7), 0.4, 0.2
    hits = rng.random((400, 60)) < chance + truth * (1 - chance)
    bounds = [excess_bound(row.astype(np.float64), chance) for row in hits]
    assert np.mean(np.array(bounds) >= truth) >= 0.975 - 0.02
    assert excess_bound(np.zeros(5), 1.0) == 0
    assert excess_bound(np.zeros(5000), 0.4) == 0
