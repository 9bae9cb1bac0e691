"""Histograms: who counts, what is shown, and in which order."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil import dp
from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.dp.calibration import partition_chances

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


@pytest.mark.parametrize("groups", [1, 4])
def test_noise_has_the_scale_of_a_unit_in_so_many_groups(groups: int) -> None:
    found = dp.histogram([], 1.0, keys=range(20_000), max_groups=groups, rng=7)
    q = math.exp(-1 / groups)
    std = math.sqrt(2 * q) / (1 - q)
    assert abs(np.std(list(found.counts.values())) / std - 1) < 0.05


@pytest.mark.parametrize(
    "given",
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
def test_arguments_out_of_range_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        dp.histogram(["a"], **given)


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
    assert "unit of its own" in alone.caveat
    assert "replace" in alone.caveat
    owned = dp.histogram(["a"], np.float32(1), keys=(key for key in "ab"), units=["ann"]).cost  # type: ignore[arg-type]
    assert owned.unit == "person"
    assert "replace" in owned.caveat
