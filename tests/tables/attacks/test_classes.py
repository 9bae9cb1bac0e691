"""Who looks for somebody in a class: prosecutor, journalist, marketer, and who is unique."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.attacks.scenes import cells, covers, release, table

from veil import tables
from veil.core.errors import InputError
from veil.core.types import Floats
from veil.tables.attacks.classes import expected_risk, pitman, zayatz
from veil.tables.column import Column
from veil.tables.mechanism import Release

few = settings(max_examples=25, deadline=None, derandomize=True)


@given(st.integers(0, 10**9))
@few
def test_prosecutor_counts_rows_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = table(rng, int(rng.integers(2, 12)), gaps=0.2)
    r = release(t, rng)
    assert r.rows is not None
    a = tables.attack(t, r, "prosecutor(threshold=0.4)")
    labels, targets = cells(r.table, t.qi), cells(t, t.qi)
    stars = [all(cell in (None, "*") for cell in row) for row in labels]
    expected = np.zeros(len(t))
    for row, star, own in zip(labels, stars, r.rows.tolist(), strict=True):
        hidden = star and not all(stars) and any(cell is not None for cell in targets[own])
        expected[own] = 0.0 if hidden else 1 / labels.count(row)
    assert a.per_record == pytest.approx(expected)
    assert a.risk == pytest.approx(expected.mean())
    assert a.details["at_risk"] == pytest.approx((expected > 0.4).mean())
    assert a.details["f"] == pytest.approx([labels.count(row) for row in labels])
    outcome = tables.attack(t, r, "unique")
    assert outcome.per_record == pytest.approx((expected == 1).astype(float))


@given(st.integers(0, 10**9))
@few
def test_journalist_counts_the_people_whom_labels_cover(seed: int) -> None:
    rng = np.random.default_rng(seed)
    people = table(rng, 14)
    t = people.take(rng.permutation(14)[:6])
    columns = {
        "number": Column.of([">3" if x > 3 else str(int(x)) for x in t["number"]]),
        "place": Column.of(["AB" if x in "ab" else "CD" for x in t["place"]]),
    }
    a = tables.attack(t, t.changed(columns), "journalist", population=people)
    labels, targets = cells(t.changed(columns), t.qi), cells(people, t.qi)
    counts = np.array([sum(all(map(covers, row, item)) for item in targets) for row in labels])
    assert a.details["F"] == pytest.approx(counts)
    assert a.per_record == pytest.approx(1 / counts)
    assert a.details["largest"] == pytest.approx(1 / counts.min())
    classes = dict(zip(labels, counts, strict=True))
    assert a.details["arx"] == pytest.approx(max(a.risk, len(classes) / sum(classes.values())))
    assert tables.attack(t, t.changed(columns), "marketer", population=people).risk == a.risk


def test_rows_of_stars_count_nothing_unless_all_are() -> None:
    t = tables.load({"x": [1, 2, 3, 3]}, qi=["x"])
    starred = t.changed({"x": Column.of(["*", "2", "3", "3"])})
    assert tables.attack(t, starred, "prosecutor").per_record == pytest.approx([0, 1, 0.5, 0.5])
    assert tables.attack(t, starred, "unique").per_record == pytest.approx([0, 1, 0, 0])
    nothing = t.changed({"x": Column.of(["*"] * 4)})
    assert tables.attack(t, nothing, "prosecutor").risk == 0.25
    missing = tables.load({"x": [None, 2, 3, 3]}, qi=["x"])  # as it was: missing is a value
    assert tables.attack(missing, missing, "prosecutor").per_record[0] == 1


def test_a_population_must_hold_everybody() -> None:
    t = tables.load({"x": [1, 2, 3]}, qi=["x"])
    for attacker in ("journalist", "marketer"):
        with pytest.raises(InputError, match="lacks 1 of 3 classes") as error:
            tables.attack(t, t, attacker, population=tables.load({"x": [1, 2, 2]}))
        assert "'3'" not in str(error.value)
        with pytest.raises(InputError, match="lacks the quasi-identifier 'x'"):
            tables.attack(t, t, attacker, population=tables.load({"y": [1, 2, 2]}))
    with pytest.raises(InputError, match="needs a table of the population"):
        tables.attack(t, t, "journalist")
    with pytest.raises(InputError, match="needs a table of the population"):
        tables.attack(t, t, "journalist", population=1000)
    with pytest.raises(InputError, match="or a column of sampling weights"):
        tables.attack(t, t, "marketer")
    for n in (2, math.nan, math.inf):
        with pytest.raises(InputError, match="at least as large as the release, which has 3 rows"):
            tables.attack(t, t, "unique", population=n)


def test_missing_values_in_a_population() -> None:
    t = tables.load({"x": ["a", None, "b"]}, qi=["x"])
    people = tables.load({"x": ["a", "b", "b", "b"]}, qi=["x"])
    with pytest.raises(InputError, match="missing='any'"):
        tables.attack(t, t, "journalist", population=people)
    a = tables.attack(t, t, "journalist(missing=any)", population=people)
    assert a.details["F"] == pytest.approx([1, 4, 3])


def negative_binomial(f: int, p: float) -> float:
    """Return E[1/F] of F >= f with P(F) = C(F-1, f-1) p^f (1-p)^(F-f), by its sum."""
    total, weight = 0.0, p**f
    for people in range(f, f + 20_000):
        total += weight / people
        weight *= people / (people - f + 1) * (1 - p)
    return total


@pytest.mark.parametrize("f", [1, 2, 5, 39, 40, 41, 90])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.499, 0.5, 0.9, 1.0])
def test_the_expected_risk_is_that_of_a_negative_binomial(f: int, p: float) -> None:
    risk = expected_risk(np.array([float(f)]), np.array([f / p]))[0]
    assert risk == pytest.approx(negative_binomial(f, p), rel=1e-9)


def test_weights_below_one_say_that_all_are_sampled() -> None:
    t = tables.load({"x": [1, 1, 2], "w": [0.5, 0.5, 0.9]}, qi=["x"], weight="w")
    assert tables.attack(t, t, "marketer").per_record == pytest.approx([0.5, 0.5, 1.0])


def sampled(alpha: float, theta: float, n: int) -> Floats:
    """Draw class sizes of Pitman's formula."""
    rng = np.random.default_rng(3)
    sizes = [1.0]
    for observed in range(1, n):
        new = rng.random() < (theta + alpha * len(sizes)) / (theta + observed)
        if new:
            sizes.append(1.0)
        else:
            odds = np.cumsum(np.array(sizes) - alpha)
            sizes[int(np.searchsorted(odds, rng.random() * odds[-1], "right"))] += 1
    return np.array(sizes)


