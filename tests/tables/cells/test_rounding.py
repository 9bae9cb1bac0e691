"""Rounding of cells: to the nearest, at random without bias, and so that sums add up."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.tables.cells import adjust
from veil.tables.cells.cells import Cells, full_table

few = settings(max_examples=40, deadline=None, derandomize=True)


def adjacent(full: Floats, made: Floats, base: int) -> None:
    assert (made % base == 0).all()
    assert (np.abs(made - full) < base).all()


@few
@given(st.integers(2, 7), arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(1, 5)),
                                 elements=st.integers(0, 20)))  # fmt: skip
def test_controlled_rounding_adds_up_and_goes_next_door(base: int, values: Floats) -> None:
    cells = tables.tabulate(values)
    release = tables.protect(cells, f"round(base={base}, how='controlled')")
    adjacent(cells.margins, release.margins, base)
    np.testing.assert_array_equal(release.margins, full_table(release.values, release.axes))
    assert release.additive
    assert not release.seeded


def test_controlled_rounding_is_the_least_change() -> None:
    values = np.array([[1.0, 4.0], [7.0, 2.0]])
    cells = tables.tabulate(values)
    release = tables.protect(cells, "round(base=5, how=controlled)")
    least = np.inf
    for ups in product((0, 5), repeat=4):
        table = full_table(np.floor(values / 5) * 5 + np.reshape(ups, (2, 2)), cells.axes)
        if (np.abs(table - cells.margins) < 5).all():
            least = min(least, np.abs(table - cells.margins).sum())
    assert np.abs(release.margins - cells.margins).sum() == least


def test_controlled_rounding_on_three_axes() -> None:
    values = np.random.default_rng(3).integers(0, 30, (3, 4, 2))
    cells = tables.tabulate(values)
    release = tables.protect(cells, "round(base=5, how='controlled')")
    adjacent(cells.margins, release.margins, 5)
    np.testing.assert_array_equal(release.margins, full_table(release.values, release.axes))


def test_what_cannot_be_rounded_that_way_is_not_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """On three axes there may be none; small ones are too rare to search for."""
    monkeypatch.setattr(adjust, "solve", lambda *_, **__: None)
    with pytest.raises(InputError, match="No controlled rounding"):
        tables.protect(tables.tabulate(np.ones((2, 2, 2))), "round(how=controlled)")


def test_random_rounding_has_no_bias() -> None:
    values = np.tile(np.arange(5.0), 4000).reshape(100, 200)
    release = tables.protect(tables.tabulate(values), "round(base=5, how=random)", rng=4)
    adjacent(values, release.values, 5)
    for count in range(5):
        ups = (release.values[values == count] > count).mean()
        assert ups == pytest.approx(count / 5, abs=5 * np.sqrt(0.25 / 4000))
    assert release.seeded
    assert not tables.protect(tables.tabulate(values[:1]), "round(how=random)").seeded


def test_nearest_ties_go_to_the_even_multiple() -> None:
    release = tables.protect(tables.tabulate([2, 6, 10, 3, 5]), "round(base=4)", rng=1)
    assert release.values.tolist() == [0, 8, 8, 4, 4]
    assert not release.additive
    assert not release.seeded  # nothing is drawn


def test_sums_can_be_rounded() -> None:
    t = tables.load(
        {"x": ["a", "b", "b"], "pay": [1.5, 7.25, 9.0]}, qi=["x"], confidential=["pay"]
    )
    cells = tables.tabulate(t, ["x"], "pay")
    for how in ("nearest", "random", "controlled"):
        release = tables.protect(cells, f"round(base=5, how={how})", rng=1)
        assert (release.bounds.low <= cells.margins).all()
        assert (release.bounds.high >= cells.margins).all()


def test_some_cells_have_fewer_candidates_than_the_base() -> None:
    """Of random tables of 4 x 4, about 5 % of the cells at base 3, and 8 % at base 5."""
    generator = np.random.default_rng(1)
    for base, share in ((3, 0.05), (5, 0.08)):
        figures = []
        for _ in range(30):
            cells = tables.tabulate(generator.integers(0, 50, (4, 4)))
            release = tables.protect(cells, f"round(base={base})")
            details = tables.attack(cells, release, "intervals").details
            figures.append(float(str(details["fewer_than_base"])))
        assert np.mean(figures) == pytest.approx(share, abs=0.04)
        assert np.mean(figures) > 0.01


def test_bad_parameters_are_named() -> None:
    cells: Cells = tables.tabulate([[1, 2]])
    with pytest.raises(ParameterError, match="base"):
        tables.protect(cells, "round(base=1)")
    with pytest.raises(ParameterError, match="how"):
        tables.protect(cells, "round(how=up)")
