"""The door to all attackers: what it takes, and what it refuses."""

from pathlib import Path

import numpy as np
import pytest

from veil import tables
from veil.core.component import example
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.tables.attack import bootstrap_mean
from veil.tables.attacks.linkage import Exact
from veil.tables.column import Column
from veil.tables.mechanism import Release

CODES = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]


def small() -> tables.Table:
    return tables.load(
        {
            "age": [31, 34, 52, 31],
            "town": ["a", "b", "c", "a"],
            "ill": ["flu", "gout", "flu", "flu"],
        },
        qi=["age", "town"],
        confidential=["ill"],
        hierarchies={"town": CODES, "ill": [["flu", "x", "*"], ["gout", "y", "*"]]},
    )


@pytest.mark.parametrize("name", tables.ATTACKS.names())
def test_every_attacker_keeps_the_contract(name: str) -> None:
    kind = tables.ATTACKS.get(name)
    attacker = example(kind)
    assert kind.name == name
    assert tables.ATTACKS.parse(str(attacker)) == attacker
    assert (kind.__doc__ or "").strip()
    t = small()
    a = tables.attack(t, t, attacker, population=t, control=t, rng=1)
    assert 0 <= a.low <= a.risk <= a.high <= 1
    assert a.per_record.dtype == np.float64
    assert ((a.per_record >= 0) & (a.per_record <= 1)).all()
    if "control" not in attacker.needs:
        assert len(a.per_record) == len(t)
        assert name == "attribute" or "largest" in a.details
    again = tables.attack(t, t, name, population=t, control=t, rng=1)
    assert again.risk == a.risk


def test_an_attacker_is_a_name_a_spec_or_a_component() -> None:
    t = small()
    risks = {tables.attack(t, t, item).risk for item in ("exact", "exact()", Exact())}
    assert risks == {0.75}
    with pytest.raises(UnknownNameError, match="No attack on tables called 'exat'. Did you mean"):
        tables.attack(t, t, "exat")
    with pytest.raises(ParameterError, match="An attacker is a component, or a spec"):
        tables.attack(t, t, 3)  # type: ignore[call-overload]


def test_what_does_not_correspond_is_refused() -> None:
    t = small()
    with pytest.raises(InputError, match="Got 3 and 4 rows"):
        tables.attack(t, t.take(np.arange(3)), "exact")
    far = Release(
        t, "test", tables.protect(t, "sample(rate=0.5)").guarantee, rows=np.array([0, 1, 2, 9])
    )
    with pytest.raises(InputError, match="do not match"):
        tables.attack(t, far, "exact")
    for wrong in (None, [1, 2]):
        with pytest.raises(InputError, match="attack needs a table"):
            tables.attack(wrong, t, "exact")  # type: ignore[call-overload]
        with pytest.raises(InputError, match="must be a Release from tables.protect"):
            tables.attack(t, wrong, "exact")  # type: ignore[call-overload]
    with pytest.raises(InputError, match="has no rows"):
        tables.attack(
            t, Release(t.take(np.arange(0)), "x", far.guarantee, rows=np.arange(0)), "exact"
        )


def test_quasi_identifiers_are_needed() -> None:
    bare = tables.load({"x": [1, 1, 2]})
    for name in (
        "exact",
        "distance",
        "fellegi_sunter",
        "linkage",
        "prosecutor",
        "unique",
        "interval",
    ):
        with pytest.raises(InputError, match="No quasi-identifier is declared"):
            tables.attack(bare, bare, name)
    t = tables.load({"x": [1, 1, 2], "y": [3, 4, 4]}, qi=["x"])
    with pytest.raises(InputError, match="none of the quasi-identifiers"):
        tables.attack(t, t.without(["x"]), "exact")
    endless = tables.load({"x": np.array([1.0, np.inf])}, qi=["x"])
    with pytest.raises(InputError, match="finite numbers"):
        tables.attack(endless, endless, "distance")


def test_a_column_that_is_not_released_is_not_used() -> None:
    t = small()
    a = tables.attack(t, t.without(["town"]), "exact")
    assert a.per_record == pytest.approx([0.5, 1, 1, 0.5])


def test_roles_are_those_of_the_original() -> None:
    t = tables.load({"x": [1, 1, 2], "w": [2, 2, 4]}, qi=["x"], weight="w")
    read_again = tables.load({"x": [1, 1, 2], "w": [2, 2, 4]})
    assert tables.attack(t, read_again, "marketer").risk == tables.attack(t, t, "marketer").risk


