"""Losses followed by their law: golden values, what is proved of arrays, and what is not."""

import math
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.accounting import advanced as equal
from veil.core.errors import MissingExtraError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.dp.accounting.cost import Item
from veil.dp.accounting.pld import Law, gaussian_epsilon

pytest.importorskip("dp_accounting", reason="the extra 'accounting' is not installed")
EACH = "add or remove one record"


def epsilon(items: list[Item], delta: float) -> float:
    return dp.compose(items, delta, "pld").epsilon


def item(row: dict[str, float | str]) -> Item:
    kind, times = row["mechanism"], int(row["times"])
    if kind == "gaussian":
        return f"gaussian(sigma={row['sigma']!r})", times
    if kind in ("laplace", "geometric"):
        return f"{kind}(epsilon={1 / float(row['scale'])!r})", times
    if kind == "discrete gaussian":
        return f"discrete_gaussian(rho={1 / (2 * float(row['sigma']) ** 2)!r})", times
    return dp.sampled(f"gaussian(sigma={row['sigma']!r})", float(row["q"])), times


@needs_golden
def test_pld_is_golden() -> None:
    *rows, mixed = golden("pld")
    for row in rows:
        found = epsilon([item(row)], row["delta"])
        assert found == pytest.approx(row["pld"], rel=2e-3)
        if "exact" in row:
            assert found == pytest.approx(row["exact"], rel=1e-9)
    items: list[Item] = [("laplace(epsilon=0.25)", 5), ("gaussian(sigma=6)", 12)]
    assert epsilon(items, mixed["delta"]) == pytest.approx(mixed["pld"], rel=2e-3)
    assert epsilon(items[::-1], mixed["delta"]) == epsilon(items, mixed["delta"])


def test_gaussians_alone_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    whole = dp.compose([("gaussian(sigma=4)", 100)], 1e-6, "pld")
    assert whole.epsilon == pytest.approx(14.450776965991357, rel=1e-12)
    assert "idealised numerics" in whole.caveat
    apart = epsilon([("gaussian(sigma=4)", 36), ("gaussian(sigma=2, sensitivity=0.5)", 64)], 1e-6)
    assert apart == whole.epsilon
    with pytest.raises(MissingExtraError, match=r"pip install .*\[accounting\]'"):
        epsilon(["geometric(epsilon=1)"], 1e-6)


def test_caveats_say_what_is_idealised() -> None:
    def caveat(spec: Item) -> str:
        return dp.compose([spec, "geometric(epsilon=0.5)"], 1e-6, "pld").caveat

    assert "idealised numerics" in caveat(dp.sampled("gaussian(sigma=1)", 0.1))
    assert "idealised" not in caveat("laplace(epsilon=0.5)")
    assert "idealised" not in caveat("discrete_gaussian(rho=0.5)")
    assert "one number" in caveat("discrete_gaussian(rho=0.5)")


def discrete_laplace(slope: float, reach: int) -> Floats:
    z = np.arange(-reach, reach + 1)
    return np.exp(-slope * np.abs(z)) * math.tanh(slope / 2)


def moved(law: Floats, shift: tuple[int, ...], total: float) -> float:
    """Return the delta of independent noise on several numbers, each moved by a shift."""
    one = two = np.ones(1)
    for steps in shift:
        other = np.zeros_like(law)
        other[steps:] = law[: len(law) - steps]
        one, two = np.multiply.outer(one, law).ravel(), np.multiply.outer(two, other).ravel()
    return float(np.maximum(one - math.exp(total) * two, 0).sum())


@pytest.mark.parametrize("slope", [0.2, 0.7, 2.0])
def test_an_array_of_geometric_noise_is_never_worse_than_one_number(slope: float) -> None:
    law = discrete_laplace(slope, 200)
    for shift in ((1, 1), (1, 2), (3, 1), (2, 2)):
        whole = sum(shift)
        for total in np.linspace(0, whole * slope, 9):
            alone = moved(law, (whole,), float(total))
            assert moved(law, shift, float(total)) <= alone + 1e-12


def test_an_array_of_discrete_gaussian_noise_can_be_worse_than_one_number() -> None:
    z = np.arange(-6, 8)
    law = np.exp(-np.square(z) / 0.18)
    law /= law.sum()
    for total in (23.0, 25.0, 30.0):
        alone = dp.discrete_gaussian_delta(total, 0.09, 2)
        assert moved(law, (1, 1, 1, 1), total) > 3 * alone


def test_a_grid_adds_nothing_that_is_seen() -> None:
    """The law of laplace, followed step by step on a coarse grid, is that of the accountant."""
    steps, budget, delta = 2**12, 0.5, 1e-6
    fine = epsilon([(f"geometric(epsilon={budget}, sensitivity={steps})", 10)], delta)
    wide = epsilon([(f"geometric(epsilon={budget}, sensitivity={steps + 1})", 10)], delta)
    grid = epsilon([(f"laplace(epsilon={budget})", 10)], delta)
    assert fine == pytest.approx(grid, rel=1e-7)
    assert wide == pytest.approx(grid, rel=1e-7)
    assert epsilon([(f"geometric(epsilon={budget})", 10)], delta) > grid


