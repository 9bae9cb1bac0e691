"""Quality: published figures, plain sums, and None where a release is no generalisation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.golden import ADULT, golden, needs_golden
from tests.tables.mechanisms.brute import Case, cases, losses

from veil import tables
from veil.core.errors import InputError
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
QI = ("sex", "age", "race", "marital-status", "education", "native-country")


@needs_golden
def test_adult_is_as_published() -> None:
    expected = golden("quality")
    table = tables.load(
        ADULT / "adult.csv",
        qi=QI,
        hierarchies={name: ADULT / f"adult_hierarchy_{name}.csv" for name in QI},
        sep=";",
    )
    release = tables.protect(table, "ola(k=10, suppression=0.05, minimise='dm')")
    figures = tables.quality(table, release)
    assert figures.discernibility == expected["discernibility"]
    assert figures.c_avg == pytest.approx(expected["c_avg"], rel=1e-12)
    assert figures.precision == pytest.approx(expected["precision"], rel=1e-12)
    assert figures.entropy_bits == pytest.approx(
        expected["entropy_bits_suppressed_as_root"], rel=1e-12
    )
    assert figures.ncp == pytest.approx(expected["ncp"], rel=1e-12)
    assert release.suppressed == expected["suppressed"]


@settings(max_examples=60)
@given(cases(), st.sampled_from([0.0, 0.3]), st.sampled_from(["dm", "entropy", "ncp"]))
def test_quality_is_what_the_search_minimised(
    case: Case, suppression: float, minimise: str
) -> None:
    table = case.table
    spec = f"ola(k=2, suppression={suppression}, minimise='{minimise}')"
    release = tables.protect(table, spec)
    assert release.rows is not None
    gone = set(range(len(table))) - set(release.rows.tolist())
    node = tuple(release.levels[name] for name in table.qi)
    figures = tables.quality(table, release)
    assert figures.discernibility == losses(case, node, gone, "dm")
    assert figures.entropy_bits == pytest.approx(losses(case, node, gone, "entropy"), abs=1e-9)
    assert figures.ncp == pytest.approx(losses(case, node, gone, "ncp"), abs=1e-9)
    assert figures.precision == pytest.approx(1 - losses(case, node, gone, "precision"))


def people() -> Table:
    return tables.load(
        {
            "age": [20.0, 30.0, 40.0, 60.0],
            "town": ["Rome", "Oslo", "Bern", "Rome"],
            "ill": ["a", "b", "a", "b"],
        },
        qi=["age", "town"],
        confidential=["ill"],
    )


def test_intervals_and_sets_are_read() -> None:
    table = people()
    release = tables.protect(table, "mondrian(k=2)")
    assert release.table["age"].tolist() == ["[20-30]", "[20-30]", "[40-60]", "[40-60]"]
    figures = tables.quality(table, release)
    assert figures.discernibility == 8
    assert figures.c_avg == 1.0
    assert figures.precision is None
    towns = 4 * 2 / 3  # {Oslo, Rome} and {Bern, Rome} are two of three
    assert figures.ncp == pytest.approx((2 * 0.25 + 2 * 0.5 + towns) / 8)
    rome, other = 3 / 2, 3 / 1  # rows of the set over rows of the town
    bits = [2.0, 2.0, 2.0, 2.0, rome, other, other, rome]
    assert figures.entropy_bits == pytest.approx(math.log2(math.prod(bits)))


def test_blanked_cells_count_as_the_top() -> None:
    table = people()
    blanked = table.changed(
        {"town": tables.load({"town": [None, "Oslo", None, "Rome"]}).column("town")}
    )
    figures = tables.quality(table, blanked)
    assert figures.ncp == pytest.approx(2 / 8)
    assert figures.precision == pytest.approx(1 - 2 / 8)
    assert figures.entropy_bits == pytest.approx(1 + 2)  # of 4 rows: 2 are of Rome, 1 of Bern


def test_the_original_has_lost_nothing() -> None:
    figures = tables.quality(people(), people())
    assert (figures.discernibility, figures.c_avg) == (4, 1.0)
    assert (figures.precision, figures.entropy_bits, figures.ncp) == (1.0, 0.0, 0.0)
    assert tables.quality(people(), people(), k=2).c_avg == 0.5


def test_what_is_no_generalisation_has_no_precision() -> None:
    table = people()
    for spec in ("noise(scale=0.5)", "pram(p=0.01)"):
        figures = tables.quality(table, tables.protect(table, spec, rng=3))
        assert figures.precision is figures.entropy_bits is figures.ncp is None
        assert figures.discernibility >= 4


def test_rows_must_correspond() -> None:
    table = people()
    ages = tables.load({"age": [20, 30, 40, 60]}, qi=["age"])
    with pytest.raises(InputError, match="is unknown"):
        tables.quality(ages, tables.protect(ages, "cholesky()", rng=1))
    with pytest.raises(InputError):
        tables.quality(table, table.take(np.array([1, 3])))
    with pytest.raises(InputError, match="No quasi-identifier"):
        tables.quality(tables.load({"a": [1, 2]}), tables.load({"a": [1, 2]}))