def test_levels_say_what_a_label_is() -> None:
    t = tables.load(
        {"x": ["a", "b", "c"]},
        qi=["x"],
        hierarchies={"x": [["a", "b", "*"], ["b", "c", "*"], ["c", "c", "*"]]},
    )
    r = tables.protect(t, "generalise(level=1)")
    assert r.table["x"].tolist() == ["b", "c", "c"]
    for released in (r, r.table):  # of a table it is found which level fits all rows
        assert tables.attack(t, released, "exact").per_record == pytest.approx([1, 0.5, 0.5])


@pytest.mark.parametrize("spec", ["generalise(level=1)", "ola(k=5)"])
def test_a_label_that_is_written_as_a_number_is_a_label(spec: str, tmp_path: Path) -> None:
    ages = np.random.default_rng(1).integers(20, 60, 80).tolist()
    figures = []
    for sign in ("", "from "):  # 30 is a value, and also all from 30 to 39
        tree = [[str(age), f"{sign}{age // 10 * 10}", "*"] for age in range(20, 60)]
        t = tables.load({"age": ages}, qi=["age"], hierarchies={"age": tree})
        r = tables.protect(t, spec)
        r.table.to_csv(tmp_path / "out.csv")
        again = tables.load(tmp_path / "out.csv", qi=["age"])
        for item in (r, r.table, again):
            risks = [tables.attack(t, item, by).risk for by in ("exact", "distance")]
            worth = [tables.utility(t, item, measure) for measure in ("marginals", "cells")]
            remaining = tables.quality(t, item, k=5)
            figures.append((risks, worth, remaining, tables.loss(t, item).columns["age"]))
    assert all(item == figures[0] for item in figures)
    assert figures[0][0] == pytest.approx([4 / 80, 4 / 80])
    assert figures[0][2].precision == 0.5


def test_intervals_of_classes_have_both_ends() -> None:
    t = tables.load({"x": [0, 2, 2, 4], "s": ["a", "a", "b", "b"]}, qi=["x", "s"])
    r = tables.load({"x": ["[0-2]", "[0-2]", "[2-4]", "[2-4]"], "s": ["a", "a", "b", "b"]})
    assert tables.attack(t, r, "exact").per_record == pytest.approx([0.5] * 4)
    assert tables.quality(t, r).ncp == pytest.approx(0.25)
    assert tables.utility(t, r, "cells") == pytest.approx(1 - 0.5 / 2)


def test_recoded_reals_are_open_above() -> None:
    t = tables.load({"x": [0.5, 10.0, 12.5, 20.0]}, qi=["x"])
    r = tables.protect(t, "recode(width=10)")
    assert tables.attack(t, r, "exact").per_record == pytest.approx([1, 0.5, 0.5, 1])


def test_cells_are_attacked_by_intervals() -> None:
    cells = tables.tabulate(
        np.array([[20, 50, 10, 5], [8, 19, 22, 3], [17, 32, 12, 40], [4, 0, 30, 25]])
    )
    r = tables.protect(cells, "suppress(threshold=5)")
    assert tables.attack(cells, r, "intervals").risk == 0.0
    with pytest.raises(InputError, match="must be one of cells"):
        tables.attack(cells, small(), "intervals")  # type: ignore[call-overload]
    with pytest.raises(UnknownNameError):
        tables.attack(cells, r, "distance")


def test_no_message_quotes_a_cell() -> None:
    t = tables.load({"x": ["secret-1", "secret-2"], "y": [4711, 4712]}, qi=["x", "y"])
    people = tables.load({"x": ["secret-1", "secret-3"], "y": [4711, 4713]}, qi=["x", "y"])
    with pytest.raises(InputError) as error:
        tables.attack(t, t, "journalist", population=people)
    assert "secret" not in str(error.value)
    assert "471" not in str(error.value)


def test_intervals_of_many_records_are_those_of_single_draws() -> None:
    rng = np.random.default_rng(1)
    values = rng.choice([0.0, 0.25, 1.0], 4000, p=[0.7, 0.2, 0.1])
    from veil.core.estimate import bootstrap

    by_value, one_by_one = bootstrap_mean(values), bootstrap(values)
    assert float(by_value) == float(one_by_one)
    assert by_value.low == pytest.approx(one_by_one.low, abs=1e-3)
    assert by_value.high == pytest.approx(one_by_one.high, abs=1e-3)
    assert bootstrap_mean(values).low == by_value.low
    spread = rng.random(6000)
    assert bootstrap_mean(spread).low < float(spread.mean()) < bootstrap_mean(spread).high


def test_an_unknown_label_is_as_far_as_a_star() -> None:
    t = tables.load({"x": [1.0, 2.0, 9.0]}, qi=["x"])
    odd = t.changed({"x": Column.of(["old", "2", "9"])})
    a = tables.attack(t, odd, "distance")
    assert a.per_record == pytest.approx([1 / 3, 1, 1])
