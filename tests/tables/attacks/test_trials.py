"""Attacks beside control rows: singling out, linkability, inference; and what is left of them."""

import numpy as np
import pytest

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.core.guarantee import Guarantee
from veil.core.outcome import Outcome
from veil.tables.attack import Scene
from veil.tables.attacks.anonymeter import Clause, Reader, Speaker, equal_values, nearest_rows
from veil.tables.column import Column
from veil.tables.mechanism import Release
from veil.tables.table import Table

TRIO = ("singling_out", "linkability", "inference")


def people(n: int, seed: int) -> Table:
    rng = np.random.default_rng(seed)
    age, pay = rng.integers(18, 90, n), rng.normal(3000, 900, n).round()
    town = rng.choice(["Rome", "Oslo", "Bonn", "Nice"], n, p=[0.4, 0.3, 0.2, 0.1])
    ill = rng.choice(["flu", "gout", "none"], n)
    return tables.load(
        {"age": age, "pay": pay, "town": town, "ill": ill},
        qi=["age", "pay", "town"],
        confidential=["ill"],
    )


def synthetic(n: int) -> Release:
    """Draw rows that know nothing of the data."""
    return Release(people(n, 3), "independent", Guarantee("none", unit="record"))


@pytest.mark.parametrize("attacker", TRIO)
def test_in_clear_an_attack_succeeds_and_strangers_are_spared(attacker: str) -> None:
    t, control = people(300, 1), people(300, 2)
    a = tables.attack(t, t, attacker, control=control, rng=1)
    assert a.details["succeeded"] is True
    assert 250 < int(str(a.details["attacks"])) <= 300
    assert a.risk > 0.4
    assert a.low <= a.risk <= a.high
    assert a.control is not None
    assert a.per_record.mean() > a.control
    assert set(np.unique(a.per_record)) <= {0.0, 1.0}


@pytest.mark.parametrize("attacker", TRIO)
def test_rows_drawn_apart_give_nothing_away(attacker: str) -> None:
    t, control = people(300, 1), people(300, 2)
    a = tables.attack(t, synthetic(300), attacker, control=control, rng=1)
    assert a.low <= 0.1
    assert a.risk < 0.25
    assert a.per_record.mean() < 0.5


def test_what_holds_for_nobody_singles_out_nobody() -> None:
    t, control = people(60, 1), people(60, 2)
    moved = {name: Column(t[name] + 1e6) for name in ("age", "pay")}
    moved |= {name: Column.of([f"no {text}" for text in t[name]]) for name in ("town", "ill")}
    a = tables.attack(t, t.changed(moved), "singling_out", control=control, rng=1)
    assert int(str(a.details["attacks"])) > 30
    assert a.per_record.sum() == 0


@pytest.mark.parametrize("attacker", TRIO)
def test_the_same_seed_gives_the_same_attack(attacker: str) -> None:
    t, control = people(100, 1), people(100, 2)
    r = tables.protect(t, "noise(scale=0.1)", rng=1)

    def once() -> Outcome:
        return tables.attack(t, r, f"{attacker}(attacks=20)", control=control, rng=5)

    first, second = once(), once()
    assert first.risk == second.risk
    assert np.array_equal(first.per_record, second.per_record)
    assert len(first.per_record) <= 20


@pytest.mark.parametrize("attacker", ["linkability", "inference"])
def test_the_truth_is_not_used_to_guess(attacker: str) -> None:
    t, control = people(100, 1), people(100, 2)
    r = tables.protect(t, "noise(scale=0.1)", rng=1)
    wrong = Release(r.table, r.method, r.guarantee, rows=np.arange(100)[::-1])
    risks = [tables.attack(t, item, attacker, control=control, rng=5).risk for item in (r, wrong)]
    assert risks[0] == risks[1]


def test_a_predicate_holds_for_the_rows_it_says() -> None:
    t = tables.load({"x": [1, 5, 9, None], "c": ["a", "b", "b", None]}, qi=["x", "c"])
    coarse = t.changed({"c": Column.of(["A", "B", "B", "*"])})
    tree = tables.load(
        {"x": [1, 5, 9, None], "c": ["a", "b", "b", None]},
        hierarchies={"c": [["a", "A", "*"], ["b", "B", "*"]]},
    )
    scene = Scene(coarse, t, tree.hierarchies)
    own, others = Reader(scene, coarse, ("x", "c")), Reader(scene, t, ("x", "c"))
    labels = coarse.column("c").categories
    code = {label: labels.index(label) for label in labels}
    assert own.count((Clause(0, ">=", 1),)) == 2
    assert own.count((Clause(0, "<=", 1), Clause(1, "==", code["B"]))) == 1
    assert others.count((Clause(1, "==", code["B"]),)) == 2  # the label covers b
    assert others.count((Clause(0, ">=", 2), Clause(1, "==", code["A"]))) == 0
    speaker = Speaker(scene, ("x", "c"))
    assert speaker.of_row(2, [0, 1]) == (Clause(0, ">=", 2), Clause(1, "==", code["B"]))
    assert speaker.of_row(0, [0, 1]) == (Clause(0, "<=", 0), Clause(1, "==", code["A"]))
    assert speaker.of_row(3, [0, 1]) == ()  # missing, and a star: they say nothing
    assert set(speaker.simple()) == {
        (Clause(0, "==", 0),), (Clause(0, "==", 1),), (Clause(0, "==", 2),),
        (Clause(0, "<=", 0),), (Clause(0, ">=", 2),), (Clause(1, "==", code["A"]),),
    }  # fmt: skip