def test_losses_are_those_of_a_convolution_by_hand() -> None:
    """Ten releases of geometric(epsilon=0.4, sensitivity=2): losses -0.4, 0, 0.4."""
    q, law = math.exp(-0.2), np.ones(1)
    single = np.array([q**2 / (1 + q), (1 - q) / (1 + q) * q, 1 / (1 + q)])
    for _ in range(10):
        law = np.convolve(law, single)
    losses = 0.4 * np.arange(-10, 11)
    found = epsilon([("geometric(epsilon=0.4, sensitivity=2)", 10)], 1e-5)
    left = float(np.maximum(-np.expm1(found - losses), 0) @ law)
    assert left == pytest.approx(1e-5, rel=1e-4)
    assert left <= 1e-5


@pytest.mark.parametrize(("budget", "times", "delta"), [(0.01, 10_000, 1e-11), (0.1, 100, 1e-14)])
def test_rounding_of_transforms_never_makes_it_less(
    budget: float, times: int, delta: float
) -> None:
    exact = equal(budget, times, delta)
    found = epsilon([(f"geometric(epsilon={budget})", times)], delta)
    assert exact * (1 - 1e-9) <= found <= exact * 1.001


def test_what_has_no_law_enters_as_its_pair() -> None:
    pair = Guarantee("dp", 0.5, delta=1e-8, unit="record", neighbours=EACH)
    found = epsilon([(pair, 10)], 1e-6)
    assert found == pytest.approx(equal(0.5, 10, 9e-7), rel=1e-5)
    assert found <= dp.compose([(pair, 10)], 1e-6, "advanced").epsilon
    with pytest.raises(ParameterError, match="larger delta"):
        epsilon([(pair, 1000), "gaussian(sigma=4)"], 1e-6)
    rho = Guarantee("zcdp", rho=0.1, unit="record", neighbours=EACH)
    assert epsilon([rho], 1e-6) == dp.zcdp_epsilon(0.1, 1e-6)
    mixed = epsilon([rho, "gaussian(sigma=4)"], 1e-6)
    assert dp.zcdp_epsilon(0.1, 1e-6) < mixed <= dp.compose(
        [rho, "gaussian(sigma=4)"], 1e-6, "zcdp").epsilon  # fmt: skip


def test_zcdp_takes_half_of_the_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Law] = []

    def follow(laws: Counter[Law], delta: float) -> float:
        seen.extend(laws)
        return 0.5

    monkeypatch.setattr("veil.dp.accounting.pld.convolve", follow)
    rho = Guarantee("zcdp", rho=0.1, unit="record", neighbours=EACH)
    assert epsilon([rho, "gaussian(sigma=4)"], 1e-6) == 0.5
    assert Law("pair", dp.zcdp_epsilon(0.1, 5e-7), delta=5e-7) in seen
    assert Law("gaussian", 0.25) in seen


def test_large_and_small_costs_are_followed_too() -> None:
    tiny = epsilon([("laplace(epsilon=1e-6)", 5), "geometric(epsilon=0.1)"], 1e-6)
    assert 0.0999 < tiny <= 0.100005
    heavy = Guarantee("dp", 1000.0, delta=1e-7, unit="record", neighbours=EACH)
    assert 1000 < epsilon([heavy, "geometric(epsilon=0.1)"], 1e-6) <= 1000.1
    wide = epsilon([("discrete_gaussian(rho=1e-12)", 2)], 1e-6)
    assert wide == pytest.approx(dp.zcdp_epsilon(2e-12, 1e-6), rel=1e-9)
    with pytest.raises(ParameterError, match="above 0"):
        epsilon(["geometric(epsilon=1)"], 0.0)


@given(st.floats(0.01, 20.0), st.sampled_from([1e-3, 1e-6, 1e-10]))
def test_the_epsilon_of_a_gaussian_is_the_least(mu: float, delta: float) -> None:
    found = gaussian_epsilon(mu, delta)
    assert dp.gaussian_delta(found, 1 / mu) <= delta
    if found:
        assert dp.gaussian_delta(found * (1 - 1e-9), 1 / mu) >= delta * (1 - 1e-6)


SPECS = st.sampled_from(
    ["geometric(epsilon=0.3)", "laplace(epsilon=0.2)", "gaussian(sigma=5)",
     "geometric(epsilon=1, sensitivity=3)", "exponential(epsilon=0.5)"]
)  # fmt: skip


@settings(max_examples=8)
@given(st.lists(st.tuples(SPECS, st.integers(1, 9)), min_size=1, max_size=3), SPECS)
def test_pld_is_monotone_and_no_worse_than_others(
    items: list[tuple[str, int]], another: str
) -> None:
    found = epsilon([*items], 1e-5)
    assert found <= dp.compose(items, 1e-5, "advanced").epsilon
    assert epsilon([*reversed(items)], 1e-5) == found
    assert epsilon([*items, another], 1e-5) >= found * (1 - 1e-6)


def test_samples_by_an_independent_sum() -> None:
    """One release of geometric(epsilon=1, sensitivity=2) on a sample: by hand, both directions."""
    rate, delta = 0.2, 1e-3
    law = discrete_laplace(0.5, 60)
    one = np.concatenate([law, [0, 0]])
    mixed = (1 - rate) * one + rate * np.concatenate([[0, 0], law])
    found = epsilon([dp.sampled("geometric(epsilon=1, sensitivity=2)", rate)], delta)
    ways = ((one, mixed), (mixed, one))
    worst = max(float(np.maximum(p - math.exp(found) * r, 0).sum()) for p, r in ways)
    assert worst <= delta
    assert worst == pytest.approx(delta, rel=1e-3)
