"""Anonymity: figures of classes, against published ones and against plain sums."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from tests.tables.golden import ADULT, golden, needs_golden
from tests.tables.mechanisms.brute import SECRET, Case, cases, moved

from veil import tables
from veil.core.errors import InputError, ParameterError, VeilError
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")


@needs_golden
def test_adult_is_as_published() -> None:
    expected = golden("anonymity")
    levels = expected["levels"]
    names = (*levels, "occupation", "age")
    table = tables.load(
        ADULT / "adult.csv",
        qi=list(levels),
        confidential=["occupation", "age"],
        hierarchies={name: ADULT / f"adult_hierarchy_{name}.csv" for name in names},
        sep=";",
    )
    text = ",".join(f"{name}={level}" for name, level in levels.items())
    release = tables.protect(table, f"generalise(levels='{text}')")
    figures = tables.anonymity(release, confidential="occupation", l=3)
    assert (figures.k, figures.classes) == (expected["k"], expected["classes"])
    assert figures.average == pytest.approx(len(table) / expected["classes"])
    assert figures.uniques == 0
    job = expected["occupation"]
    assert figures.l == job["l"]
    assert figures.entropy_l == pytest.approx(job["entropy_l"], rel=1e-12)
    assert figures.c == pytest.approx(job["c_at_3"], rel=1e-12)
    assert figures.t_equal == pytest.approx(job["t_equal"], rel=1e-12)
    assert figures.t_hierarchical == pytest.approx(job["t_hierarchical"], rel=1e-12)
    age = tables.anonymity(release, "age")
    assert age.l == expected["age"]["l"]
    assert age.t_ordered == pytest.approx(expected["age"]["t_ordered"], rel=1e-9)
    combined = tables.anonymity(release)  # the worse of the two columns
    assert combined.l == min(figures.l or 0, age.l or 0)
    assert combined.t_equal == max(figures.t_equal or 0, age.t_equal or 0)


@settings(max_examples=60)
@given(cases(most=20))
def test_figures_are_those_of_their_definitions(case: Case) -> None:
    table = case.table
    figures = tables.anonymity(table, "s", l=2)
    classes = list(case.classes((0,) * len(case.hierarchies)))
    sizes = [len(rows) for rows in classes]
    assert figures.k == min(sizes)
    assert figures.classes == len(sizes)
    assert figures.uniques == sizes.count(1)
    values = [[case.secret[row] for row in rows] for rows in classes]
    positions = [Counter(value for value in text if value is not None) for text in values]
    assert figures.l == min(len(counts) for counts in positions)
    assert figures.entropy_l == pytest.approx(min(map(effective, positions)), rel=1e-12)
    assert figures.c == pytest.approx(max(map(ratio, positions)))
    for name in ("equal", "hierarchical", "ordered"):
        figure = getattr(figures, f"t_{name}")
        if name == "ordered" and None in case.secret:
            assert figure is None
            continue
        far = max(moved(text, case.secret, name) for text in values)
        assert figure == pytest.approx(far, abs=1e-7)


def effective(counts: Counter[str]) -> float:
    n = sum(counts.values())
    if not n:
        return 0.0
    return math.exp(-sum(count / n * math.log(count / n) for count in counts.values()))


def ratio(counts: Counter[str]) -> float:
    """Return r1 / (r2 + ... + rm)."""
    ordered = sorted(counts.values(), reverse=True)
    return ordered[0] / sum(ordered[1:]) if len(ordered) > 1 else math.inf


def small(**more: object) -> Table:
    return tables.load(
        {"q": ["a", "a", "b", "b", "b"], "s": ["x", "y", "x", "x", "z"], **more},
        qi=["q"],
        confidential=["s"],
    )


def test_what_does_not_apply_is_none() -> None:
    figures = tables.anonymity(small())
    assert (figures.k, figures.l, figures.c) == (2, 2, math.inf)  # no class has three values
    assert figures.t_ordered is figures.t_hierarchical is None
    baseline = tables.anonymity(tables.load({"q": ["a", "b"]}, qi=["q"]))
    assert (baseline.k, baseline.uniques, baseline.l, baseline.t_equal) == (1, 2, None, None)


def test_the_whole_may_be_the_original() -> None:
    table = tables.load(
        {"q": ["a"] * 4 + ["b"] * 4, "s": ["x", "y", "x", "y", "y", "y", "y", "z"]},
        qi=["q"],
        confidential=["s"],
        hierarchies={"q": [["a", "*"], ["b", "*"]], "s": SECRET},
    )
    release = table.take(np.arange(4))
    assert tables.anonymity(release).t_equal == 0.0
    figures = tables.anonymity(release, original=table)
    assert figures.t_equal == pytest.approx(0.5 - 2 / 8)
    assert figures.t_hierarchical == pytest.approx((0.25 + 1 / 8) / 2)
    numbers = tables.load({"q": [1, 1, 2], "s": [1, 2, 9]}, qi=["q"], confidential=["s"])
    first = tables.anonymity(numbers.take(np.arange(2)), original=numbers)
    assert first.t_ordered == pytest.approx((abs(1 / 2 - 1 / 3) + abs(1 - 2 / 3)) / 2)


def test_missing_is_a_value_or_matches_all() -> None:
    rows = golden("missing_matches_all").get("rows") or [[2, 3, 1], [3, 3, 3], [2, 3, None]]
    columns = {f"q{j}": [row[j] for row in rows] for j in range(3)}
    table = tables.load(columns, qi=list(columns))
    equal, matched = tables.anonymity(table), tables.anonymity(table, missing="any")
    assert equal.k == 1
    assert equal.uniques == sum(1 for row in rows if rows.count(row) == 1)
    assert matched.classes is None
    if golden("missing_matches_all"):
        counts = golden("missing_matches_all")["fk"]
        assert (matched.k, matched.uniques) == (min(counts), counts.count(1))


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match="No quasi-identifier"):
        tables.anonymity(tables.load({"q": ["a", "b"]}))
    with pytest.raises(VeilError, match="no column 'r'"):
        tables.anonymity(small(), "r")
    with pytest.raises(ParameterError, match="at least 1"):
        tables.anonymity(small(), l=0)
    with pytest.raises(InputError, match="no rows"):
        tables.anonymity(small().take(np.arange(0)))
    with pytest.raises(InputError, match="needs a release"):
        tables.anonymity("small")  # type: ignore[arg-type]
