"""What releases cost together: golden values, laws that hold for any list, and bad input."""

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.dp.golden import golden, needs_golden

from veil import dp
from veil.core.accounting import advanced as equal
from veil.core.errors import ParameterError, UnknownNameError, VeilError
from veil.core.guarantee import Guarantee
from veil.dp.accounting.bounds import optimal
from veil.dp.accounting.cost import Item

ALL = ("basic", "advanced", "zcdp", "pld")
EACH = {"unit": "record", "neighbours": "add or remove one record"}


def pure(epsilon: float, delta: float = 0.0) -> Guarantee:
    return Guarantee("dp", epsilon, delta=delta, unit="record", neighbours=EACH["neighbours"])


def zcdp(rho: float) -> Guarantee:
    return Guarantee("zcdp", rho=rho, unit="record", neighbours=EACH["neighbours"])


@needs_golden
def test_pure_composition_is_golden() -> None:
    for row in golden("pure_composition"):
        items = [(f"geometric(epsilon={row['epsilon']!r})", row["times"])]
        assert dp.compose(items).epsilon == pytest.approx(row["basic"], rel=1e-12)
        whole = dp.compose(items, row["delta"], "advanced")
        assert whole.epsilon == pytest.approx(row["optimal"], rel=1e-6)
        assert whole.delta == row["delta"]
        assert whole.epsilon <= row["basic"]
        assert "optimal composition" in whole.caveat


@needs_golden
def test_zcdp_is_golden() -> None:
    for row in golden("zcdp"):
        spec = f"discrete_gaussian(rho={row['rho']!r})"
        for accountant in ("zcdp", "basic", "advanced"):
            whole = dp.compose([spec], row["delta"], accountant)
            assert whole.epsilon == pytest.approx(row["epsilon_tight"], rel=1e-6)
        parts = dp.compose([(zcdp(row["rho"] / 4), 2), (zcdp(row["rho"] / 2), 1)], row["delta"])
        assert parts.epsilon == pytest.approx(row["epsilon_tight"], rel=1e-6)


@needs_golden
def test_a_gaussian_calibrated_to_a_pair_costs_the_pair() -> None:
    for row in golden("analytic_gaussian_sigma"):
        pair = f"epsilon={row['epsilon']!r}, delta={row['delta']!r}"
        spec = f"gaussian({pair}, sensitivity={row['sensitivity']!r})"
        assert dp.compose([spec], row["delta"]).epsilon == row["epsilon"]
        whole = dp.compose([spec], row["delta"], "pld")
        assert whole.epsilon == pytest.approx(row["epsilon"], rel=1e-6)
        assert whole.delta == row["delta"]


def test_ten_times_a_tenth_is_one() -> None:
    assert dp.compose(["geometric(epsilon=0.1)"] * 10).epsilon == 1.0
    assert dp.compose([("geometric(epsilon=0.1)", 3), "laplace(epsilon=0.7)"]).epsilon == 1.0


def test_pairs_may_be_nested_and_stand_alone() -> None:
    one = dp.compose([(("geometric(epsilon=0.5)", 2), 3)])
    assert one == dp.compose(("geometric(epsilon=0.5)", 6)) == dp.compose([(dp.mechanism(
        "geometric(epsilon=0.5)"), 6)])  # fmt: skip
    assert one.epsilon == 3.0
    assert dp.compose("geometric(epsilon=0.5)").epsilon == 0.5
    assert dp.compose([]).epsilon == 0.0


@pytest.mark.parametrize("times", [0, -1, 1.0, True, "2", None, 10**12])
def test_times_is_a_whole_number(times: object, spoken: Callable[[BaseException], str]) -> None:
    with pytest.raises(ParameterError) as caught:
        dp.compose([("geometric(epsilon=0.5)", times)])
    spoken(caught.value)


@pytest.mark.parametrize("items", [5, [5], [("geometric(epsilon=1)", 2, 3)], [None], ["nothing"]])
def test_what_is_no_item_is_refused(items: object, spoken: Callable[[BaseException], str]) -> None:
    with pytest.raises(VeilError) as caught:
        dp.compose(items)  # type: ignore[arg-type]
    spoken(caught.value)