def test_nearest_rows_are_gower_s_and_ties_are_drawn() -> None:
    t = tables.load({"x": [0.0, 10.0, 5.0], "c": ["a", "b", "a"]}, qi=["x", "c"])
    table = tables.load({"x": [0.0, 10.0, 10.0, 4.0], "c": ["a", "b", "b", "b"]}, qi=["x", "c"])
    rng = np.random.default_rng(1)
    scene = Scene(table, t)
    nearest = [nearest_rows(scene, t, np.arange(3), ("x", "c"), rng).tolist() for _ in range(40)]
    assert {row[0] for row in nearest} == {0}
    assert {row[1] for row in nearest} == {1, 2}
    assert {row[2] for row in nearest} == {0}  # 5/10 + 0 is nearer than 1/10 + 1
    by_number = nearest_rows(scene, t, np.arange(3), ("x",), rng)
    assert by_number[2] == 3


def test_a_guess_hits_if_it_is_equal_or_nearly() -> None:
    numbers = equal_values(Column.of([100, 105, 106, None]), Column.of([100, 100, 100, 5]), 0.05)
    assert numbers.tolist() == [True, True, False, False]
    texts = equal_values(Column.of(["a", "b", None]), Column.of(["a", "a", None]), 0.05)
    assert texts.tolist() == [True, False, False]


def test_a_table_of_one_class_singles_out_nobody() -> None:
    t, control = people(50, 1), people(50, 2)
    stars = {name: Column.of(["*"] * 50) for name in t.columns}
    a = tables.attack(t, t.changed(stars), "singling_out", control=control, rng=1)
    assert (a.risk, a.low, a.high) == (0.0, 0.0, 1.0)
    assert a.details["succeeded"] is False
    assert "too weak to show anything" in str(a.details["caveat"])


def test_what_is_no_better_than_chance_claims_nothing() -> None:
    residue = tables.residual(main=(100, 5), baseline=(100, 5), control=(100, 5))
    assert (residue.risk, residue.succeeded) == (0.0, False)
    single = tables.residual(main=(100, 50), baseline=(100, 5))
    assert single.risk == pytest.approx(single.main_rate)
    sure = tables.residual(main=(10**6, 10**6), baseline=(10, 0), control=(10**6, 0))
    assert sure.risk == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("trials", [(0, 0), (5, 6), (5, -1)])
def test_hits_that_cannot_be(trials: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="at least one attack and no more hits"):
        tables.residual(main=trials, baseline=(5, 1), control=(5, 1))
    with pytest.raises(ParameterError, match="between 0 and 1"):
        tables.residual(main=(5, 1), baseline=(5, 1), control=(5, 1), confidence=1.0)


def test_control_rows_are_needed_and_must_fit() -> None:
    t = people(20, 1)
    for name in TRIO:
        with pytest.raises(InputError, match=f"The attack {name} needs control rows"):
            tables.attack(t, t, name)
        with pytest.raises(InputError, match="The control rows lack the column"):
            tables.attack(t, t, name, control=tables.load({"age": [1, 1]}))
    item = tables.load({"x": [1, 2, 3]}, qi=["x"])
    with pytest.raises(InputError, match="at least two quasi-identifiers"):
        tables.attack(item, item, "linkability", control=item)
    secret = tables.load({"x": [1, 2, 3]}, confidential=["x"])
    with pytest.raises(InputError, match="another column than the confidential one"):
        tables.attack(secret, secret, "inference", control=secret)
    for split in ("age,pay", "age|age", "|age"):
        with pytest.raises(InputError, match="must be written as"):
            tables.attack(t, t, f"linkability(split='{split}')", control=t)
    with pytest.raises(InputError, match="There is no column 'height'"):
        tables.attack(t, t, "linkability(split='age|height')", control=t)


def test_halves_are_told() -> None:
    t, control = people(200, 1), people(200, 2)
    a = tables.attack(t, t, "linkability(split='age,town|pay,ill')", control=control, rng=1)
    b = tables.attack(t, t, "linkability(split='town|ill')", control=control, rng=1)
    assert a.risk > 0.2 > b.risk
