"""Groups, disjoint parts, and samples."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.errors import ParameterError
from veil.core.guarantee import Guarantee
from veil.dp.accounting.cost import Item

SPEC = "geometric(epsilon=0.5)"
EACH = "add or remove one record"


@needs_golden
def test_groups_are_golden() -> None:
    for case in golden("group"):
        one = Guarantee("dp", case["epsilon"], delta=case["delta"], unit="record")
        whole = dp.group(one, case["k"])
        assert whole.epsilon == case["group_epsilon"]
        assert whole.delta == pytest.approx(case["group_delta"], rel=1e-12)


def test_a_group_is_another_unit() -> None:
    one = dp.mechanism("geometric(epsilon=0.1)").guarantee
    assert dp.group(one, 1) == one
    whole = dp.group(one, 3)
    assert whole.epsilon == 0.3
    assert whole.unit == "group of 3 records"
    assert whole.neighbours == f"{EACH}, up to 3 times"
    assert "twice" not in whole.caveat
    assert dp.compose([one, whole]).kind == "none"
    assert dp.group(Guarantee("zcdp", rho=0.5), 3).rho == 4.5
    assert dp.group(Guarantee("none"), 3).kind == "none"


def test_delta_of_a_group_is_at_most_one() -> None:
    assert dp.group(Guarantee("dp", 0.0, delta=0.01), 5).delta == pytest.approx(0.05)
    assert dp.group(Guarantee("dp", 300.0, delta=1e-9), 5).delta == 1.0
    assert dp.group(Guarantee("dp", 3.0, delta=1e-3), 5).delta == 1.0
    assert dp.group(Guarantee("dp", 300.0), 5).delta == 0.0


@pytest.mark.parametrize(
    "item", [SPEC, dp.mechanism(SPEC), dp.mechanism(SPEC).guarantee, dp.sampled(SPEC, 1)]
)
def test_what_is_composed_has_groups_and_parts_too(item: Item) -> None:
    assert dp.group(item, 3).epsilon == 1.5
    assert dp.parallel([item, ("geometric(epsilon=0.2)", 2)]).epsilon == 0.5
    assert dp.parallel(item).epsilon == 0.5
    assert dp.group((item, 2), 3).epsilon == 3.0
    assert dp.group(("discrete_gaussian(rho=0.5)", 2), 3).rho == 9.0
    assert dp.group("hcms(epsilon=1)", 2).kind == "local-dp"


@pytest.mark.parametrize("item", [None, 5, (), (SPEC, 1.5), object()])
def test_what_is_no_item_has_neither(item: Item) -> None:
    told = r"^(An item|A number of releases)[^\n]*\.$"
    with pytest.raises(ParameterError, match=told):
        dp.group(item, 2)
    with pytest.raises(ParameterError, match=told):
        dp.parallel([item])


@given(st.floats(1e-3, 2), st.floats(1e-12, 1e-3), st.integers(1, 12))
def test_a_group_is_a_chain_of_neighbours(epsilon: float, delta: float, k: int) -> None:
    chain = 0.0  # P(S|0) <= e^epsilon P(S|1) + delta, and so on
    for _ in range(k):
        chain = math.exp(epsilon) * chain + delta
    whole = dp.group(Guarantee("dp", epsilon, delta=delta), k)
    assert whole.delta == pytest.approx(min(1.0, chain), rel=1e-9)


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_group_has_a_whole_size(k: int, spoken: Callable[[BaseException], str]) -> None:
    with pytest.raises(ParameterError) as caught:
        dp.group(Guarantee("dp", 1.0), k)
    spoken(caught.value)


def test_no_group_of_other_kinds() -> None:
    with pytest.raises(ParameterError, match="metric-dp"):
        dp.group(Guarantee("metric-dp", 1.0, "euclidean"), 2)


def test_disjoint_parts_cost_the_most_of_them() -> None:
    parts = [
        Guarantee("dp", epsilon, delta=delta, unit="record", neighbours=EACH)
        for epsilon, delta in ((0.5, 1e-6), (1.0, 0.0), (0.2, 1e-7))
    ]
    whole = dp.parallel(parts)
    assert (whole.epsilon, whole.delta) == (1.0, 1e-6)
    assert dp.parallel(part for part in parts) == dp.parallel(parts[::-1])
    assert dp.parallel(parts[0]) == parts[0]
    assert dp.parallel([Guarantee("zcdp", rho=0.5), Guarantee("zcdp", rho=0.1)]).rho == 0.5


def test_parts_that_do_not_fit_are_none() -> None:
    one = Guarantee("dp", 1.0, unit="record")
    assert dp.parallel([one, Guarantee("dp", 1.0, unit="person")]).kind == "none"
    assert dp.parallel([one, Guarantee("none", unit="record")]).kind == "none"
    swapped = Guarantee("dp", 1.0, unit="record", neighbours="replace one record")
    assert dp.parallel([swapped, swapped]).kind == "none"
    for nothing in ([], [1], None, ["geometric"]):
        with pytest.raises(ParameterError):
            dp.parallel(nothing)  # type: ignore[arg-type]


def test_a_sample_makes_less_of_a_guarantee() -> None:
    one = dp.sampled("geometric(epsilon=1)", 0.01)
    assert one.guarantee.epsilon == pytest.approx(math.log(1 + 0.01 * (math.e - 1)), rel=1e-12)
    pair = dp.sampled(Guarantee("dp", 1.0, delta=1e-5), 0.1).guarantee
    assert pair.delta == pytest.approx(1e-6)
    assert dp.sampled("geometric(epsilon=1)", 1).guarantee.epsilon == 1.0
    assert dp.sampled("geometric(epsilon=1000)", 0.5).guarantee.epsilon == pytest.approx(
        1000 + math.log(0.5)
    )
    twice = dp.sampled(dp.sampled("geometric(epsilon=1)", 0.1), 0.1)
    assert twice.guarantee.epsilon == pytest.approx(one.guarantee.epsilon)
    assert dp.compose([(one, 10)]).epsilon == pytest.approx(10 * one.guarantee.epsilon)


def test_a_sample_of_zcdp_keeps_its_rho() -> None:
    one = dp.sampled("discrete_gaussian(rho=0.5)", 0.01)
    assert one.guarantee.rho == 0.5
    assert dp.compose([(one, 2)], 0.0, "zcdp").rho == 1.0


@given(st.floats(0.01, 5), st.floats(0.01, 1))
def test_a_sample_is_as_the_law_has_it(epsilon: float, q: float) -> None:
    """Randomised response of a record that is there with chance q, else a coin that knows none."""
    kept = 1 / (1 + math.exp(-epsilon))
    there = q * kept + (1 - q) * (1 - kept)
    loss = math.log(there / (1 - kept))
    found = dp.sampled(f"geometric(epsilon={epsilon!r})", q).guarantee.epsilon
    assert found == pytest.approx(loss, rel=1e-9)


@pytest.mark.parametrize("q", [0, 0.0, -0.1, 1.1, math.nan, True, "0.1", np.array([0.1])])
def test_a_sample_has_a_probability(q: float, spoken: Callable[[BaseException], str]) -> None:
    with pytest.raises(ParameterError) as caught:
        dp.sampled("geometric(epsilon=1)", q)
    spoken(caught.value)


def test_a_sample_of_what_it_does_not_help_is_refused() -> None:
    for told in (
        Guarantee("local-dp", 1.0, unit="person"),
        Guarantee("dp", 1.0, neighbours="replace one record"),
    ):
        with pytest.raises(ParameterError, match="adding or removing"):
            dp.sampled(told, 0.5)
