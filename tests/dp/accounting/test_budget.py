"""A budget refuses what is too much, and counts decimals, in memory and in a file alike."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import dp
from veil.core.errors import BudgetError, ParameterError, UnknownNameError
from veil.core.guarantee import Guarantee
from veil.dp.accounting.bounds import Bound, Counts
from veil.dp.accounting.bounds import advanced as following
from veil.dp.accounting.compose import ACCOUNTANTS, total

EACH = "add or remove one record"
TENTH = "geometric(epsilon=0.1)"

Make = Callable[..., dp.Budget]


@pytest.fixture(params=["memory", "file"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    path = tmp_path / "ledger" if request.param == "file" else None

    def made(epsilon: float, delta: float = 0.0, accountant: str = "basic") -> dp.Budget:
        return dp.Budget(epsilon, delta, accountant, path)

    return made


def test_ten_times_a_tenth_is_one(make: Make, spoken: Callable[[BaseException], str]) -> None:
    budget = make(epsilon=1)
    for _ in range(10):
        budget.spend(TENTH)
    assert budget.spent == (1.0, 0.0)
    assert float(budget.spent) == 1.0
    assert budget.remaining.epsilon == 0.0
    with pytest.raises(BudgetError) as caught:
        budget.spend("geometric(epsilon=1e-12)")
    assert "nothing was released" in spoken(caught.value)
    assert budget.spent == (1.0, 0.0)
    assert len(budget.events) == 10


def test_all_at_once_or_nothing(make: Make) -> None:
    budget = make(1.0, 1e-6)
    with pytest.raises(BudgetError):
        budget.spend(TENTH, times=11)
    assert not budget.events
    budget.spend((TENTH, 5), times=2, note="twice five")
    (event,) = budget.events
    assert (event.number, event.times, event.note) == (1, 10, "twice five")
    assert str(event.cost) == TENTH
    assert budget.remaining == (0.0, 1e-6)


def test_delta_is_counted_too(make: Make) -> None:
    budget = make(epsilon=10, delta=1e-6)
    pair = Guarantee("dp", 0.1, delta=3e-7, unit="record", neighbours=EACH)
    for _ in range(3):
        budget.spend(pair)
    with pytest.raises(BudgetError, match="delta"):
        budget.spend(pair)
    assert budget.spent == (0.3, 9e-7)
    budget.spend(Guarantee("dp", 0.1, delta=1e-7, unit="record", neighbours=EACH))
    assert budget.remaining.delta == 0.0
    without = dp.Budget(epsilon=10)
    with pytest.raises(BudgetError, match="delta"):
        without.spend(pair)


def test_what_is_not_proved_is_not_charged(make: Make) -> None:
    budget = make(epsilon=1)
    for told in (
        Guarantee("none", unit="record"),
        Guarantee("k-anonymity", k=5),
        Guarantee("dp", unit="record", neighbours=EACH),
        Guarantee("zcdp", rho=0.1, unit="record", neighbours=EACH),  # and no delta to convert it
    ):
        with pytest.raises(BudgetError):
            budget.spend(told)
    assert budget.events == ()


def test_units_are_not_mixed(make: Make, spoken: Callable[[BaseException], str]) -> None:
    budget = make(epsilon=1)
    budget.spend(Guarantee("dp", 0.1, unit="person", neighbours="add or remove one person"))
    with pytest.raises(BudgetError) as caught:
        budget.spend(TENTH)
    assert "per person" in spoken(caught.value)
    with pytest.raises(BudgetError):
        budget.spend(Guarantee("local-dp", 0.1, unit="person"))
    assert budget.spent.epsilon == 0.1


def test_zcdp_is_converted_once_for_all(make: Make) -> None:
    budget = make(3, 1e-6, "zcdp")

    def drain() -> None:
        for _ in range(100):
            budget.spend("discrete_gaussian(rho=0.02)")

    with pytest.raises(BudgetError, match="zcdp"):
        drain()
    count = len(budget.events)
    assert dp.zcdp_epsilon(0.02 * count, 1e-6) <= 3 < dp.zcdp_epsilon(0.02 * (count + 1), 1e-6)
    assert budget.spent == (dp.zcdp_epsilon(round(0.02 * count, 9), 1e-6), 1e-6)
    assert "chosen" not in budget.cost.caveat


def test_basic_converts_zcdp_with_what_is_left_of_delta(make: Make) -> None:
    budget = make(3, 1e-6)
    budget.spend("discrete_gaussian(rho=0.02)", 3)
    budget.spend(Guarantee("dp", 0.5, delta=4e-7, unit="record", neighbours=EACH))
    assert budget.spent.epsilon == pytest.approx(0.5 + dp.zcdp_epsilon(0.06, 6e-7), rel=1e-9)
    with pytest.raises(BudgetError, match="the total delta would be above"):
        budget.spend(Guarantee("dp", 0.01, delta=6e-7, unit="record", neighbours=EACH))
    assert "chosen based on earlier answers" in budget.cost.caveat


def test_advanced_has_room_where_basic_has_none(make: Make) -> None:
    budget = make(5, 1e-6, "advanced")
    budget.spend(TENTH, 100)
    assert budget.spent.epsilon == pytest.approx(4.774567588, rel=1e-6)
    with pytest.raises(BudgetError, match="advanced"):
        budget.spend(TENTH, 20)
    assert "chosen based on earlier answers" in budget.cost.caveat


def test_pld_follows_the_law(make: Make) -> None:
    budget = make(5, 1e-6, "pld")
    budget.spend("gaussian(sigma=10)", 50)
    budget.spend("gaussian(sigma=10)", 50)
    assert budget.spent.epsilon == pytest.approx(4.886554117462212, rel=1e-9)
    with pytest.raises(BudgetError):
        budget.spend("gaussian(sigma=10)", 10)
    assert len(budget.events) == 2


def test_pld_counts_plain_sums_without_its_library(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*given: object) -> float:
        raise AssertionError

    monkeypatch.setattr("veil.dp.accounting.pld.convolve", never)
    budget = make(1, 1e-6, "pld")
    for _ in range(10):
        budget.spend(TENTH)
    assert len(budget.events) == 10


def test_a_sample_is_charged_as_such(make: Make) -> None:
    budget = make(2, 1e-5, "pld")
    item = dp.sampled("geometric(epsilon=1)", 0.01)
    budget.spend(item, 1000)
    assert budget.spent.epsilon == dp.compose([(item, 1000)], 1e-5, "pld").epsilon
    assert budget.spent.epsilon < 1000 * item.guarantee.epsilon / 5
    assert str(budget.events[0].cost).endswith("sampled at 0.01")


def test_threads_share_it(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(counts: Counts, delta: float, accountant: str) -> Guarantee:
        time.sleep(0.001)  # let the others in, if they may come in
        return total(counts, delta, accountant)

    monkeypatch.setattr("veil.dp.accounting.budget.total", slow)
    budget = make(epsilon=2)
    refused: list[BudgetError] = []

    def work() -> None:
        for _ in range(10):
            try:
                budget.spend(TENTH)
            except BudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert budget.spent.epsilon == 2.0
    assert len(refused) == 20
    assert [event.number for event in budget.events] == list(range(1, 21))


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": "3"}, "epsilon"),
        ({"epsilon": 1, "delta": 1}, "delta"),
        ({"epsilon": 1, "delta": -1e-9}, "delta"),
        ({"epsilon": 1, "delta": float("nan")}, "delta"),
        ({"epsilon": 1, "accountant": "zcdp"}, "zcdp"),
        ({"epsilon": 1, "accountant": "pld"}, "pld"),
    ],
)
def test_terms_must_be_numbers(
    terms: dict[str, float], words: str, tmp_path: Path, spoken: Callable[[BaseException], str]
) -> None:
    with pytest.raises(ParameterError) as caught:
        dp.Budget(**terms, path=tmp_path / "ledger")  # type: ignore[arg-type]
    assert words in spoken(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_accountant_is_refused() -> None:
    with pytest.raises(UnknownNameError):
        dp.Budget(1, accountant="none")


@pytest.mark.parametrize("times", [0, -1, 2.5, True])
def test_times_is_a_whole_number(times: int) -> None:
    with pytest.raises(ParameterError):
        dp.Budget(1).spend(TENTH, times)


@pytest.mark.parametrize("note", ["two\nlines", "x" * 201, None, 5])
def test_a_note_is_a_short_line(note: str) -> None:
    budget = dp.Budget(1)
    with pytest.raises(ParameterError, match="note"):
        budget.spend(TENTH, note=note)
    assert budget.events == ()


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30))
def test_no_order_of_charges_passes_the_total(charges: list[int]) -> None:
    budget, spent = dp.Budget(1), 0
    for charge in charges:
        cost = Guarantee("dp", charge / 1000)
        if spent + charge <= 1000:
            budget.spend(cost)
            spent += charge
        else:
            with pytest.raises(BudgetError):
                budget.spend(cost)
        assert budget.spent.epsilon == spent / 1000
        assert budget.remaining.epsilon == (1000 - spent) / 1000


def test_the_optimum_is_not_computed_while_the_sum_has_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []

    def counted(counts: Counts, delta: float) -> Bound:
        asked.append(delta)
        return following(counts, delta)

    monkeypatch.setitem(ACCOUNTANTS, "advanced", counted)
    budget = dp.Budget(3, 1e-6, "advanced")
    for number in range(1, 21):
        budget.spend(f"geometric(epsilon={0.01 * number:.2f})")
    assert not asked
    assert budget.spent.epsilon < 2.1
    budget.spend("geometric(epsilon=0.95)")
    assert len(asked) == 2  # one for what was spent, one for what the sum has no room for
