"""Histograms: who counts, what is shown, and in which order."""

import math
from collections import namedtuple
from datetime import UTC, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.dp.calibration import partition_chances
from veil.dp.histogram import canonical_key

SURE = 1e9  # an epsilon at which the noise is 0


def test_public_keys_are_all_there_and_others_do_not_count() -> None:
    found = dp.histogram(["b", "a", "x", "b"], SURE, keys=["c", "b", "a"])
    assert found.counts == {"a": 1, "b": 2, "c": 0}
    assert list(found.counts) == ["a", "b", "c"]
    assert (found.threshold, found.cost.delta) == (None, 0.0)


def test_a_unit_counts_once_for_a_key_and_for_few_keys() -> None:
    values = [*("abcde" * 3)]
    units = ["ann"] * 15
    for groups in (1, 2, 5):
        found = dp.histogram(values, SURE, keys=[*"abcde"], units=units, max_groups=groups, rng=1)
        assert sum(found.counts.values()) == groups
        assert max(found.counts.values()) == 1


def test_the_keys_of_a_unit_are_chosen_uniformly_whatever_the_order_of_rows() -> None:
    values, units = ["z"] * 50 + ["a"], ["ann"] * 51
    chosen = sum(
        dp.histogram(values, SURE, keys=["a", "z"], units=units, rng=seed).counts["a"]
        for seed in range(400)
    )
    assert 150 < chosen < 250  # a half, although 50 of 51 rows say z


def test_rows_in_another_order_give_the_same_under_a_seed() -> None:
    rng = generator(3)
    values = rng.integers(0, 40, 3_000)
    units = rng.integers(0, 500, 3_000)
    order = rng.permutation(3_000)
    found = dp.histogram(values, 1.0, keys=range(40), max_groups=3, rng=9)
    again = dp.histogram(values[order], 1.0, keys=range(40), max_groups=3, rng=9)
    assert found.counts == again.counts
    total = dp.histogram(values, SURE, 0.1, units=units, max_groups=40).counts
    assert sum(total.values()) == len({*zip(values.tolist(), units.tolist(), strict=True)}) - sum(
        1 for key in range(40) if key not in total
    )


def test_rare_keys_are_not_shown_and_those_shown_are_in_their_own_order() -> None:
    values = [*(["often"] * 200), "once", *(["also"] * 200), "other"]
    found = dp.histogram(values, 1.0, 1e-6, rng=4)
    assert list(found.counts) == ["also", "often"]
    assert found.threshold == 15
    assert found.cost.delta == 1e-6


def test_a_key_of_one_unit_is_shown_as_rarely_as_promised() -> None:
    keys = [f"k{i:05}" for i in range(20_000)]
    shown = len(dp.histogram(keys, 1.0, 0.01, rng=5).counts)
    q = math.exp(-1)
    chance = q ** (dp.threshold(1.0, 0.01) - 1) / (1 + q)
    assert chance <= 0.01
    assert abs(shown - 20_000 * chance) < 5 * math.sqrt(20_000 * chance)


def test_the_optimal_selection_shows_as_often_as_it_may() -> None:
    keys = np.repeat(np.arange(8_000), 12)
    found = dp.histogram(keys, 2.0, 1e-3, rng=6, select="optimal")
    chance = float(partition_chances(1.0, 1e-3, 12)[12])
    assert abs(len(found.counts) - 8_000 * chance) < 5 * math.sqrt(8_000 * chance * (1 - chance))
    noise = np.array(list(found.counts.values())) - 12
    assert abs(float(noise.std()) - math.sqrt(2 * math.exp(-1)) / (1 - math.exp(-1))) < 0.1


class Colour(StrEnum):
    RED = "red"


class Grade(IntEnum):
    ONE = 1


Pair = namedtuple("Pair", "a b")
WEST = timezone(timedelta(hours=-5))
NOON = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
SPELLINGS: list[list[Any]] = [
    [Decimal("1.50"), Decimal("1.5"), 1.5, Fraction(3, 2), np.float32(1.5), 1.5 + 0j],
    [Decimal("0.10"), Decimal("0.1"), Fraction(1, 10), Decimal("1E-1")],
    [Decimal(f"0.{'1' * 40}0"), Decimal(f"0.{'1' * 40}")],
    [Decimal("1E+2"), Decimal("100"), Decimal("100.0"), 100, 100.0, Fraction(100)],
    [True, 1, 1.0, Grade.ONE, np.int8(1), np.bool_(True), Decimal("1.00"), 1 + 0j],
    [0, -0.0, Decimal("-0"), False, np.float64(-0.0), -0j],
    [float("inf"), Decimal("Infinity"), np.inf],
    [Fraction(1, 3), Fraction(2, 6)],
    [NOON, NOON.astimezone(WEST), NOON.astimezone(ZoneInfo("Asia/Tokyo"))],
    [datetime(2024, 5, 1, fold=1), datetime(2024, 5, 1), np.datetime64("2024-05-01T00:00:00", "s"),
     np.datetime64("2024-05-01", "ns")],
    [time(12, tzinfo=UTC), time(7, tzinfo=WEST)],
    [time(12, fold=1), time(12), time(12, tzinfo=ZoneInfo("Europe/Rome"))],
    [(True, "a"), (1, "a"), (1.0, "a"), Pair(1, "a"), (Decimal("1.0"), np.str_("a"))],
    [((0.0,), NOON), ((-0.0,), NOON.astimezone(WEST))],
    ["red", Colour.RED, np.str_("red")],
    [frozenset([1, 2]), frozenset([2.0, True])],
    [b"a", np.bytes_(b"a")],
]  # fmt: skip


