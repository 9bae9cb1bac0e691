"""The bounds on a share against SciPy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from veil.measures.bounds import incomplete_beta, lower_share, upper_share


@given(st.floats(0.5, 1e5), st.floats(0.5, 1e5), st.floats(0.001, 0.999))
def test_the_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    expected = float(special.betainc(a, b, x))
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-8, abs=1e-14)


@pytest.mark.parametrize("error", [0.025, 1e-4, 1e-9])
@pytest.mark.parametrize(
    ("hits", "trials"), [(0, 10), (1, 10), (10, 10), (3, 1000), (500, 1000), (9_990, 10_000)]
)
def test_the_bounds_are_those_of_scipy(hits: int, trials: int, error: float) -> None:
    result = stats.binomtest(hits, trials)
    both = result.proportion_ci(1 - 2 * error, method="exact")
    assert lower_share(hits, trials, error) == pytest.approx(both.low, rel=1e-6)
    assert upper_share(hits, trials, error) == pytest.approx(both.high, rel=1e-6)


def test_the_edges_have_closed_forms() -> None:
    assert lower_share(0, 50, 0.01) == 0
    assert upper_share(50, 50, 0.01) == 1
    assert lower_share(50, 50, 0.01) == pytest.approx(0.01 ** (1 / 50))
    assert upper_share(0, 50, 0.01) == pytest.approx(1 - 0.01 ** (1 / 50))
    assert (incomplete_beta(2, 3, 0.0), incomplete_beta(2, 3, 1.0)) == (0, 1)
