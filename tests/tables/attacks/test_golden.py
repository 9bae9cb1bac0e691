"""Figures of peers: sdcMicro, ARX and anonymeter."""

from functools import lru_cache

import numpy as np
import pytest
from tests.tables.golden import ADULT, SDC, golden, needs_golden

from veil import tables
from veil.tables.column import Column
from veil.tables.table import Table
from veil.tables.wording import describe_attack

pytestmark = [needs_golden, pytest.mark.filterwarnings("ignore:Nearly all values")]


@lru_cache
def numbers(name: str) -> Table:
    t = tables.load(SDC / f"{name}.csv")
    return tables.load(t, qi=t.columns[5:15] if name == "EIA" else t.columns)


@lru_cache
def adult(qi: tuple[str, ...], name: str = "adult") -> Table:
    return tables.load(ADULT / f"{name}.csv", sep=";", qi=qi)


@pytest.mark.parametrize("k", [3, 5, 10])
@pytest.mark.parametrize("name", ["Tarragona", "CASCrefmicrodata", "EIA"])
def test_microaggregated_numbers_are_linked_and_disclosed(name: str, k: int) -> None:
    t, expected = numbers(name), golden("mdav")[name][str(k)]
    r = tables.protect(t, f"mdav(k={k})")
    a = tables.attack(t, r, "distance")
    assert a.risk == pytest.approx(expected["distance_linkage"], rel=1e-12)
    assert a.per_record.mean() == pytest.approx(a.risk)
    assert a.low < a.risk < a.high
    near = tables.attack(t, r, "interval(width=0.05)")
    assert near.risk == pytest.approx(expected["interval_005"], rel=1e-12)


@pytest.mark.parametrize("case", ["q5", "q6"])
def test_prosecutor_journalist_and_marketer_are_those_of_arx(case: str) -> None:
    expected = golden("risk")["cases"][case]
    qi = tuple(expected["qi"])
    t, people = adult(qi, "adult_subset"), adult(qi)
    prosecutor = tables.attack(t, t, "prosecutor(threshold=0.2)")
    journalist = tables.attack(t, t, "journalist", population=people)
    marketer = tables.attack(t, t, "marketer", population=people)
    for name, a in (("prosecutor", prosecutor), ("journalist", journalist)):
        assert a.risk == pytest.approx(expected[name]["average"], rel=1e-12)
        assert a.details["largest"] == expected[name]["largest"]
        assert a.details["at_risk"] == pytest.approx(expected[name]["at_risk"], rel=1e-12)
    assert marketer.risk == pytest.approx(expected["marketer"], rel=1e-12)


@pytest.mark.parametrize("case", range(3))
def test_uniques_of_the_population_are_those_of_arx(case: int) -> None:
    expected = golden("risk")["uniqueness"][case]
    t = adult(tuple(expected["qi"]))
    a = tables.attack(t, t, "unique", population=len(t) / expected["fraction"])
    assert a.details["sample"] == pytest.approx(expected["sample_unique"], rel=1e-12)
    assert a.details["pitman"] == pytest.approx(expected["pitman"], abs=1e-5)
    assert a.details["zayatz"] == pytest.approx(expected["zayatz"], abs=1e-5)
    assert a.risk == pytest.approx(expected["pitman"], abs=1e-5)
    assert tables.attack(t, t, "prosecutor").risk == pytest.approx(expected["average"], rel=1e-12)


def test_a_large_sample_is_judged_by_zayatz() -> None:
    t = adult(tuple(golden("risk")["uniqueness"][2]["qi"]))
    a = tables.attack(t, t, "unique", population=5 * len(t))
    assert a.risk == pytest.approx(a.details["zayatz"], rel=1e-12)
    whole = tables.attack(t, t, "unique", population=len(t))
    assert whole.risk == pytest.approx(float(str(whole.details["sample"])), rel=1e-9)


@pytest.mark.parametrize("case", [0, 1])
def test_weighted_risk_is_the_exact_one(case: int) -> None:
    expected = golden("weighted_risk")["cases"][case]
    t = tables.load(SDC / "testdata.csv", qi=expected["qi"], weight="sampling_weight")
    a = tables.attack(t, t, "marketer")
    assert a.risk == pytest.approx(expected["individual_risk_mean"], rel=1e-10)
    assert a.details["expected"] == pytest.approx(expected["individual_risk_sum"], rel=1e-10)
    assert a.details["largest"] == pytest.approx(expected["individual_risk_max"], rel=1e-10)
    alike = np.asarray(tables.attack(t, t, "prosecutor").details["f"])
    assert (int((alike == 1).sum()), int((alike == 2).sum())) == (
        expected["sample_uniques"],
        expected["sample_twos"],
    )