def test_pitman_and_zayatz_find_the_uniques_of_a_population() -> None:
    people = sampled(0.6, 40.0, 6000)
    true = float((people == 1).sum() / people.sum())
    rng = np.random.default_rng(4)
    owners = np.repeat(np.arange(len(people)), people.astype(int))
    draws = np.bincount(rng.permutation(owners)[:600])
    sample = draws[draws > 0].astype(float)
    estimate = pitman(sample, 6000)
    assert estimate is not None
    assert estimate == pytest.approx(true, rel=0.2)
    assert zayatz(sample, 6000) == pytest.approx(true, rel=0.5)


@pytest.mark.parametrize(("times", "model"), [(20, "pitman"), (3, "zayatz")])
def test_not_everybody_who_is_alone_in_a_sample_is_so_elsewhere(times: int, model: str) -> None:
    sizes = [1] * 30 + [2] * 8 + [3] * 4 + [5, 5, 9, 20]
    t = tables.load({"x": np.repeat(np.arange(len(sizes)), sizes)}, qi=["x"])
    a = tables.attack(t, t, "unique", population=times * len(t))
    assert a.risk == pytest.approx(a.details[model])
    assert 0 < a.risk < 0.8 * float(str(a.details["sample"]))
    assert len(set(a.per_record.tolist())) == 2


def test_where_alpha_falls_to_0_pitman_is_ewens() -> None:
    sizes = np.repeat(np.arange(1.0, 6.0), 8)
    share = pitman(sizes, 2400)
    assert share is not None
    theta = share * 2400
    rows = np.arange(sizes.sum())  # the expected number of classes is that of the sample
    assert (theta / (theta + rows)).sum() == pytest.approx(len(sizes), rel=1e-9)


def test_uniques_where_a_model_has_nothing_to_say() -> None:
    assert pitman(np.ones(10), 100) is None
    assert pitman(np.array([5.0]), 100) is None
    assert zayatz(np.ones(10), 100) == pytest.approx(1.0)
    assert zayatz(np.array([2.0, 3.0]), 100) == 0.0
    t = tables.load({"x": np.arange(10)}, qi=["x"])
    assert tables.attack(t, t, "unique", population=1000).risk == pytest.approx(1.0)
    twice = tables.load({"x": np.arange(10) // 2}, qi=["x"])
    assert tables.attack(twice, twice, "unique", population=1000).risk == 0.0


def test_synthetic_rows_are_nobody_s() -> None:
    t = tables.load({"x": [1, 2, 3], "y": [1, 1, 2]}, qi=["x", "y"])
    r = Release(t, "synthetic", tables.protect(t, "sample(rate=0.9)", rng=1).guarantee, rows=None)
    for name in ("prosecutor", "exact", "distance", "fellegi_sunter", "linkage", "interval"):
        with pytest.raises(InputError, match=f"The attack {name} needs to know the"):
            tables.attack(t, r, name)
    assert tables.attack(t, r, "unique").risk == 1.0
