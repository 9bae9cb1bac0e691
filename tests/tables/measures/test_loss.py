"""Information loss: golden values, laws, and what is left out or refused."""

import math

import numpy as np
import pytest
from numpy.random import Generator
from tests.tables.golden import SDC, golden, needs_golden
from tests.tables.people import town

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.tables.measures.loss import Loss
from veil.tables.mechanism import nothing

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
ALIKE = ("il1s", "mse", "mae", "mean_variation", "means", "variances", "correlations")


def mdav(file: str, k: int) -> Loss:
    """Return what microaggregation of a file of the literature loses."""
    names = tables.load(SDC / f"{file}.csv").columns
    names = names[5:] if file == "EIA" else names
    t = tables.load(SDC / f"{file}.csv", qi=names)
    return tables.loss(t, tables.protect(t, f"mdav(k={k})"), columns=names)


@needs_golden
@pytest.mark.parametrize(
    ("file", "k"),
    [("Tarragona", 3), ("Tarragona", 5), ("Tarragona", 10), ("CASCrefmicrodata", 3),
     ("CASCrefmicrodata", 10), ("EIA", 10)],
)  # fmt: skip
def test_microaggregation_loses_what_is_published(file: str, k: int) -> None:
    expected, found = golden("mdav")[file][str(k)], mdav(file, k).overall
    assert found["il1s"] == pytest.approx(expected["il1s_mean"], abs=1e-9)
    assert found["correlations"] == pytest.approx(expected["corr_mean_abs"], abs=1e-9)
    assert found["singular"] == (file == "CASCrefmicrodata")  # its totals are sums of others
    assert found["means"] == pytest.approx(0, abs=1e-12)
    # means of groups take away what varies within: SSE % is the mean loss of variance
    sse = expected["sse_percent"] / 100
    assert found["variances"] == pytest.approx(sse, rel=1e-6)


@needs_golden
def test_univariate_microaggregation_loses_what_is_published() -> None:
    expected = golden("univariate")
    t = tables.load(SDC / "Tarragona.csv", qi=expected["columns"])
    found = tables.loss(t, tables.protect(t, f"univariate(k={expected['k']})"))
    by_column = [found.columns[name]["il1s"] for name in expected["columns"]]
    assert np.mean(by_column) == pytest.approx(expected["il1s_mean"], abs=1e-9)
    assert found.columns["NET.PROFIT"]["il1s"] == 0


def test_a_table_loses_nothing_against_itself() -> None:
    t = town()
    found = tables.loss(t, t)
    for name, value in found.overall.items():
        if name not in ("left_out", "constant", "singular"):
            assert value == pytest.approx(0, abs=1e-12), name
    assert set(found.columns) == set(t.columns)


def test_figures_of_numbers_by_hand() -> None:
    t = tables.load({"x": [0.0, 2.0, 4.0, None], "c": [7, 7, 7, 7]})
    r = tables.load({"x": [1.0, 2.0, None, None], "c": [7, 7, 8, 7]})
    found = tables.loss(t, r)
    sd = np.std([0, 2, 4], ddof=1)
    x = found.columns["x"]
    assert x["il1s"] == pytest.approx(0.5 / (math.sqrt(2) * sd))
    assert x["mae"] == pytest.approx(0.5 / sd)
    assert x["mse"] == pytest.approx(0.5 / sd**2)
    assert x["mean_variation"] == 0  # of the 2 alone: the 0 is left out
    assert x["left_out"] == 1
    assert x["blanked"] == pytest.approx(1 / 3)
    assert x["means"] == pytest.approx((1.5 - 2) / sd)
    assert x["variances"] == pytest.approx(0.5 / 4 - 1)
    assert "c" not in found.columns  # without variation: left out, and counted
    assert found.overall["constant"] == 1


