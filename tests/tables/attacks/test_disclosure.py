"""Who learns a value without finding a row."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.attacks.scenes import cells, covers, distance_matrix, release, table

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.tables.attacks import disclosure
from veil.tables.column import Column
from veil.tables.mechanism import Release
from veil.tables.table import Table

few = settings(max_examples=25, deadline=None, derandomize=True)
ILL = {"flu": "ill", "gout": "ill", "none": "well"}


def sample_release(seed: int) -> tuple[Table, Release]:
    rng = np.random.default_rng(seed)
    t = table(rng, int(rng.integers(2, 14)), gaps=float(rng.choice([0.0, 0.2])))
    return t, release(t, rng)


def guessed(t: Table, r: Release) -> Floats:
    """Guess illnesses by loops."""
    labels, targets = cells(r.table, t.qi), cells(t, t.qi)
    far = distance_matrix(t, r)
    rows = []
    for i, target in enumerate(targets):
        pool = [all(map(covers, row, target)) for row in labels]
        if not any(pool):
            pool = [bool(x <= far[:, i].min() + 1e-9) for x in far[:, i]]
        counts = Counter(
            str(x) for x, present in zip(r.table["illness"], pool, strict=True) if present
        )
        modes = [value for value, count in counts.items() if count == max(counts.values())]
        rows.append((t["illness"][i] in modes) / len(modes))
    return np.array(rows)


@given(st.integers(0, 10**9))
@few
def test_confidential_values_are_guessed_as_by_loops(seed: int) -> None:
    t, r = sample_release(seed)
    a = tables.attack(t, r, "attribute")
    assert a.per_record == pytest.approx(guessed(t, r))
    share = Counter(t["illness"]).most_common(1)[0][1] / len(t)
    success = a.per_record.mean()
    assert a.baseline == pytest.approx(share)
    assert a.risk == pytest.approx(max(0.0, (success - share) / (1 - share)) if share < 1 else 0.0)
    assert a.low <= a.risk <= a.high


def test_guesses_do_not_depend_on_how_values_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    t, r = sample_release(3)
    whole = tables.attack(t, r, "attribute").per_record
    monkeypatch.setattr(disclosure, "_AT_ONCE", 1)
    assert tables.attack(t, r, "attribute").per_record == pytest.approx(whole)


@given(st.integers(0, 10**9))
@few
def test_classes_give_values_away(seed: int) -> None:
    t, r = sample_release(seed)
    assert r.rows is not None
    labels = cells(r.table, t.qi)
    illness = [str(x) for x in r.table["illness"]]
    classes = [
        [v for row, v in zip(labels, illness, strict=True) if row == mine] for mine in labels
    ]
    usual = Counter(t["illness"])
    parameters: dict[str, list[bool]] = {
        "homogeneity": [len(set(values)) == 1 for values in classes],
        "background(excluded=1)": [len(set(values)) <= 2 for values in classes],
        "similarity(level=1)": [len({ILL[v] for v in values}) == 1 for values in classes],
        "skewness(factor=1.5)": [
            values.count(v) / len(values) > max(0.5, 1.5 * usual[v] / len(t))
            for v, values in zip(illness, classes, strict=True)
        ],
    }
    for attacker, rows in parameters.items():
        expected = np.zeros(len(t))
        expected[r.rows] = rows
        a = tables.attack(t, r, attacker)
        assert a.per_record == pytest.approx(expected), attacker
        assert a.risk == pytest.approx(expected.mean())


def test_attribute_has_all_of_them_beside_it() -> None:
    t = table(np.random.default_rng(1), 30)
    r = tables.protect(t, "generalise(levels='place=1')")
    a = tables.attack(t, r, "attribute")
    for name in ("homogeneity", "skewness", "similarity", "background"):
        assert a.details[name] == tables.attack(t, r, name).risk


def test_the_class_of_a_known_example() -> None:
    t = tables.load(
        {
            "age": ["3*", "3*", "4*", "4*", "4*", "4*"],
            "ill": ["flu", "flu", "flu", "gout", "gout", "gout"],
        },
        qi=["age"],
        confidential=["ill"],
    )
    risks = {
        name: tables.attack(t, t, name).risk for name in ("homogeneity", "skewness", "background")
    }
    assert risks == {"homogeneity": 1 / 3, "skewness": 0.0, "background": 1.0}
    assert tables.attack(t, t, "skewness(factor=1.4)").risk == pytest.approx(5 / 6)
    assert tables.attack(t, t, "background(excluded=0)").risk == pytest.approx(1 / 3)
    a = tables.attack(t, t, "attribute")  # right for 5 of 6, who says flu or gout for 3
    assert a.risk == pytest.approx(2 / 3)
    assert a.baseline == 0.5


def test_of_several_columns_the_worst_counts() -> None:
    t = tables.load(
        {"q": list("aabb"), "safe": list("xyxy"), "told": list("uuvv")},
        qi=["q"],
        confidential=["safe", "told"],
    )
    a = tables.attack(t, t, "attribute")
    assert (a.details["column"], a.details["columns"]) == ("told", {"safe": 0.0, "told": 1.0})
    assert tables.attack(t, t, "attribute(column=safe)").risk == 0.0
    assert tables.attack(t, t, "homogeneity").risk == 1.0
    assert tables.attack(t, t, "homogeneity(column=safe)").risk == 0.0


def test_synthetic_rows_are_guessed_from_the_nearest() -> None:
    t = tables.load({"x": [0.0, 1.0, 10.0, 11.0], "s": list("uuvv")}, qi=["x"], confidential=["s"])
    result = tables.load({"x": [0.4, 10.4, 10.6], "s": list("uvv")}, qi=["x"], confidential=["s"])
    r = Release(result, "synthetic", tables.protect(t, "sample(rate=0.9)", rng=1).guarantee)
    a = tables.attack(t, r, "attribute")
    assert (a.risk, a.baseline) == (1.0, 0.5)
    assert "homogeneity" not in a.details


def test_numbers_are_known_within_a_share_of_their_spread() -> None:
    t = tables.load({"x": [0.0, 10.0, 20.0, 30.0], "y": [1.0, 2.0, 3.0, 4.0]}, qi=["x", "y"])
    moved = t.changed({"x": Column(t["x"] + np.array([0.0, 0.6, 0.7, np.nan]))})
    spread = float(np.std([0.0, 10.6, 20.7], ddof=1))
    a = tables.attack(t, moved, f"interval(width={0.65 / spread})")
    assert a.per_record.tolist() == [1, 1, 0, 0]
    assert a.details["columns"] == ["x", "y"]


def test_numbers_are_known_by_rank() -> None:
    x = np.arange(10.0)
    t = tables.load({"x": x}, qi=["x"])
    swapped = x[[1, 0, 2, 3, 9, 5, 6, 7, 8, 4]]
    a = tables.attack(t, t.changed({"x": Column(swapped)}), "interval(width=0.1)")
    assert a.details["rank"] == 0.8  # 4 and 9 are farther than one rank


def test_bad_input_of_disclosers() -> None:
    t = table(np.random.default_rng(1), 10)
    baseline = tables.load({"q": list("aab"), "s": list("xxy")}, qi=["q"])
    for name in ("attribute", "homogeneity", "skewness", "background", "similarity"):
        with pytest.raises(InputError, match=f"The attack {name} guesses confidential columns"):
            tables.attack(baseline, baseline, name)
    with pytest.raises(InputError, match="levels 0 to 2. Got 3"):
        tables.attack(t, t, "similarity(level=3)")
    with pytest.raises(InputError, match="There is no column 'nothing'"):
        tables.attack(t, t, "homogeneity(column=nothing)")
    with pytest.raises(InputError, match="attackers already know"):
        tables.attack(t, t, "attribute(column=kind)")
    bare = tables.load({"q": list("ab"), "s": list("xy")}, qi=["q"], confidential=["s"])
    with pytest.raises(InputError, match="has no hierarchy"):
        tables.attack(bare, bare, "similarity")
    with pytest.raises(InputError, match="a number in both tables"):
        tables.attack(bare, bare, "interval")
    for spec in ("interval(width=0)", "background(excluded=-1)", "skewness(factor=0)"):
        with pytest.raises(ParameterError, match="must be"):
            tables.attack(t, t, spec)
