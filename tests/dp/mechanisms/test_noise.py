"""The mechanisms that add noise: laws, promises, grids, and what they refuse."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.dp.calibration import discrete_gaussian_delta, zcdp_epsilon
from veil.dp.mechanisms.gaussian import Gaussian
from veil.dp.mechanisms.laplace import Laplace

NOISE = ["geometric(epsilon=0.5)", "laplace(epsilon=0.5)", "discrete_gaussian(rho=0.5)",
         "gaussian(sigma=4)", "gaussian(epsilon=1, delta=1e-6)"]  # fmt: skip


@needs_golden
def test_laws_are_the_golden_ones() -> None:
    for case in golden("geometric"):
        spec = f"geometric(epsilon={case['epsilon']}, sensitivity={case['sensitivity']})"
        np.testing.assert_allclose(
            dp.law(spec, case["x"], case["outputs"]), case["probs"], rtol=1e-12
        )
    for case in golden("discrete_gaussian"):
        spec = f"discrete_gaussian(rho={case['rho']}, sensitivity={case['sensitivity']})"
        np.testing.assert_allclose(
            dp.law(spec, case["x"], case["outputs"]), case["probs"], rtol=1e-12
        )


@pytest.mark.parametrize("spec", ["geometric(epsilon=0.7, sensitivity=2)", "laplace(epsilon=3)"])
def test_the_loss_is_exactly_what_is_promised(spec: str) -> None:
    mechanism = dp.mechanism(spec)
    one, other = mechanism.pairs()[0]
    step = float(getattr(mechanism, "step", 1))
    outputs = np.arange(-300, 300) * step
    ratio = np.log(mechanism.law(mechanism.check(one), outputs))
    ratio = ratio - np.log(mechanism.law(mechanism.check(other), outputs))
    assert np.abs(ratio).max() <= mechanism.guarantee.epsilon * (1 + 1e-9)
    assert np.abs(ratio).max() >= mechanism.guarantee.epsilon * (1 - 1e-5)  # nor is it wasted


@pytest.mark.parametrize("spec", NOISE)
def test_draws_follow_the_law(spec: str) -> None:
    mechanism = dp.mechanism(spec)
    x = mechanism.check(3)
    drawn = np.asarray(dp.release(3, mechanism, size=100_000, rng=5).value)
    if drawn.dtype == np.int64:
        values = np.arange(3 - 6, 3 + 7)
        expected = mechanism.law(x, values) * len(drawn)
        observed = np.array([(drawn == value).sum() for value in values])
        rest = len(drawn) - observed.sum()
        pvalue = stats.chisquare(
            [*observed, rest], [*expected, len(drawn) - expected.sum()]
        ).pvalue
        assert pvalue > 1e-3
        return
    law = stats.laplace(3, 2) if "laplace" in spec else stats.norm(3, getattr(mechanism, "scale"))  # noqa: B009 - of gaussian alone
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-3


@pytest.mark.parametrize("spec", NOISE)
def test_the_shape_of_a_release_is_that_of_the_answer(spec: str) -> None:
    assert np.ndim(dp.release(3, spec, rng=1).value) == 0
    assert not isinstance(dp.release(3, spec, rng=1).value, np.generic)
    assert dp.release([3, 4], spec, rng=1).value.shape == (2,)
    several = dp.release([[3, 4]], spec, size=5, rng=1)
    assert several.value.shape == (5, 1, 2)
    once = dp.release(3, spec, rng=1)
    assert (several.cost.epsilon, several.cost.rho) == (
        5 * once.cost.epsilon,
        5 * once.cost.rho,
    )
    assert str(dp.mechanism(once.mechanism)) == once.mechanism


def test_a_seed_is_said_and_repeats() -> None:
    one, again = (dp.release([1, 2, 3], "geometric(epsilon=0.1)", rng=7) for _ in range(2))
    assert one.seeded
    assert one.value.tolist() == again.value.tolist()
    assert not dp.release(1, "geometric(epsilon=0.1)").seeded
    fresh = {tuple(dp.release([0] * 8, "geometric(epsilon=0.01)").value) for _ in range(5)}
    assert len(fresh) == 5


@pytest.mark.parametrize("x", [0.1, 1000 / 3, -7.25, 0.0])
def test_the_grid_does_not_depend_on_the_answer(x: float) -> None:
    for mechanism in (Laplace(epsilon=0.3), Gaussian(sigma=3.0), Gaussian(epsilon=1, delta=1e-5)):
        g = mechanism.step if isinstance(mechanism, Laplace) else mechanism.noise(1)[0]
        drawn = dp.release(x, mechanism, size=2_000, rng=3).value
        assert all(Fraction(value) % g == 0 for value in drawn.tolist())
        odd = {int(Fraction(value) / g) % 2 for value in drawn.tolist()}
        assert odd == {0, 1}  # and it is not a coarser one


def test_whole_numbers_near_the_end_are_exact() -> None:
    x = 2**60 + 1
    drawn = dp.release(x, "geometric(epsilon=1)", size=20_000, rng=2).value
    assert drawn.dtype == np.int64
    assert abs(float(np.mean(drawn - x))) < 0.1
    assert set((drawn - x).tolist()) >= {-2, -1, 0, 1, 2}


def test_a_vector_on_the_grid_has_the_noise_of_all_its_roundings() -> None:
    mechanism = Laplace(epsilon=1.0)
    assert mechanism.scale(3) - mechanism.scale(1) == 2
    g = mechanism.step
    assert mechanism.scale(1) == (1 / g + 1)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (10.0, 1e-5), (0.1, 1e-9), (3.0, 0.1)]
)
def test_the_gaussian_pair_is_kept_by_the_discrete_law_itself(
    epsilon: float, delta: float
) -> None:
    mechanism = Gaussian(epsilon=epsilon, delta=delta, sensitivity=3.0)
    g, sigma2 = mechanism.noise(1)
    shift = math.ceil(3 / g)
    assert discrete_gaussian_delta(epsilon, float(sigma2), shift) <= delta
    smaller = float(sigma2) * 0.9999
    assert discrete_gaussian_delta(epsilon, smaller, shift) > delta  # nor is it wasted
    for nearer in (1, shift // 3, shift // 2, shift - 1):
        assert discrete_gaussian_delta(epsilon, float(sigma2), nearer) <= delta


def test_several_numbers_have_the_noise_of_the_concentrated_bound() -> None:
    g, sigma2 = Gaussian(epsilon=1.0, delta=1e-6).noise(2)
    rho = 1 / (2 * float(sigma2) * float(g) ** 2)
    assert zcdp_epsilon(rho, 1e-6) <= 1.0
    assert zcdp_epsilon(rho * 1.001, 1e-6) > 1.0


def test_sigma_promises_rho_with_the_rounding_counted() -> None:
    mechanism = Gaussian(sigma=4.0, sensitivity=2.0)
    assert mechanism.guarantee.kind == "zcdp"
    assert mechanism.guarantee.rho == pytest.approx(0.125)
    for d in (1, 9):
        g, sigma2 = mechanism.noise(d)
        grown = (2 + math.sqrt(d) * float(g)) / float(g)  # the sensitivity on the grid, in steps
        assert grown**2 / (2 * float(sigma2)) <= 0.125 * (1 + 1e-12)


@pytest.mark.parametrize(
    ("spec", "x"),
    [
        ("geometric(epsilon=1)", 1.5),
        ("geometric(epsilon=1)", True),
        ("geometric(epsilon=1)", [True, False]),
        ("geometric(epsilon=1)", "12"),
        ("geometric(epsilon=1)", []),
        ("geometric(epsilon=1)", 2**63),
        ("geometric(epsilon=1)", 2**70),
        ("geometric(epsilon=1)", None),
        ("discrete_gaussian(rho=1)", 0.5),
        ("laplace(epsilon=1)", math.nan),
        ("laplace(epsilon=1)", math.inf),
        ("laplace(epsilon=1)", True),
        ("laplace(epsilon=1)", "1.0"),
        ("laplace(epsilon=1)", 1e300),
        ("gaussian(sigma=1)", [math.nan]),
    ],
)
def test_answers_that_cannot_be_released_are_refused_and_not_quoted(spec: str, x: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError) as error:
        dp.release(x, spec)
    sentence = str(error.value)
    for text in ("nan", "inf", "1.5", "True", "9223", "1e300"):
        assert text not in sentence


@pytest.mark.parametrize(
    "spec",
    [
        "geometric(epsilon=0)", "geometric(epsilon=-1)", "geometric(epsilon=nan)",
        "geometric(epsilon=inf)", "geometric(epsilon=1, sensitivity=0)", "geometric()",
        "laplace(epsilon=1, sensitivity=0)", "gaussian()", "gaussian(epsilon=1)",
        "gaussian(epsilon=1, delta=0)", "gaussian(epsilon=1, delta=1)",
        "gaussian(sigma=1, epsilon=1, delta=0.1)", "gaussian(sigma=0)",
        "discrete_gaussian(rho=0)", "laplace(epsilon=1e-18)",
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(ParameterError):
        dp.release(1, spec, rng=1)


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "3"])
def test_a_size_that_is_none_is_refused(size: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="'size'"):
        dp.release(1, "geometric(epsilon=1)", size=size)


def test_outputs_of_another_shape_have_no_law() -> None:
    with pytest.raises(InputError, match="shape"):
        dp.law("geometric(epsilon=1)", [1, 2], [[1, 2, 3]])
    pair = dp.law("geometric(epsilon=1)", [1, 2], [[1, 2], [0, 0]])
    each = [dp.law("geometric(epsilon=1)", x, [x, 0]) for x in (1, 2)]
    np.testing.assert_allclose(pair, each[0] * each[1])


def test_drawing_does_not_touch_the_answer_or_the_global_generator() -> None:
    x = np.array([1, 2, 3])
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    dp.release(x, "geometric(epsilon=1)")
    assert x.tolist() == [1, 2, 3]
    assert (np.random.get_state()[1] == before).all()  # type: ignore[index]  # noqa: NPY002
    rng = generator(1)
    assert dp.release(1, "geometric(epsilon=1)", rng=rng).seeded


@pytest.mark.parametrize("outputs", [[10.5], [math.nan], [2**70], ["secret"], [True], [math.inf]])
@pytest.mark.parametrize(
    "spec",
    ["geometric(epsilon=1)", "discrete_gaussian(rho=1)", "randomised_response(epsilon=1, k=20)"],
)
def test_outputs_that_cannot_be_have_no_law(spec: str, outputs: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError) as error:
        dp.law(spec, 10, outputs)
    assert "secret" not in str(error.value)
    np.testing.assert_allclose(dp.law(spec, 10, [10.0]), dp.law(spec, 10, [10]))


def test_numbers_in_uneven_rows_and_truth_values_among_them_are_refused() -> None:
    for x in ([[1, 2], [3]], [1, True], [object()]):
        with pytest.raises(InputError):
            dp.release(x, "geometric(epsilon=1)")


def test_a_small_sensitivity_does_not_drown_in_the_grid() -> None:
    g, sigma2 = Gaussian(sigma=1.0, sensitivity=1e-6).noise(1)
    assert math.sqrt(sigma2) * float(g) < 1.01
    assert str(Gaussian(sigma=4.0)) == "gaussian(sigma=4.0)"
