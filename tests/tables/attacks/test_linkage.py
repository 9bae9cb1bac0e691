"""Attackers that link records, against loops over all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.attacks.scenes import (
    chances_best,
    chances_exact,
    distance_matrix,
    release,
    table,
    weights,
)

from veil import tables
from veil.tables import patterns
from veil.tables.attacks import nearest
from veil.tables.column import Column
from veil.tables.mechanism import Release
from veil.tables.table import Table

SEEDS = st.integers(0, 10**9)
few = settings(max_examples=30, deadline=None, derandomize=True)


def sample_release(seed: int) -> tuple[Table, Release]:
    rng = np.random.default_rng(seed)
    t = table(rng, int(rng.integers(2, 14)), gaps=float(rng.choice([0.0, 0.2])))
    return t, release(t, rng)


@given(SEEDS)
@few
def test_labels_are_linked_as_by_loops(seed: int) -> None:
    t, r = sample_release(seed)
    a = tables.attack(t, r, "exact")
    assert a.per_record == pytest.approx(chances_exact(t, r))
    assert a.risk == pytest.approx(a.per_record.mean())


@pytest.mark.parametrize("much", [0, 10**9])
@pytest.mark.parametrize("block", [64, 2**20])
def test_the_nearest_are_linked_as_by_loops(
    much: int, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_MUCH", much)
    monkeypatch.setattr(nearest, "_BRUTE", 0 if block == 64 else 10**6)
    for module in (patterns, nearest):
        monkeypatch.setattr(module, "BLOCK", block)

    @given(SEEDS)
    @few
    def holds(seed: int) -> None:
        t, r = sample_release(seed)
        a = tables.attack(t, r, "distance")
        assert r.rows is not None
        expected = chances_best(-distance_matrix(t, r), r.rows, len(t))
        assert a.per_record == pytest.approx(expected)

    holds()


@pytest.mark.parametrize("pair", [0.0, 1e12])
@pytest.mark.parametrize("dense", [0, 12])
def test_weights_are_those_of_the_formula(
    pair: float, dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "_PAIR", pair)
    monkeypatch.setattr(nearest, "_DENSE", dense)
    monkeypatch.setattr(nearest, "BLOCK", 128)

    @given(SEEDS)
    @settings(max_examples=12, deadline=None, derandomize=True)
    def holds(seed: int) -> None:
        t, r = sample_release(seed)
        a = tables.attack(t, r, "fellegi_sunter")
        assert r.rows is not None
        expected = chances_best(weights(t, r), r.rows, len(t))
        assert a.per_record == pytest.approx(expected, abs=1e-6)

    holds()


@given(SEEDS)
@settings(max_examples=10, deadline=None, derandomize=True)
def test_numbers_are_searched_by_trees_with_gaps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    t = tables.load(
        {f"x{j}": rng.integers(0, 4, n) + 0.0 for j in range(3)}, qi=["x0", "x1", "x2"]
    )
    columns = {}
    for name in t.qi:
        values = t[name] + rng.normal(size=n) * rng.choice([0.0, 0.5])
        columns[name] = Column(np.where(rng.random(n) < 0.2, np.nan, values))
    rows = rng.permutation(n)
    r = Release(
        t.changed(columns).take(rows),
        "test",
        tables.protect(t, "sample(rate=0.5)").guarantee,
        rows=rows,
    )
    expected = chances_best(-distance_matrix(t, r), rows, n)
    assert tables.attack(t, r, "distance").per_record == pytest.approx(expected)


def test_the_informed_attacker_is_told_how_often_columns_agree() -> None:
    rng = np.random.default_rng(4)
    names = [f"c{j}" for j in range(5)]
    t = tables.load({name: rng.choice(list("abcdef"), 200) for name in names}, qi=names)
    r = tables.protect(t, "pram(p=0.7)", rng=1)
    blind, parameters = (
        tables.attack(t, r, spec) for spec in ("fellegi_sunter", "fellegi_sunter(m=0.75)")
    )
    assert set(parameters.details["m"].values()) == {0.75}
    assert parameters.risk > 20 * 1 / 200
    assert parameters.risk >= blind.risk - 0.05


def test_linkage_is_the_best_of_three() -> None:
    rng = np.random.default_rng(5)
    t = table(rng, 40)
    r = tables.protect(t, "noise(scale=0.2)", rng=1)
    outcome = {name: tables.attack(t, r, name) for name in ("exact", "distance", "fellegi_sunter")}
    best = max(outcome.values(), key=lambda a: a.risk)
    a = tables.attack(t, r, "linkage")
    assert a.risk == best.risk
    assert (a.low, a.high) == (best.low, best.high)
    assert a.details["risks"] == {name: entry.risk for name, entry in outcome.items()}
    assert a.details["attacker"] == "distance"
    assert np.array_equal(a.per_record, best.per_record)


@pytest.mark.parametrize("attacker", ["exact", "distance", "fellegi_sunter", "linkage"])
def test_in_clear_everybody_who_is_alone_is_found(attacker: str) -> None:
    rng = np.random.default_rng(6)
    t = tables.load({"x": rng.permutation(100), "y": rng.choice(list("ab"), 100)}, qi=["x", "y"])
    a = tables.attack(t, t, attacker)
    assert (a.risk, a.low, a.high) == (1.0, 1.0, 1.0)
    assert a.baseline == 0.01
    assert a.details["certain"] == 100


@pytest.mark.parametrize("attacker", ["exact", "distance", "fellegi_sunter"])
def test_who_is_who_is_used_to_score_and_not_to_guess(attacker: str) -> None:
    rng = np.random.default_rng(7)
    t = table(rng, 60)
    r = tables.protect(t, "pram(p=0.7)", rng=1)
    a = tables.attack(t, r, attacker)
    shuffled = rng.permutation(60)
    wrong = tables.attack(t, Release(r.table, r.method, r.guarantee, rows=shuffled), attacker)
    assert a.risk > 0.1
    assert wrong.risk < a.risk / 2
    assert a.details.get("m") == wrong.details.get("m")
    moved = Release(r.table.take(shuffled), r.method, r.guarantee, rows=shuffled)
    assert tables.attack(t, moved, attacker).per_record == pytest.approx(a.per_record)


def test_rows_that_were_removed_count_nothing() -> None:
    t = tables.load({"x": np.arange(50)}, qi=["x"])
    r = tables.protect(t, "sample(rate=0.2)", rng=1)
    for attacker in ("exact", "distance", "fellegi_sunter", "prosecutor", "unique"):
        a = tables.attack(t, r, attacker)
        assert a.risk == pytest.approx(0.2)
        assert sorted(np.flatnonzero(a.per_record)) == sorted(r.rows.tolist())  # type: ignore[union-attr]


@pytest.mark.parametrize("method", ["mondrian(k=4)", "ola(k=4, suppression=0.2)"])
def test_k_anonymity_bounds_what_linkage_finds(method: str) -> None:
    t = table(np.random.default_rng(8), 120)
    numbers = {"number": tables.intervals(width=2, steps=2)}
    kinds = {"kind": [[item, "*"] for item in "xyzw"]}
    t = tables.load(
        t, qi=t.qi, confidential=["illness"], hierarchies={**t.hierarchies, **numbers, **kinds}
    )
    r = tables.protect(t, method)
    for attacker in ("exact", "distance", "fellegi_sunter"):
        assert tables.attack(t, r, attacker).risk <= 1 / 4 + 1e-12
    for attacker in ("exact", "prosecutor"):
        worst = float(str(tables.attack(t, r, attacker).details["largest"]))
        assert 0 < worst <= 1 / 4
