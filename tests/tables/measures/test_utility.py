"""Utility: golden values, laws, labels spread as they should, and a classifier."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from tests.tables.golden import ADULT, SDC, golden, needs_golden
from tests.tables.people import QI, town

from veil import tables
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.tables.column import Column
from veil.tables.measures.pair import Bins, Meanings
from veil.tables.mechanism import Release
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
KNOWN = ["sex", "age", "race", "marital-status", "education", "native-country"]


def adult() -> Table:
    """Return the table of the golden values, with their columns."""
    levels = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in KNOWN}
    whole = tables.load(
        ADULT / "adult.csv", qi=KNOWN, confidential=["occupation"], hierarchies=levels
    )
    return whole.without(["workclass", "salary-class"])


@needs_golden
@pytest.mark.parametrize("k", [3, 5, 10])
def test_marginals_of_microaggregated_numbers(k: int) -> None:
    t = tables.load(SDC / "Tarragona.csv")
    t = tables.load(SDC / "Tarragona.csv", qi=t.columns)
    expected = golden("utility")["marginals"]["Tarragona mdav"][str(k)]
    score = tables.utility(t, tables.protect(t, f"mdav(k={k})"), "marginals")
    assert score == pytest.approx(expected, abs=1e-9)


@needs_golden
def test_marginals_of_generalised_and_suppressed_records() -> None:
    t = adult()
    key = "adult lattice cases, columns " + ", ".join([*KNOWN, "occupation"])
    expected = golden("utility")["marginals"][key]
    for case, suppression in (("case 1", 0.0), ("case 2", 0.05)):
        release = tables.protect(t, f"ola(k=10, suppression={suppression}, minimise='dm')")
        assert tables.utility(t, release) == pytest.approx(expected[case], abs=1e-9)


@needs_golden
def test_a_classifier_of_adult_is_as_good_as_published() -> None:
    expected = golden("utility")["ml"]
    t = tables.load(ADULT / "adult.csv")
    accuracy = tables.loss(t, t, columns=t.columns).ml(expected["target"])
    assert accuracy.original == pytest.approx(expected["accuracy"], abs=1e-9)
    assert accuracy.accuracy == accuracy.original
    assert accuracy.majority == pytest.approx(expected["majority"], abs=1e-9)
    assert tables.utility(t, t, "ml", target=expected["target"]) == 1


def plainly(t: Table, r: Table, rows: Any, removed: int) -> float:  # noqa: ANN401 - or None
    """Compute the marginals record by record, as the definition says."""
    figures = []
    for name, other in combinations(t.columns, 2):
        before, after = _spread(t, t, name, None), _spread(t, r, name, rows)
        along, across = _spread(t, t, other, None), _spread(t, r, other, rows)
        true = sum(np.outer(a, b) for a, b in zip(before, along, strict=True)) / len(t)
        total = sum(np.outer(a, b) for a, b in zip(after, across, strict=True))
        total = total + removed * np.outer(_star(t, name), _star(t, other))
        figures.append(0.5 * np.abs(true - total / (len(r) + removed)).sum())
    return 1 - float(np.mean(figures))


def _star(t: Table, name: str) -> Any:  # noqa: ANN401 - an array
    bins = _bins(t, name)
    values = np.zeros(bins.max() + 3)
    for bin_ in bins:
        values[bin_] += 1 / len(bins)
    return values


def _bins(t: Table, name: str) -> Any:  # noqa: ANN401 - an array
    """Return the bin of each category."""
    column = t.column(name)
    if column.numeric and len(column.categories) > 10:
        cuts = np.unique(np.quantile(column.values[~column.missing], np.arange(1, 10) / 10))
        return np.searchsorted(cuts, column.numbers, side="right")
    return np.arange(len(column.categories))


def _spread(t: Table, r: Table, name: str, rows: Any) -> list[Any]:  # noqa: ANN401 - or None
    bins, column, labels = _bins(t, name), t.column(name), r.column(name).texts
    hierarchy = t.hierarchies.get(name)
    parts = []
    for i, label in enumerate(labels):
        shares = np.zeros(bins.max() + 3)
        if label is None:
            origin = column.texts[i if rows is None else rows[i]]
            parts.append(np.eye(len(shares))[bins.max() + 1] if origin is None else _star(t, name))
            continue
        below = [
            code
            for code, value in enumerate(column.categories)
            if value == label
            or (hierarchy is not None and _under(hierarchy, value, label))
            or (label.startswith("[") and _within(value, label))
        ]
        if r.column(name).numeric and (near := _nearest_bin(t, name, float(label))) is not None:
            parts.append(np.eye(len(shares))[near])
            continue
        for code in below:
            shares[bins[code]] += 1 / len(below)
        if not below:
            shares[-1] = 1
        parts.append(shares)
    return parts


def _nearest_bin(t: Table, name: str, number: float) -> int | None:
    """Return which decile a number is in; None where each value is a bin of its own."""
    column = t.column(name)
    if len(column.categories) <= 10:
        return None
    cuts = np.unique(np.quantile(column.values[~column.missing], np.arange(1, 10) / 10))
    return int((number >= cuts).sum())


def _under(hierarchy: Any, value: str, label: str) -> bool:  # noqa: ANN401 - of the package
    leaf = hierarchy.place[value]
    return any(
        labels[codes[leaf]] == label
        for labels, codes in zip(hierarchy.labels, hierarchy.codes, strict=True)
    )


def _within(value: str, label: str) -> bool:
    low, _, high = label[1:-1].partition("-")
    return float(low) <= float(value) <= float(high)


@pytest.mark.parametrize(
    "spec",
    ["generalise(level=1)", "recode(width=7)", "suppress(k=3)", "ola(k=3, suppression=0.2)",
     "pram(p=0.6)", "sample(rate=0.4)", "rounding(base=4)"],
)  # fmt: skip
def test_marginals_are_what_a_record_by_record_count_gives(spec: str) -> None:
    t = town(50).without(["name"])
    r = tables.protect(t, spec, rng=3)
    assert tables.utility(t, r) == pytest.approx(
        plainly(t, r.table, r.rows, r.suppressed), abs=1e-12
    )


def test_marginals_with_missing_values() -> None:
    columns = {"a": ["x", None, "y", "x", None], "b": [1, 2, None, 4, 5]}
    t = tables.load(columns)
    assert tables.utility(t, t) == 1
    r = tables.load({"a": ["x", None, None, "x", "y"], "b": [1, 2, None, None, 9]})
    assert tables.utility(t, r) == pytest.approx(plainly(t, r, None, 0), abs=1e-12)


@pytest.mark.parametrize("measure", ["marginals", "cells"])
def test_nothing_changed_is_one_and_more_protection_is_less(measure: str) -> None:
    t = town(200)
    assert tables.utility(t, t, measure) == 1
    worth = [
        tables.utility(t, tables.protect(t, f"generalise(levels='age={level}')"), measure)
        for level in (0, 1, 2, 3)
    ]
    assert worth == sorted(worth, reverse=True)
    assert 0 <= worth[-1] < worth[0] == 1


def test_one_column_alone_is_compared_by_itself() -> None:
    t = tables.load({"a": ["x", "x", "y", "y"]})
    r = tables.load({"a": ["x", "x", "x", "z"]})
    assert tables.utility(t, r) == pytest.approx(0.5)


def test_cells_by_hand() -> None:
    t = tables.load(
        {"n": [0.0, 1.0, 2.0], "c": ["x", "y", "z"]},
        hierarchies={"c": [["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]]},
    )
    r = tables.load({"n": [0.0, 1.5, 9.0], "c": ["xy", "y", "x"]})
    lost = 0 + 0.5 / np.sqrt(2) + 1 + 2 / 3 + 0 + 1
    assert tables.utility(t, r, "cells") == pytest.approx(1 - lost / 6)


def test_suppressed_rows_are_worth_nothing_and_sampled_ones_do_not_count() -> None:
    t = town()
    release = tables.protect(t, "sample(rate=0.5)", rng=1)
    assert tables.utility(t, release, "cells") == 1
    gone = Release(
        release.table, release.method, release.guarantee, suppressed=30, rows=release.rows
    )
    assert tables.utility(t, gone, "cells") == pytest.approx(0.5)
    assert tables.utility(t, gone) != tables.utility(t, release)  # stars besides the shares


def test_numbers_beyond_the_deciles_are_in_the_outer_bins() -> None:
    bins = Bins(Column.of(list(range(20))))
    assert bins.cuts is not None
    assert bins.value_bins == len(bins.cuts) + 1 == 10
    placed = bins.placed(Column.of([-5.0, bins.cuts[0] - 1e-9, bins.cuts[0], 400.0]), None)
    assert placed.codes.tolist() == [0, 0, 1, 9]  # x >= cut goes right
    few = Bins(Column.of([1, 2, 3]))
    assert few.placed(Column.of([2.0, 2.5]), None).codes.tolist() == [1, few.outside]


def test_repeated_deciles_are_one_cut() -> None:
    bins = Bins(Column.of([0] * 50 + list(range(50))))
    assert bins.cuts is not None
    assert len(np.unique(bins.cuts)) == len(bins.cuts) < 9


def test_labels_stand_for_values_of_the_column() -> None:
    meanings = Meanings(Column.of([1.0, 2.0, 3.0, 10.0]))
    labels = ["2", "[2-3]", ">2", "<2", "*", "{1, 10}", "[4-9]", "unknown"]
    result = meanings.of(labels)
    assert [point.values.tolist() for point in result] == [
        [1], [1, 2], [2, 3], [0], [0, 1, 2, 3], [0, 3], [], []
    ]  # fmt: skip
    losses = [point.loss for point in result]
    assert losses == pytest.approx([0, 1 / 9, 8 / 9, 1 / 9, 1, 0.5, 1, 1])


def test_half_open_intervals_of_reals_cover_their_ends_once() -> None:
    meanings = Meanings(Column.of([0.5, 1.0, 1.5, 2.0]))
    result = meanings.of(["[0-1]", "[1-2]", "[2-3]"])
    assert [point.values.tolist() for point in result] == [[0], [1, 2], [3]]


class Majority:
    """A classifier as scikit-learn has them, that learns next to nothing."""

    def fit(self, x: Any, y: Any) -> None:  # noqa: ANN401 - arrays
        assert x.shape[0] == len(y)
        assert np.allclose(x.sum(axis=1), x.sum(axis=1)[0])  # each column is spread over its bins
        self.most = np.bincount(y).argmax()

    def predict(self, x: Any) -> Any:  # noqa: ANN401 - arrays
        return np.full(len(x), self.most)


def learner(rng: Generator, n: int = 600) -> Table:
    """Return a table of which y can be learnt."""
    x = rng.integers(0, 4, n)
    y = np.where(rng.random(n) < 0.9, x >= 2, x < 2)
    columns = {"x": [f"v{i}" for i in x], "z": rng.normal(size=n), "y": np.where(y, "yes", "no")}
    return tables.load(columns, qi=["x"], confidential=["y"])


def test_what_is_learnt_of_a_release_is_a_share_of_what_could_be(rng: Generator) -> None:
    t = learner(rng)
    assert tables.utility(t, t, "ml") == 1
    same = tables.protect(t, "pram(p=0.999)", rng=1)
    noisy = tables.protect(t, "pram(p=0.3)", rng=1)
    assert tables.utility(t, same, "ml") > 0.9 > tables.utility(t, noisy, "ml")
    blind = t.changed({"x": Column.of(["*"] * len(t))})
    accuracy = tables.loss(t, blind).ml()
    assert accuracy.accuracy <= accuracy.majority + 0.08
    assert accuracy.original > 0.85


def test_test_rows_are_never_masked_and_never_learnt_from(rng: Generator) -> None:
    t = learner(rng, 300)
    wrong = t["y"].copy()
    wrong[2::3] = np.where(wrong[2::3] == "yes", "no", "yes")  # of the rows that are tested
    assert tables.utility(t, t.changed({"y": Column(wrong)}), "ml") == 1
    wrong = t["y"].copy()
    wrong[0::3] = wrong[1::3] = "no"
    assert tables.utility(t, t.changed({"y": Column(wrong)}), "ml") < 0.5


def test_any_classifier_with_fit_and_predict_will_do(rng: Generator) -> None:
    t = learner(rng)
    release = tables.protect(t, "pram(p=0.5)", rng=1)
    accuracy = tables.loss(t, release).ml("y", Majority())
    assert accuracy.accuracy == accuracy.original == accuracy.majority
    with pytest.raises(InputError, match="another target"):
        tables.utility(t, release, "ml", estimator=Majority())
    with pytest.raises(ParameterError, match="Only the measure 'ml'"):
        tables.utility(t, release, "cells", target="y")


def test_generalised_columns_can_be_learnt_from() -> None:
    t = town(400)
    columns = {**{name: t.column(name) for name in QI}}
    target = Column.of(np.where(t["age"] >= 40, "old", "young"))
    whole = Table({**columns, "y": target}, {**dict.fromkeys(QI, "qi"), "y": "confidential"},
                  t.hierarchies)  # fmt: skip
    release = tables.protect(whole, "generalise(level=1)", columns=["age"])
    assert tables.loss(whole, release).ml().accuracy > 0.95


def test_bad_measures_and_targets_are_refused() -> None:
    t = town()
    with pytest.raises(UnknownNameError, match="marginal"):
        tables.utility(t, t, "marginal")
    with pytest.raises(InputError, match="target="):
        tables.utility(t, t, "ml")  # two confidential columns
    with pytest.raises(InputError, match="no column 'nothing'"):
        tables.utility(t, t, "ml", target="nothing")
    with pytest.raises(InputError, match="to predict"):
        tables.utility(t, t.without(["illness"]), "ml(target=illness)")
    with pytest.raises(InputError, match="no column to predict from"):
        tables.utility(t, t, "ml", target="illness", columns=["illness"])