@pytest.mark.parametrize("delta", [-1e-9, 1.0, 2.0, math.nan, True, "x"])
def test_delta_is_a_probability(delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        dp.compose(["geometric(epsilon=0.5)"], delta)


def test_an_unknown_accountant_is_named() -> None:
    with pytest.raises(UnknownNameError, match="pld"):
        dp.compose(["geometric(epsilon=0.5)"], accountant="renyi")


@pytest.mark.parametrize("accountant", ALL)
def test_none_makes_the_whole_none(accountant: str) -> None:
    nothing = Guarantee("none", unit="record", caveat="It is a demonstration.")
    whole = dp.compose([("geometric(epsilon=0.5)", 3), nothing], 1e-6, accountant)
    assert whole.kind == "none"
    assert "It is a demonstration." in whole.caveat
    assert dp.compose([Guarantee("dp")], 1e-6, accountant).kind == "none"


@pytest.mark.parametrize("accountant", ALL)
@pytest.mark.parametrize(
    "other",
    [
        Guarantee("dp", 1.0, unit="person", neighbours=EACH["neighbours"]),
        Guarantee("dp", 1.0, unit="record", neighbours="replace one record"),
        Guarantee("local-dp", 1.0, unit="record", neighbours=EACH["neighbours"]),
        Guarantee("metric-dp", 1.0, "euclidean", unit="record"),
    ],
)
def test_what_does_not_add_up_is_none(other: Guarantee, accountant: str) -> None:
    whole = dp.compose(["geometric(epsilon=0.5)", other], 1e-6, accountant)
    assert whole.kind == "none"
    assert whole.epsilon == math.inf
    assert "add up" in whole.caveat


def test_local_and_metric_guarantees_add_up_among_themselves() -> None:
    local = Guarantee("local-dp", 0.25, unit="person")
    assert dp.compose([(local, 4)]).kind == "local-dp"
    assert dp.compose([(local, 4)]).epsilon == 1.0
    assert dp.compose([(local, 1000)], 1e-6, "advanced").epsilon < 250
    metric = Guarantee("metric-dp", 2.0, "euclidean")
    assert dp.compose([(metric, 3)]).epsilon == 6.0


def test_zcdp_needs_a_delta_to_become_epsilon(spoken: Callable[[BaseException], str]) -> None:
    for accountant in ("basic", "advanced", "pld"):
        with pytest.raises(ParameterError) as caught:
            dp.compose(["discrete_gaussian(rho=0.5)"], 0.0, accountant)
        assert "--delta" in spoken(caught.value)
    with pytest.raises(ParameterError, match="above 1e-06"):
        dp.compose([pure(1.0, 1e-6), zcdp(0.5)], 1e-6)
    kept = dp.compose([("discrete_gaussian(rho=0.1)", 3), pure(1.0)], 0.0, "zcdp")
    assert kept.kind == "zcdp"
    assert kept.rho == 0.8


def test_pure_and_concentrated_releases_are_added_as_said() -> None:
    items: list[Item] = [pure(0.5, 1e-7), (zcdp(0.02), 5)]
    whole = dp.compose(items, 1e-6)
    assert whole.epsilon == pytest.approx(0.5 + dp.zcdp_epsilon(0.1, 9e-7), rel=1e-12)
    assert whole.delta == 1e-6
    converted = dp.compose(items, 1e-6, "zcdp")
    assert converted.epsilon == pytest.approx(dp.zcdp_epsilon(0.225, 9e-7), rel=1e-12)
    assert dp.compose(items, 1e-6, "advanced").epsilon <= min(whole.epsilon, converted.epsilon)


def test_a_gaussian_of_a_pair_is_counted_by_its_sigma_under_zcdp() -> None:
    spec = "gaussian(epsilon=1, delta=1e-6)"
    sigma = dp.gaussian_sigma(1.0, 1e-6)
    whole = dp.compose([(spec, 50)], 1e-6, "zcdp")
    assert whole.epsilon == pytest.approx(dp.zcdp_epsilon(25 / sigma**2, 1e-6), rel=1e-9)
    assert whole.delta == 1e-6


def brute(items: list[tuple[float, int]], total: float) -> float:
    """Return the delta of randomised responses, by all sequences of answers."""
    epsilons = [value for value, times in items for _ in range(times)]
    left = 0.0
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        one = math.prod(1 / (1 + math.exp(-s * e)) for s, e in zip(signs, epsilons, strict=True))
        two = math.prod(1 / (1 + math.exp(s * e)) for s, e in zip(signs, epsilons, strict=True))
        left += max(0.0, one - math.exp(total) * two)
    return left


@pytest.mark.parametrize(
    "groups", [[(0.3, 4), (1.1, 3), (0.05, 2)], [(2.0, 1), (0.7, 1)], [(0.5, 9)]]
)
def test_the_optimal_bound_is_that_of_all_answers(groups: list[tuple[float, int]]) -> None:
    for delta in (1e-2, 1e-4):
        found = optimal(groups, delta)
        assert brute(groups, found) == pytest.approx(delta, rel=1e-6)
        assert brute(groups, found * (1 - 1e-6)) > delta


def test_a_lattice_only_makes_the_bound_larger() -> None:
    exact = equal(0.02, 3000, 1e-6)
    apart = optimal([(0.02, 1000), (0.02 - 1e-12, 1000), (0.02 - 2e-12, 1000)], 1e-6)
    assert exact * (1 - 1e-9) <= apart <= exact * 1.02


def test_many_releases_end_soon() -> None:
    few = dp.compose([("geometric(epsilon=0.0001)", 10**6)], 1e-6, "advanced")
    assert few.epsilon == pytest.approx(dp.zcdp_epsilon(0.005, 1e-6), rel=1e-9)
    many = dp.compose([(f"geometric(epsilon={k / 1000})", 3) for k in range(1, 60)], 1e-6,
                      "advanced")  # fmt: skip
    assert many.epsilon < 3 * sum(k / 1000 for k in range(1, 60)) / 2


GUARANTEES = st.one_of(
    st.builds(pure, st.floats(1e-3, 3.0)),
    st.builds(pure, st.floats(1e-3, 3.0), st.sampled_from([1e-9, 1e-8])),
    st.builds(zcdp, st.floats(1e-4, 1.0)),
)
LISTS = st.lists(st.tuples(GUARANTEES, st.integers(1, 20)), min_size=1, max_size=5)


@given(LISTS, st.randoms(use_true_random=False))
def test_the_order_does_not_matter(
    items: list[tuple[Guarantee, int]], shuffling: random.Random
) -> None:
    single = [item for item, times in items for _ in range(times)]
    shuffling.shuffle(single)
    for accountant in ("basic", "advanced", "zcdp"):
        one = dp.compose(items, 1e-5, accountant)
        assert dp.compose(single, 1e-5, accountant) == one


@given(LISTS, GUARANTEES)
def test_more_costs_more(items: list[tuple[Guarantee, int]], another: Guarantee) -> None:
    for accountant in ("basic", "advanced", "zcdp"):
        less = dp.compose(items, 1e-5, accountant)
        more = dp.compose([*items, another], 1e-5, accountant)
        slack = 0.01 if accountant == "advanced" else 1e-9  # of the lattice
        assert more.epsilon >= less.epsilon * (1 - slack)


@given(LISTS)
def test_advanced_is_never_worse_than_basic(items: list[tuple[Guarantee, int]]) -> None:
    basic = dp.compose(items, 1e-5)
    found = dp.compose(items, 1e-5, "advanced")
    assert found.epsilon <= basic.epsilon
    assert found.delta <= max(1e-5, basic.delta)


@given(st.lists(st.tuples(st.floats(1e-6, 2.0), st.integers(1, 50)), min_size=1, max_size=6))
def test_basic_is_the_sum_of_the_decimals(items: list[tuple[float, int]]) -> None:
    whole = dp.compose([(pure(value), times) for value, times in items])
    exact = sum((Fraction(repr(value)) * times for value, times in items), Fraction())
    assert whole.epsilon == float(exact)
    assert whole.delta == 0


def test_a_list_of_two_is_a_pair() -> None:
    assert dp.compose([["geometric(epsilon=0.5)", 3]]).epsilon == 1.5
    assert dp.compose(["geometric(epsilon=0.5)", 3]).epsilon == 1.5
    assert dp.compose([[["geometric(epsilon=0.5)", 2], 3]]).epsilon == 3.0
    with pytest.raises(ParameterError, match="An item must be"):
        dp.compose([["geometric(epsilon=0.5)", 3, 4]])


def test_oracles_are_known_by_their_specs() -> None:
    whole = dp.compose([("hcms(epsilon=1)", 2)])
    assert whole == dp.compose([(dp.oracle("hcms(epsilon=1)"), 2)])
    assert (whole.kind, whole.epsilon) == ("local-dp", 2.0)
    with pytest.raises(UnknownNameError, match="mechanism or oracle"):
        dp.compose("hmcs(epsilon=1)")


def test_numbers_of_numpy_are_numbers() -> None:
    times: Any = np.int64(100)
    quarter: Any = np.float32(0.25)
    items = [("geometric(epsilon=0.1)", 100)]
    expected = dp.compose(items, 0.25, "advanced")
    assert dp.compose([(items[0][0], times)], quarter, "advanced") == expected
    assert dp.compose(items, np.float64(0.25), "advanced") == expected
    assert dp.sampled("geometric(epsilon=1)", quarter).q == 0.25
    budget = dp.Budget(times, quarter, "zcdp")
    budget.spend("geometric(epsilon=0.1)", times)
    assert (type(budget.epsilon), budget.epsilon, budget.delta) == (float, 100.0, 0.25)


@pytest.mark.parametrize("wrong", [True, np.True_, None, "1", [1], 10**400])
def test_what_is_no_number_is_refused(wrong: Any) -> None:  # noqa: ANN401
    for made in (
        lambda: dp.Budget(wrong),
        lambda: dp.Budget(1, wrong),
        lambda: dp.compose([], wrong),
        lambda: dp.sampled("geometric(epsilon=1)", wrong),
    ):
        with pytest.raises(ParameterError, match=r"^The '(epsilon|delta|q)' argument must be"):
            made()
    with pytest.raises(UnknownNameError):
        dp.compose([], 0.0, wrong)
    with pytest.raises(ParameterError, match="must be a file path"):
        dp.Budget(1, path=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("accountant", ["basic", "advanced", "zcdp"])
def test_a_sample_that_is_not_counted_points_to_pld(accountant: str) -> None:
    item = (dp.sampled("gaussian(sigma=1)", 0.01), 1_000)
    assert "accountant pld accounts for sampling" in dp.compose([item], 1e-5, accountant).caveat
    pure = [dp.sampled("geometric(epsilon=1)", 0.01), "gaussian(sigma=1)"]
    assert "pld" not in dp.compose(pure, 1e-5, accountant).caveat
    known = dp.compose([item], 1e-5, "pld")
    assert "accountant pld" not in known.caveat
    assert known.epsilon < dp.compose([item], 1e-5, accountant).epsilon / 300
