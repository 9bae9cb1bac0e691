"""Composition against published figures, and an account that refuses before it spends."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SHARED

from veil.core.accounting import Account, advanced
from veil.core.errors import BudgetError, ParameterError


def test_advanced_composition_is_the_optimal_one() -> None:
    file = SHARED / "golden" / "dp.json"
    if not file.is_file():
        pytest.skip("the golden values are not at hand")
    for row in json.loads(file.read_text())["pure_composition"]:
        found = advanced(row["epsilon"], row["times"], row["delta"])
        assert found == pytest.approx(row["optimal"], rel=1e-9)


@given(st.floats(0.01, 3), st.integers(1, 60), st.floats(1e-12, 0.1))
def test_more_may_never_cost_less(epsilon: float, times: int, delta: float) -> None:
    found = advanced(epsilon, times, delta)
    assert 0 <= found <= epsilon * times
    assert advanced(epsilon, times + 1, delta) >= found * (1 - 1e-9)
    assert advanced(epsilon, times, delta / 10) >= found * (1 - 1e-9)
    assert advanced(epsilon, times, 0) == epsilon * times


def test_one_release_is_what_randomised_response_gives() -> None:
    """Of one pure release the curve is known: delta = (e^eps - e^e) / (1 + e^eps)."""
    epsilon, total = 1.5, 0.7
    delta = (math.exp(epsilon) - math.exp(total)) / (1 + math.exp(epsilon))
    assert advanced(epsilon, 1, delta) == pytest.approx(total, rel=1e-12)


def test_what_is_large_does_not_overflow() -> None:
    assert advanced(800.0, 3, 1e-6) == pytest.approx(2400, rel=1e-6)
    assert advanced(0.001, 20_000, 1e-9) < 1.0


@pytest.mark.parametrize(
    "bad", [(0, 1, 0.1), (1, 0, 0.1), (1, 1, 1), (1, 1, -0.1), (math.inf, 1, 0)]
)
def test_bad_input_is_one_sentence(bad: tuple[float, int, float]) -> None:
    with pytest.raises(ParameterError, match="Advanced composition needs"):
        advanced(*bad)


def test_amounts_are_the_decimals_that_they_are_written_as() -> None:
    account = Account({"epsilon": 1.0, "delta": 1e-6})
    for _ in range(10):
        account.spend({"epsilon": 0.1, "delta": 1e-7})
    assert (account.left("epsilon"), account.left("delta")) == (0.0, 0.0)
    with pytest.raises(BudgetError, match="costs 0.1 of epsilon, but only 0 of 1 are left"):
        account.spend({"epsilon": 0.1})


def test_all_of_a_release_is_spent_or_nothing() -> None:
    account = Account({"epsilon": 1.0, "delta": 1e-6}, {"epsilon": 0.25})
    with pytest.raises(BudgetError, match="delta"):
        account.spend({"epsilon": 0.5, "delta": 1e-5})
    assert (account.spent("epsilon"), account.spent("delta")) == (0.25, 0.0)
    account.spend({"epsilon": 0.75, "delta": 0.0})
    assert account.left("epsilon") == 0.0


def test_what_no_budget_can_count_is_refused() -> None:
    account = Account({"epsilon": 1.0})
    with pytest.raises(BudgetError, match="is unbounded"):
        account.spend({"epsilon": math.inf})
    with pytest.raises(BudgetError, match="has no limit for delta"):
        account.spend({"delta": 1e-9})
    for bad in (math.nan, -1.0):
        with pytest.raises(ParameterError):
            account.spend({"epsilon": bad})
        with pytest.raises(ParameterError):
            Account({"epsilon": bad})
    assert account.spent("epsilon") == 0.0
