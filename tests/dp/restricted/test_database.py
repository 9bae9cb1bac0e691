"""Databases that refuse: sizes, overlaps, statistics, and what they say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator

from veil import dp
from veil.core.errors import InputError, ParameterError, RefusedError
from veil.dp.restricted import AUDITS, Mask, StatisticalDatabase


def first(count: int, n: int) -> Mask:
    """Return the set of the first records."""
    return np.arange(n) < count


@given(st.integers(2, 30), st.integers(2, 12), st.integers(0, 30))
def test_sizes_are_controlled_on_both_sides(n: int, k: int, size: int) -> None:
    if k > n:
        with pytest.raises(ParameterError, match="at most the number of records"):
            StatisticalDatabase(np.arange(n), min_size=k)
        return
    database = StatisticalDatabase(np.arange(n), min_size=k)
    mask = first(min(size, n), n)
    if k <= mask.sum() <= n - k:
        assert database.ask(mask, "sum") == int(np.arange(n)[mask].sum())
    else:
        with pytest.raises(RefusedError, match=f"fewer than {k} records"):
            database.ask(mask, "count")
        assert database.asked == 0


def test_without_control_everybody_may_be_asked_about_but_nobody_not() -> None:
    database = StatisticalDatabase([4, 5, 6])
    assert database.ask([True, True, True]) == 15
    assert database.ask(first(1, 3), "sum") == 4
    with pytest.raises(RefusedError):
        database.ask(first(0, 3), "max")


def test_overlaps_are_controlled_with_every_earlier_set() -> None:
    database = StatisticalDatabase(np.arange(10), max_overlap=2)
    assert database.ask(first(4, 10)) == 6
    with pytest.raises(RefusedError, match="shares more than 2 records"):
        database.ask(first(4, 10))  # the same again
    assert database.ask(~first(2, 10)) == 44  # shares records 2 and 3
    with pytest.raises(RefusedError):
        database.ask(~first(7, 10), "count")
    with pytest.raises(RefusedError):
        database.ask(first(3, 10))  # shares three with the first alone
    assert database.asked == 2


def test_sets_are_kept_where_overlaps_are_controlled() -> None:
    database = StatisticalDatabase(np.arange(50), max_overlap=0)
    for place in range(49):
        database.ask(np.arange(50) == place)
    assert database.asked == 49
    for place in (0, 15, 16, 17, 48):
        with pytest.raises(RefusedError):
            database.ask(np.arange(50) == place)
    assert database.ask(np.arange(50) == 49) == 49
    free = StatisticalDatabase(np.arange(50), np.int64(2))  # type: ignore[arg-type]
    assert [free.ask(first(5, 50)) for _ in range(40)] == [10] * 40
    assert free.asked == 40
    assert not free._room.size


def test_refusals_are_not_remembered() -> None:
    database = StatisticalDatabase(np.arange(10), min_size=3, max_overlap=0, audit="sum")
    with pytest.raises(RefusedError):
        database.ask(first(2, 10))
    assert database.ask(first(3, 10)) == 3
    with pytest.raises(RefusedError):
        database.ask(first(4, 10))
    assert database.ask(~first(7, 10)) == 24


def test_answers_are_exact() -> None:
    large = 2**62
    whole = StatisticalDatabase([large, large, 3])
    assert whole.ask(first(3, 3)) == 2**63 + 3
    real = StatisticalDatabase([1e16, 1.0, -1e16, 0.5])
    assert real.ask(first(4, 4)) == 1.5
    assert real.ask(first(2, 4), "max") == 1e16
    assert real.ask(first(2, 4), "count") == 2
    bits = StatisticalDatabase(np.array([True, False, True]))
    assert (bits.ask(first(3, 3)), bits.ask(~first(1, 3), "max")) == (2, 1)


def test_an_auditor_judges_one_statistic() -> None:
    for audit, other in (("sum", "max"), ("max", "sum"), ("max-simulatable", "sum")):
        database = StatisticalDatabase([3, 1, 2], audit=audit)
        with pytest.raises(RefusedError, match=f"not '{other}'"):
            database.ask(first(3, 3), other)
        assert database.ask(first(1, 3), "count") == 1  # tells no value


def test_a_refusal_tells_no_value(rng: Generator) -> None:
    values = rng.integers(10**6, 10**7, 6)
    for audit in AUDITS:
        database = StatisticalDatabase(values, audit=audit)
        with pytest.raises(RefusedError) as error:
            database.ask(first(1, 6), AUDITS[audit].what)
        assert str(error.value) == "The query is not answered: a value could follow from it."
        assert str(values[0]) not in repr(database)
        assert "nothing is differentially private" in database.caveat


@pytest.mark.parametrize(
    ("positions", "sum_"),
    [
        ([0, 2], 8),
        ((2, 0), 8),
        ({2, 0}, 8),
        (range(4), 24),
        (np.array([3], dtype=np.uint8), 10),
        ([1, 0], 6),
        ([0, 1, 1, 0], 8),  # as many as there are records, all 0 or 1: truth values
        ([False, True, True, False], 8),
    ],
)
def test_a_set_may_be_told_by_positions(positions: object, sum_: int) -> None:
    database = StatisticalDatabase([1, 5, 3, 10] if sum_ == 6 else [5, 5, 3, 10])
    expected = {8: 8, 6: 6, 24: 23, 10: 10}[sum_]
    assert database.ask(positions) == expected


def test_restrictions_are_the_same_for_positions() -> None:
    database = StatisticalDatabase(range(10), min_size=3, max_overlap=1, audit="sum")
    database.ask([0, 1, 2])
    for refused in ([4, 5], [], range(8), [1, 2, 3]):
        with pytest.raises(RefusedError):
            database.ask(refused)
    assert database.asked == 1


@pytest.mark.parametrize(
    "mask",
    ["all", [[True] * 3], [0, 1, 3], [-1], [1, 1], [0.0, 1.0, 1.0], [0.0], None, [True], 1,
     [True, False], {"a"}, [2**64]],
)  # fmt: skip
def test_a_set_is_told_by_truth_values(mask: object) -> None:
    with pytest.raises(InputError, match="3 booleans"):
        StatisticalDatabase([1, 2, 3]).ask(mask)


@pytest.mark.parametrize("values", [[], [[1]], ["a"], [1, None], 5, [1.0, float("nan")], [np.inf]])
def test_values_are_numbers(values: object) -> None:
    with pytest.raises(InputError, match="must be"):
        StatisticalDatabase(values)


@pytest.mark.parametrize(
    "given_",
    [
        {"min_size": 0},
        {"min_size": 2.0},
        {"min_size": True},
        {"max_overlap": -1},
        {"max_overlap": "2"},
        {"audit": "average"},
        {"audit": []},
        {"audit": 5},
        {"min_size": 4},
        {"min_size": None},
        {"max_overlap": True},
    ],
)
def test_restrictions_are_checked(given_: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        StatisticalDatabase([1, 2, 3], **given_)  # type: ignore[arg-type]


def test_a_statistic_must_be_known() -> None:
    with pytest.raises(ParameterError, match="'sum', 'count' or 'max'"):
        StatisticalDatabase([1, 2, 3]).ask(first(2, 3), "median")


def test_the_names_of_the_contract() -> None:
    assert dp.StatisticalDatabase is StatisticalDatabase
    assert dp.RefusedError is RefusedError