@pytest.mark.parametrize("forms", SPELLINGS, ids=lambda forms: repr(forms[0])[:30])
@pytest.mark.parametrize("public", [False, True])
def test_a_key_is_printed_in_one_form_whichever_row_comes_first(
    forms: list[Any], public: bool
) -> None:
    printed = set()
    for first in forms:
        others = [first, *forms] * 100
        keys = [forms[0]] if public else None
        counts = dp.histogram(others, SURE, 0.1, keys=keys, rng=1).counts
        ((key, count),) = counts.items()
        assert count == len(others)
        printed.add((repr(key), str(key), type(key)))
    assert len(printed) == 1


@given(st.decimals(allow_nan=False, allow_infinity=False) | st.floats(allow_nan=False)
       | st.fractions() | st.booleans() | st.integers())  # fmt: skip
def test_the_form_of_a_number_is_exact_and_its_own(value: Any) -> None:  # noqa: ANN401
    form = canonical_key(value)
    assert form == value
    assert hash(form) == hash(value)
    assert repr(canonical_key(form)) == repr(form)
    if not isinstance(value, float) or math.isfinite(value):
        exact = Fraction(value)
        digits: list[Any] = [exact, *([exact.numerator] if exact.denominator == 1 else [])]
        assert {repr(canonical_key(other)) for other in digits} == {repr(form)}


@pytest.mark.parametrize(
    "value",
    [Decimal("NaN"), Decimal("sNaN"), np.datetime64("NaT"), complex(math.nan, 1), (1, math.nan),
     Decimal("1E+999999999"), Decimal("1E-999999999"), object(), (object(),),
     datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14)))],
)  # fmt: skip
def test_what_has_no_form_is_refused(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError):
        dp.histogram([value], 1.0, 0.1)


def test_keys_of_all_numbers_are_in_order() -> None:
    values: list[Any] = [
        Fraction(1, 3),
        Decimal("0.1"),
        2,
        0.5,
        -math.inf,
        Decimal("-7.2"),
        math.inf,
    ]
    assert list(dp.histogram(values * 50, SURE, 0.1).counts) == sorted(values)


@pytest.mark.parametrize("groups", [1, 4])
def test_noise_has_the_scale_of_a_unit_in_so_many_groups(groups: int) -> None:
    found = dp.histogram([], 1.0, keys=range(20_000), max_groups=groups, rng=7)
    q = math.exp(-1 / groups)
    std = math.sqrt(2 * q) / (1 - q)
    assert abs(np.std(list(found.counts.values())) / std - 1) < 0.05


@pytest.mark.parametrize(
    "arguments",
    [
        {"epsilon": 0.0, "keys": ["a"]},
        {"epsilon": -1.0, "keys": ["a"]},
        {"epsilon": math.nan, "keys": ["a"]},
        {"epsilon": math.inf, "keys": ["a"]},
        {"epsilon": 1.0},
        {"epsilon": 1.0, "delta": 1.0},
        {"epsilon": 1.0, "delta": -0.1},
        {"epsilon": 1.0, "keys": []},
        {"epsilon": 1.0, "keys": "abc"},
        {"epsilon": 1.0, "keys": ["a"], "max_groups": 0},
        {"epsilon": 1.0, "delta": 0.1, "select": "best"},
        {"epsilon": True, "keys": ["a"]},
        {"epsilon": "1", "keys": ["a"]},
        {"epsilon": 1.0, "delta": "x"},
        {"epsilon": 1.0, "keys": ["a"], "max_groups": "x"},
    ],
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dp.histogram(["a"], **arguments)


@pytest.mark.parametrize(
    ("values", "units"),
    [
        ("abc", None),
        (np.ones((2, 2)), None),
        ([["x"]], None),
        ([math.nan], None),
        (["a"], ["u", "v"]),
        (["a", "b"], ["u", None]),
        (["a", "b"], ["u", ""]),
    ],
)
def test_values_that_cannot_be_counted_are_refused(values: Any, units: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError):
        dp.histogram(values, 1.0, 0.1, units=units)


def test_n_grams_of_persons(shared: Path) -> None:
    import csv
    import gzip

    with gzip.open(shared / "counts" / "ngrams.csv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = dp.histogram(
        [row["ngram"] for row in rows], 8.0, 1e-6, units=[row["person"] for row in rows],
        max_groups=20, rng=8,
    )  # fmt: skip
    assert "i m" in found.counts
    assert found.threshold == dp.threshold(8.0, 1e-6, 20)
    assert 20 < len(found.counts) < 2_000


@pytest.mark.parametrize("first", [1.0, True, np.float64(1), np.int8(1)])
def test_the_kind_of_one_value_does_not_show(first: Any) -> None:  # noqa: ANN401
    (key,) = dp.histogram([first, *([1] * 50)], 50.0, 1e-3).counts
    assert (key, type(key)) == (1, int)
    (zero,) = dp.histogram([-0.0, *([0] * 50)], 50.0, 1e-3).counts
    assert math.copysign(1, zero) == 1


def test_the_cost_says_what_it_is_for() -> None:
    alone = dp.histogram(["a"], 1.0, keys=["a"]).cost
    assert "separate unit" in alone.caveat
    assert "Replacing a record" in alone.caveat
    owned = dp.histogram(["a"], np.float32(1), keys=(key for key in "ab"), units=["ann"]).cost  # type: ignore[arg-type]
    assert owned.unit == "person"
    assert "Replacing a record" in owned.caveat
