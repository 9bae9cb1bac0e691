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
    expected, result = golden("mdav")[file][str(k)], mdav(file, k).overall
    assert result["il1s"] == pytest.approx(expected["il1s_mean"], abs=1e-9)
    assert result["correlations"] == pytest.approx(expected["corr_mean_abs"], abs=1e-9)
    assert result["singular"] == (file == "CASCrefmicrodata")  # its totals are sums of others
    assert result["means"] == pytest.approx(0, abs=1e-12)
    # means of groups take away what varies within: SSE % is the mean loss of variance
    sse = expected["sse_percent"] / 100
    assert result["variances"] == pytest.approx(sse, rel=1e-6)


@needs_golden
def test_univariate_microaggregation_loses_what_is_published() -> None:
    expected = golden("univariate")
    t = tables.load(SDC / "Tarragona.csv", qi=expected["columns"])
    losses = tables.loss(t, tables.protect(t, f"univariate(k={expected['k']})"))
    by_column = [losses.columns[name]["il1s"] for name in expected["columns"]]
    assert np.mean(by_column) == pytest.approx(expected["il1s_mean"], abs=1e-9)
    assert losses.columns["NET.PROFIT"]["il1s"] == 0


def test_a_table_loses_nothing_against_itself() -> None:
    t = town()
    losses = tables.loss(t, t)
    for name, value in losses.overall.items():
        if name not in ("left_out", "constant", "singular"):
            assert value == pytest.approx(0, abs=1e-12), name
    assert set(losses.columns) == set(t.columns)


def test_figures_of_numbers_by_hand() -> None:
    t = tables.load({"x": [0.0, 2.0, 4.0, None], "c": [7, 7, 7, 7]})
    r = tables.load({"x": [1.0, 2.0, None, None], "c": [7, 7, 8, 7]})
    losses = tables.loss(t, r)
    sd = np.std([0, 2, 4], ddof=1)
    x = losses.columns["x"]
    assert x["il1s"] == pytest.approx(0.5 / (math.sqrt(2) * sd))
    assert x["mae"] == pytest.approx(0.5 / sd)
    assert x["mse"] == pytest.approx(0.5 / sd**2)
    assert x["mean_variation"] == 0  # of the 2 alone: the 0 is left out
    assert x["left_out"] == 1
    assert x["blanked"] == pytest.approx(1 / 3)
    assert x["means"] == pytest.approx((1.5 - 2) / sd)
    assert x["variances"] == pytest.approx(0.5 / 4 - 1)
    assert "c" not in losses.columns  # without variation: left out, and counted
    assert losses.overall["constant"] == 1