def test_pitman_is_ewens_on_adult() -> None:
    t = adult(("sex", "age", "occupation"))
    a = tables.attack(t, t, "unique", population=603_240)
    assert a.details["pitman"] == pytest.approx(0.00053, abs=5e-6)
    assert a.risk == a.details["pitman"]


def test_the_risk_of_a_household_is_that_of_the_peer() -> None:
    expected = golden("weighted_risk")["cases"][0]
    t = tables.load(SDC / "testdata.csv", qi=expected["qi"], weight="sampling_weight", quiet=True)
    person = tables.attack(t, t, "marketer")
    house = tables.attack(t, t, "marketer(household=ori_hid)")
    assert (person.details["per"], house.details["per"]) == ("person", "household")
    assert house.details["person"] == pytest.approx(person.risk, rel=1e-12)
    assert 4 < house.risk / person.risk < 6
    if expected["qi"] == ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex"]:
        assert house.risk == pytest.approx(0.0113, abs=1e-4)  # sdcMicro: 0.01131
    lines = list(describe_attack(person, "marketer", len(t)))
    assert any("per person" in line for line in lines)
    assert not any("per person" in line for line in describe_attack(house, "marketer", len(t)))


def test_weighted_risk_of_francdat() -> None:
    expected = golden("weighted_risk")["francdat"]
    t = tables.load(SDC / "francdat.csv", qi=expected["qi"], weight="w")
    a = tables.attack(t, t, "marketer")
    assert a.details["f"] == pytest.approx(expected["fk"])
    assert a.details["F"] == pytest.approx(expected["Fk"])
    assert a.per_record == pytest.approx(expected["risk"], abs=1e-12)


def test_a_missing_value_matches_every_value_if_it_is_read_so() -> None:
    expected = golden("missing_matches_all")
    columns = {f"k{j}": [row[j] for row in expected["rows"]] for j in range(3)}
    t = tables.load({**columns, "w": expected["weight"]}, qi=[*columns], weight="w")
    a = tables.attack(t, t, "prosecutor(missing=any)")
    assert a.details["f"] == pytest.approx(expected["fk"])
    assert a.per_record == pytest.approx(1 / np.array(expected["fk"]))
    weighed = tables.attack(t, t, "marketer(missing=any)")
    assert weighed.details["F"] == pytest.approx(expected["Fk"])


@pytest.mark.parametrize("case", [0, 1])
def test_fellegi_and_sunter(case: int) -> None:
    expected = golden("fellegi_sunter")["cases"][case]
    first = tables.load(SDC / "testdata.csv").take(np.arange(300))
    t = tables.load(first, qi=expected["qi"])
    row = np.arange(300)
    values = {
        name: Column(np.where((7 * row + 3 * j) % 10 == 0, np.roll(t[name], -1), t[name]))
        for j, name in enumerate(expected["qi"])
    }
    a = tables.attack(t, t.changed(values), "fellegi_sunter")
    assert a.risk == pytest.approx(expected["expected_correct_share"], abs=1e-4)
    assert [*a.details["m"].values()] == pytest.approx(expected["m"], abs=1e-4)
    assert [*a.details["u"].values()] == pytest.approx(expected["u"], abs=1e-4)


@pytest.mark.parametrize("case", [0, 1])
def test_rates_of_anonymeter(case: int) -> None:
    rates = golden("anonymeter_rates")
    expected = rates["cases"][case]
    n = expected["attacks"]
    residue = tables.residual(
        main=(n, expected["success"]),
        baseline=(n, expected["baseline"]),
        control=(n, expected["control"]),
        confidence=rates["confidence"],
    )
    for name in (
        "risk",
        "low",
        "high",
        "main_rate",
        "main_error",
        "baseline_rate",
        "control_rate",
    ):
        assert getattr(residue, name) == pytest.approx(expected[name], rel=1e-9)
    assert residue.succeeded == expected["succeeded"]