def test_changes_of_means_do_not_cancel() -> None:
    t = tables.load({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    r = tables.load({"x": [2.0, 3.0, 4.0], "y": [0.0, 1.0, 2.0]})
    found = tables.loss(t, r)
    assert (found.columns["x"]["means"], found.columns["y"]["means"]) == (1, -1)
    assert found.overall["means"] == 1


def test_figures_of_categories_by_hand() -> None:
    t = tables.load(
        {"a": ["x", "x", "y", "z"], "b": ["u", "v", "u", "v"]},
        hierarchies={"a": [["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]]},
    )
    r = tables.load({"a": ["xy", "x", "z", None], "b": ["u", "v", "u", "v"]})
    found = tables.loss(t, r)
    a = found.columns["a"]
    assert a["direct"] == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)  # generalised, kept, changed
    # shares of x, y, z: before 2/4, 1/4, 1/4; after (1/2 + 1 + 1/3)/4, (1/2 + 1/3)/4, (1 + 1/3)/4
    assert a["contingency"] == pytest.approx((abs(2 - 11 / 6) + 1 / 6 + 1 / 3) / 8)
    assert a["entropy"] == 0  # every label is of one row
    assert found.columns["b"] == {"contingency": 0, "direct": 0, "entropy": 0}
    one = tables.loss(t, r, order=1).overall["contingency"]
    assert one == pytest.approx(a["contingency"] / 2)
    assert found.overall["contingency"] > one


def test_entropy_is_what_a_label_leaves_open() -> None:
    t = tables.load({"a": ["x", "y", "x", "y", "z", "z"]})
    r = tables.load({"a": ["*", "*", "*", "*", "z", "z"]})
    assert tables.loss(t, r).columns["a"]["entropy"] == pytest.approx(4 / 6)
    assert tables.loss(t, t.take(np.array([4, 4, 4, 4, 0, 2]))).overall["entropy"] > 0


def test_removed_rows_count_apart_and_never_as_zeros() -> None:
    t = town()
    kept = tables.protect(t, "sample(rate=0.5)", rng=1)
    found = tables.loss(t, kept).overall
    assert found["share_removed"] == 0.5
    assert found["il1s"] == found["direct"] == found["contingency"] == 0
    assert found["means"] > 0  # of half of the rows


def test_of_synthetic_rows_distributions_alone_are_compared() -> None:
    t = town()
    names = ("age", "wage")
    made = tables.protect(t, "cholesky()", columns=names, rng=1)
    assert made.rows is None
    found = tables.loss(t, made, columns=names).overall
    assert {"means", "variances", "correlations", "covariances"} <= set(found)
    assert not {"il1s", "mse", "direct", "entropy"} & set(found)
    with pytest.raises(InputError, match="synthetic"):
        tables.utility(t, made, "cells", columns=names)


@pytest.mark.parametrize("scale", [0.1, 0.3])
def test_noise_loses_as_its_law_says(scale: float, rng: Generator) -> None:
    n = 20_000
    t = tables.load({"x": rng.normal(size=n), "y": rng.normal(size=n)}, qi=["x", "y"])
    found = tables.loss(t, tables.protect(t, f"noise(scale={scale})", rng=2)).overall
    mean = scale * math.sqrt(2 / math.pi)
    assert found["mae"] == pytest.approx(mean, rel=0.02)
    assert found["il1s"] == pytest.approx(mean / math.sqrt(2), rel=0.02)
    assert found["variances"] == pytest.approx(scale**2, abs=0.02)


def test_a_column_made_constant_has_no_correlation_left() -> None:
    t = tables.load({"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]})
    r = tables.load({"x": [2.5] * 4, "y": [1.0, 2.0, 3.0, 4.0]})
    assert tables.loss(t, r).overall["correlations"] == pytest.approx(1)


def test_what_is_not_comparable_is_refused() -> None:
    t = town()
    with pytest.raises(InputError, match="no column in common"):
        tables.loss(t, tables.load({"other": [1, 2]}))
    with pytest.raises(ParameterError, match="order"):
        tables.loss(t, t, order=3)
    with pytest.raises(InputError, match="no column 'agee'"):
        tables.loss(t, t, columns=["agee"])
    with pytest.raises(InputError, match="a release or another table"):
        tables.loss(t, "out.csv")  # type: ignore[arg-type]
    release = tables.protect(t, "generalise(level=1)", columns=["age"])
    with pytest.raises(InputError, match="do not fit"):
        tables.loss(t.take(np.arange(20)), release)


def test_a_plain_table_of_other_rows_is_no_release_row_by_row() -> None:
    t = town()
    fewer = t.take(np.arange(30))
    with pytest.raises(InputError, match=r"Row i of a released table .* 30 and 60 rows"):
        tables.loss(t, fewer)
    assert 0 < tables.utility(t, fewer, "marginals") < 1  # distributions can be compared
    with pytest.raises(InputError, match="is not known"):
        tables.utility(t, fewer, "cells")
    nobody = tables.Release(fewer, "another program", nothing())
    found = tables.loss(t, nobody).overall  # as of synthetic data
    assert "il1s" not in found
    assert found["means"] > 0


@pytest.mark.parametrize("who", ["original", "release"])
def test_infinite_numbers_are_not_compared(who: str) -> None:
    plain, infinite = (tables.load({"x": [1.0, 2.0, last]}, qi=["x"]) for last in (3.0, np.inf))
    pair = (infinite, plain) if who == "original" else (plain, infinite)
    for verb in (tables.loss, tables.utility, tables.quality):
        with pytest.raises(InputError, match="infinite numbers"):
            verb(*pair)


def test_columns_without_a_role_that_nothing_changed_do_not_thin_the_loss_out() -> None:
    held = {"x": [0.0, 2.0, 4.0], "y": [1.0, 5.0, 0.0], "z": [3.0, 1.0, 2.0]}
    t = tables.load(held, qi=["x"])
    r = tables.load(held | {"x": [1.0, 2.0, 3.0]})
    found = tables.loss(t, r)
    assert found.overall["il1s"] == found.columns["x"]["il1s"] > 0
    assert found.columns["y"]["il1s"] == 0  # by column all are there
    both = tables.loss(t, tables.load(held | {"x": [1.0, 2.0, 3.0], "y": [1.0, 4.0, 0.0]}))
    means = [both.columns[name]["il1s"] for name in ("x", "y")]
    assert both.overall["il1s"] == pytest.approx(sum(means) / 2)  # one that changed counts
    assert tables.loss(t, r, columns=["x", "z"]).overall["il1s"] == found.overall["il1s"] / 2