def test_changes_of_means_do_not_cancel() -> None:
    t = tables.load({"x": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    r = tables.load({"x": [2.0, 3.0, 4.0], "y": [0.0, 1.0, 2.0]})
    losses = tables.loss(t, r)
    assert (losses.columns["x"]["means"], losses.columns["y"]["means"]) == (1, -1)
    assert losses.overall["means"] == 1


def test_figures_of_categories_by_hand() -> None:
    t = tables.load(
        {"a": ["x", "x", "y", "z"], "b": ["u", "v", "u", "v"]},
        hierarchies={"a": [["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]]},
    )
    r = tables.load({"a": ["xy", "x", "z", None], "b": ["u", "v", "u", "v"]})
    losses = tables.loss(t, r)
    a = losses.columns["a"]
    assert a["direct"] == pytest.approx((2 / 3 + 0 + 1 + 1) / 4)  # generalised, kept, changed
    # shares of x, y, z: before 2/4, 1/4, 1/4; after (1/2 + 1 + 1/3)/4, (1/2 + 1/3)/4, (1 + 1/3)/4
    assert a["contingency"] == pytest.approx((abs(2 - 11 / 6) + 1 / 6 + 1 / 3) / 8)
    assert a["entropy"] == 0  # every label is of one row
    assert losses.columns["b"] == {"contingency": 0, "direct": 0, "entropy": 0}
    item = tables.loss(t, r, order=1).overall["contingency"]
    assert item == pytest.approx(a["contingency"] / 2)
    assert losses.overall["contingency"] > item


def test_entropy_is_what_a_label_leaves_open() -> None:
    t = tables.load({"a": ["x", "y", "x", "y", "z", "z"]})
    r = tables.load({"a": ["*", "*", "*", "*", "z", "z"]})
    assert tables.loss(t, r).columns["a"]["entropy"] == pytest.approx(4 / 6)
    assert tables.loss(t, t.take(np.array([4, 4, 4, 4, 0, 2]))).overall["entropy"] > 0


def test_removed_rows_count_apart_and_never_as_zeros() -> None:
    t = town()
    release = tables.protect(t, "sample(rate=0.5)", rng=1)
    losses = tables.loss(t, release).overall
    assert losses["share_removed"] == 0.5
    assert losses["il1s"] == losses["direct"] == losses["contingency"] == 0
    assert losses["means"] > 0  # of half of the rows


def test_of_synthetic_rows_distributions_alone_are_compared() -> None:
    t = town()
    names = ("age", "wage")
    release = tables.protect(t, "cholesky()", columns=names, rng=1)
    assert release.rows is None
    losses = tables.loss(t, release, columns=names).overall
    assert {"means", "variances", "correlations", "covariances"} <= set(losses)
    assert not {"il1s", "mse", "direct", "entropy"} & set(losses)
    with pytest.raises(InputError, match="synthetic"):
        tables.utility(t, release, "cells", columns=names)


@pytest.mark.parametrize("scale", [0.1, 0.3])
def test_noise_loses_as_its_law_says(scale: float, rng: Generator) -> None:
    n = 20_000
    t = tables.load({"x": rng.normal(size=n), "y": rng.normal(size=n)}, qi=["x", "y"])
    losses = tables.loss(t, tables.protect(t, f"noise(scale={scale})", rng=2)).overall
    mean = scale * math.sqrt(2 / math.pi)
    assert losses["mae"] == pytest.approx(mean, rel=0.02)
    assert losses["il1s"] == pytest.approx(mean / math.sqrt(2), rel=0.02)
    assert losses["variances"] == pytest.approx(scale**2, abs=0.02)


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
    with pytest.raises(InputError, match="a Release or a table"):
        tables.loss(t, "out.csv")  # type: ignore[arg-type]
    release = tables.protect(t, "generalise(level=1)", columns=["age"])
    with pytest.raises(InputError, match="do not match"):
        tables.loss(t.take(np.arange(20)), release)


def test_a_plain_table_of_other_rows_is_no_release_row_by_row() -> None:
    t = town()
    fewer = t.take(np.arange(30))
    with pytest.raises(InputError, match=r"Row i of a released table .* 30 and 60 rows"):
        tables.loss(t, fewer)
    assert 0 < tables.utility(t, fewer, "marginals") < 1  # distributions can be compared
    with pytest.raises(InputError, match="is unknown"):
        tables.utility(t, fewer, "cells")
    nobody = tables.Release(fewer, "another program", nothing())
    losses = tables.loss(t, nobody).overall  # as of synthetic data
    assert "il1s" not in losses
    assert losses["means"] > 0


@pytest.mark.parametrize("who", ["original", "release"])
def test_infinite_numbers_are_not_compared(who: str) -> None:
    baseline, infinite = (tables.load({"x": [1.0, 2.0, last]}, qi=["x"]) for last in (3.0, np.inf))
    pair = (infinite, baseline) if who == "original" else (baseline, infinite)
    for verb in (tables.loss, tables.utility, tables.quality):
        with pytest.raises(InputError, match="finite numbers"):
            verb(*pair)


def test_columns_without_a_role_that_nothing_changed_do_not_thin_the_loss_out() -> None:
    columns = {"x": [0.0, 2.0, 4.0], "y": [1.0, 5.0, 0.0], "z": [3.0, 1.0, 2.0]}
    t = tables.load(columns, qi=["x"])
    r = tables.load(columns | {"x": [1.0, 2.0, 3.0]})
    losses = tables.loss(t, r)
    assert losses.overall["il1s"] == losses.columns["x"]["il1s"] > 0
    assert losses.columns["y"]["il1s"] == 0  # by column all are there
    combined = tables.loss(t, tables.load(columns | {"x": [1.0, 2.0, 3.0], "y": [1.0, 4.0, 0.0]}))
    means = [combined.columns[name]["il1s"] for name in ("x", "y")]
    assert combined.overall["il1s"] == pytest.approx(sum(means) / 2)  # one that changed counts
    assert tables.loss(t, r, columns=["x", "z"]).overall["il1s"] == losses.overall["il1s"] / 2
