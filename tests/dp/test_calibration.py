"""How much noise a promise takes: golden values, and both ends of each."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.errors import ParameterError
from veil.dp.calibration import partition_chances, zcdp_rho


@needs_golden
def test_golden_values() -> None:
    for case in golden("analytic_gaussian_sigma"):
        sigma = dp.gaussian_sigma(case["epsilon"], case["delta"], case["sensitivity"])
        assert sigma == pytest.approx(case["sigma"], rel=1e-9)
    for case in golden("classical_gaussian_true_delta"):
        assert dp.gaussian_delta(case["epsilon"], case["sigma"]) == pytest.approx(
            case["true_delta"], rel=1e-9
        )
    for case in golden("zcdp"):
        assert dp.zcdp_epsilon(case["rho"], case["delta"]) == pytest.approx(
            case["epsilon_tight"], rel=1e-9
        )
    for case in golden("discrete_gaussian_delta"):
        assert dp.discrete_gaussian_delta(
            case["epsilon"], case["sigma2"], case["sensitivity"]
        ) == pytest.approx(case["delta"], rel=1e-9)
    for case in golden("tau"):
        found = dp.threshold(case["epsilon"], case["delta"], case["max_groups"])
        assert found == case["threshold"]
    for case in golden("optimal_partition"):
        chances = partition_chances(case["epsilon"], case["delta"], case["n"])
        assert float(chances[case["n"]]) == pytest.approx(case["keep"], rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
def test_sigma_is_the_least_that_is_enough(epsilon: float, delta: float) -> None:
    sigma = dp.gaussian_sigma(epsilon, delta)
    assert dp.gaussian_delta(epsilon, sigma) <= delta
    assert dp.gaussian_delta(epsilon, sigma * (1 - 1e-6)) > delta
    assert dp.gaussian_sigma(epsilon, delta, 3.0) == pytest.approx(3 * sigma)


def test_rho_is_the_most_that_is_allowed() -> None:
    rho = zcdp_rho(1.0, 1e-6)
    assert dp.zcdp_epsilon(rho, 1e-6) <= 1.0 < dp.zcdp_epsilon(rho * (1 + 1e-6), 1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "groups"), [(1.0, 1e-6, 1), (0.3, 1e-4, 7)])
def test_tau_is_the_least_that_is_enough(epsilon: float, delta: float, groups: int) -> None:
    tau = dp.threshold(epsilon, delta, groups)
    q = math.exp(-epsilon / groups)

    def shown(m: int) -> float:  # any of the keys of one person
        return -math.expm1(groups * math.log1p(-(q**m) / (1 + q)))

    assert shown(tau - 1) <= delta < shown(tau - 2)


@pytest.mark.parametrize(
    ("epsilon", "delta", "groups"),
    [
        (1e-300, 1e-6, 1),
        (5e-324, 5e-324, 3),
        (1.0, 5e-324, 1),
        (0.01, 7.6e-60, 1),
        (1.0, 0.1, 10**40),
    ],
)
def test_tau_is_the_least_that_is_enough_however_small_the_numbers_are(
    epsilon: float, delta: float, groups: int
) -> None:
    tau = dp.threshold(epsilon, delta, groups)
    with localcontext() as context:
        context.prec = 2_000
        slope = Decimal(epsilon) / groups

        def shown(m: int) -> Decimal:
            one = (-slope * m).exp() / (1 + (-slope).exp())
            return 1 - (groups * (1 - one).ln()).exp()

        assert shown(tau - 1) <= Decimal(delta)
        assert tau == 1 or shown(tau - 2) > Decimal(delta)


@pytest.mark.parametrize(("epsilon", "sigma2"), [(1.0, 1e-300), (1e300, 1.0)])
def test_the_delta_of_next_to_no_noise_is_found_in_silence(epsilon: float, sigma2: float) -> None:
    wanted = 1.0 if sigma2 < 1 else 0.0
    assert dp.discrete_gaussian_delta(epsilon, sigma2) == wanted


def test_the_chances_of_an_optimal_selection_keep_the_promise() -> None:
    epsilon, delta = 0.7, 1e-4
    chances = partition_chances(epsilon, delta, 200)
    assert chances[0] == 0
    assert chances[-1] == 1
    grown, given = math.exp(epsilon), Fraction(delta)
    for before, after in itertools.pairwise(chances):
        assert before <= after <= Fraction(grown) * before * (1 + Fraction(1, 10**12)) + given
        assert 1 - before <= Fraction(grown) * (1 - after) * (1 + Fraction(1, 10**12)) + given


@pytest.mark.parametrize(
    "call",
    [
        lambda: dp.gaussian_sigma(0, 1e-6),
        lambda: dp.gaussian_sigma(1, 0),
        lambda: dp.gaussian_sigma(1, 1),
        lambda: dp.gaussian_sigma(math.nan, 0.1),
        lambda: dp.gaussian_delta(1, 0),
        lambda: dp.gaussian_delta(-1, 1),
        lambda: dp.zcdp_epsilon(-1, 0.1),
        lambda: dp.zcdp_epsilon(1, 0),
        lambda: dp.discrete_gaussian_delta(1, 1, 0),
        lambda: dp.discrete_gaussian_delta(1, 0),
        lambda: dp.threshold(0, 0.1),
        lambda: dp.threshold(1, 0),
        lambda: dp.threshold(1, 0.1, 0),
        lambda: dp.threshold(1, 0.1, "x"),  # type: ignore[arg-type]
        lambda: dp.threshold("1", 0.1),  # type: ignore[arg-type]
        lambda: dp.threshold(1, 0.1, math.nan),  # type: ignore[arg-type]
        lambda: dp.gaussian_sigma(None, 0.1),  # type: ignore[arg-type]
        lambda: dp.gaussian_sigma(True, 0.1),
        lambda: dp.zcdp_epsilon(1, "x"),  # type: ignore[arg-type]
        lambda: dp.discrete_gaussian_delta(1, 1, math.nan),  # type: ignore[arg-type]
    ],
)
def test_arguments_out_of_range_are_refused(call: object) -> None:
    assert callable(call)
    with pytest.raises(ParameterError, match="argument must be"):
        call()


def test_numbers_of_numpy_are_numbers() -> None:
    one: Any = np.int64(1)
    assert dp.threshold(one, np.float64(1e-6), one) == 15
    assert dp.gaussian_sigma(one, np.float64(1e-5)) == pytest.approx(3.7306316)
