"""How guarantees add up, and what becomes of those that do not."""

import math

import pytest

from veil.core.guarantee import KINDS, Guarantee, Kind

PERSON = {"unit": "person", "neighbours": "add or remove one person"}


def dp(epsilon: float, delta: float = 0.0, **more: str) -> Guarantee:
    return Guarantee("dp", epsilon, delta=delta, **{**PERSON, **more})  # type: ignore[arg-type]


def test_budgets_of_the_same_data_are_summed() -> None:
    both = dp(1.0, 1e-6) + dp(0.5, 2e-6)
    assert (both.kind, both.epsilon) == ("dp", 1.5)
    assert both.delta == pytest.approx(3e-6)
    rho = Guarantee("zcdp", rho=0.5) + Guarantee("zcdp", rho=0.25)
    assert (rho.kind, rho.rho) == ("zcdp", 0.75)
    bits = Guarantee("leakage", bits=2.0, unit="query").compose(3, "day")
    assert (bits.bits, bits.unit) == (6.0, "day")
    local = Guarantee("local-dp", 2.0, delta=0.4).compose(3, "reports")
    assert (local.epsilon, local.delta) == (6.0, 1.0)


def test_of_disjoint_data_the_weaker_one_holds() -> None:
    both = dp(1.0, 1e-6) | dp(0.5, 2e-6)
    assert (both.kind, both.epsilon, both.delta) == ("dp", 1.0, 2e-6)
    assert (Guarantee("k-anonymity", k=5) | Guarantee("k-anonymity", k=3)).k == 3
    assert (Guarantee("l-diversity", l=2.5) | Guarantee("l-diversity", l=4)).l == 2.5
    assert (Guarantee("t-closeness", t=0.1) | Guarantee("t-closeness", t=0.2)).t == 0.2


@pytest.mark.parametrize("kind", ["k-anonymity", "l-diversity", "t-closeness"])
def test_criteria_on_tables_do_not_compose(kind: Kind) -> None:
    one = Guarantee(kind, k=5, l=3, t=0.1, unit="record", caveat="Only so far.")
    for both in (one + one, one.compose(2, "release")):
        assert both.kind == "none"
        assert "does not compose" in both.caveat
        assert both.caveat.count("Only so far.") == 1
    assert one.compose(1, "release").kind == kind


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (dp(1.0), Guarantee("zcdp", rho=1.0, **PERSON), "dp and zcdp do not add up"),  # type: ignore[arg-type]
        (dp(1.0), Guarantee("none"), "nothing is proved of both"),
        (dp(1.0), dp(1.0, neighbours="replace one person"), "neighbours do not add up"),
        (dp(1.0), dp(1.0, unit="record"), "unit or neighbours do not add up"),
        (
            Guarantee("metric-dp", 1.0, "euclidean"),
            Guarantee("metric-dp", 1.0, "angular"),
            "differ in metric",
        ),
    ],
)
def test_what_does_not_add_up_is_nothing_and_says_why(
    one: Guarantee, other: Guarantee, why: str
) -> None:
    for both in (one + other, other + one, one | other):
        assert both.kind == "none"
        assert both.epsilon == math.inf
        assert why in both.caveat or "dp and zcdp" in why


def test_words_that_passed_are_counted_on() -> None:
    one = Guarantee("metric-dp", 2.0, "euclidean", unit="release (2 words)", passed=1)
    both = one + Guarantee("metric-dp", 3.0, "euclidean", unit="release (3 words)", passed=2)
    assert (both.epsilon, both.passed) == (5.0, 3)


def test_bounds_on_every_output() -> None:
    assert dp(1.5).bound(99) == 1.5
    assert dp(1.5, 1e-9).bound(99) == math.inf
    assert Guarantee("zcdp", rho=0.1).bound(1) == math.inf
    assert Guarantee("metric-dp", 2.0, "euclidean").bound(3) == 6.0
    assert Guarantee("group-dp", 2.0).bound(3) == 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_read(kind: Kind) -> None:
    told = str(Guarantee(kind, 1.0, "d", rho=1.0, bits=1.0, k=2, l=2, t=0.1, delta=0.1))
    assert told.endswith(", per word")
    assert "inf" not in told
    assert KINDS[kind]


def test_what_is_no_guarantee() -> None:
    for bad in ({"delta": 1.1}, {"delta": -0.1}, {"epsilon": -1.0}, {"rho": -1.0}):
        with pytest.raises(ValueError, match="must be >= 0"):
            Guarantee("dp", **bad)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="No guarantee of kind"):
        Guarantee("secure")  # type: ignore[arg-type]
