"""Audits: what is concluded is exactly what all tables within the bounds have in common."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from tests.tables.cells.enumeration import tables_within

from veil import tables
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats
from veil.tables.cells import solver as reaching
from veil.tables.cells.audit import Audit, intervals
from veil.tables.cells.cells import Axis
from veil.tables.cells.release import Bounds, Mask
from veil.tables.cells.solver import solve

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
few = settings(max_examples=20, deadline=None, derandomize=True)


def hide(full: Floats, hidden: Mask) -> Bounds:
    return Bounds(np.where(hidden, 0.0, full), np.where(hidden, np.inf, full))


def same(found: Audit, axes: tuple[Axis, ...], bounds: Bounds) -> None:
    every = tables_within(axes, bounds)
    if every is None:
        return
    np.testing.assert_array_equal(found.low, every.min(0))
    np.testing.assert_array_equal(found.high, every.max(0))


@few
@given(
    arrays(np.float64, (2, 3), elements=st.integers(0, 3)),
    arrays(np.bool_, (3, 4), elements=st.booleans()),
)
def test_suppressed_cells_on_two_axes(
    values: Floats,
    hidden: Mask,
) -> None:
    cells = tables.tabulate(np.minimum(values, [[3, 2, 1], [1, 1, 1]]))
    hidden[-1, -1] = False
    bounds = hide(cells.margins, hidden)
    same(intervals(cells.axes, bounds, whole=True), cells.axes, bounds)


@few
@given(
    arrays(np.float64, (2, 2, 2), elements=st.integers(0, 1)),
    arrays(np.bool_, (3, 3, 3), elements=st.booleans()),
)
def test_suppressed_cells_on_three_axes(
    values: Floats,
    hidden: Mask,
) -> None:
    cells = tables.tabulate(values)
    hidden[-1, -1, -1] = False
    bounds = hide(cells.margins, hidden)
    bounds.high[:2, :2, :2] = np.minimum(bounds.high[:2, :2, :2], 2.0)  # fewer to go through
    same(intervals(cells.axes, bounds, whole=True), cells.axes, bounds)


@few
@given(st.sampled_from([2, 3, 4, 5]), arrays(np.float64, (2, 2), elements=st.integers(0, 12)))
def test_rounded_cells(base: int, values: Floats) -> None:
    cells = tables.tabulate(values)
    for how in ("nearest", "random", "controlled"):
        release = tables.protect(cells, f"round(base={base}, how={how})", rng=1)
        same(tables.audit(release), release.axes, release.bounds)


def test_bounds_of_nearest_are_just_what_rounds_there() -> None:
    for base in (2, 3, 4, 5, 10):
        counts = np.arange(0.0, 6.0 * base)
        release = tables.protect(tables.tabulate(counts), f"round(base={base})")
        masked, low, high = release.values, release.bounds.low[:-1], release.bounds.high[:-1]
        for value in set(masked[: 5 * base]):
            inside = counts[masked == value]
            assert low[masked == value].max() == low[masked == value].min() == inside.min()
            assert high[masked == value].max() == inside.max()


@few
@given(arrays(np.float64, (2, 3), elements=st.integers(0, 4)))
def test_flows_and_programs_agree(values: Floats) -> None:
    cells = tables.tabulate(values)
    release = tables.protect(cells, "round(base=3, how=random)", rng=2)
    by_flow = tables.audit(release)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reaching, "fits", lambda *_: False)
        by_program = tables.audit(release)
    np.testing.assert_array_equal(by_flow.low, by_program.low)
    np.testing.assert_array_equal(by_flow.high, by_program.high)


def test_sums_that_are_rounded_on_their_own_can_give_all_away() -> None:
    cells = tables.tabulate([[1, 1], [1, 1]])
    release = tables.protect(cells, "round(base=3)")
    assert release.margins.tolist() == [[0, 0, 3], [0, 0, 3], [3, 3, 3]]
    audited = tables.audit(release)
    np.testing.assert_array_equal(audited.low, cells.margins)
    np.testing.assert_array_equal(audited.high, cells.margins)
    attack = tables.attack(cells, release, "intervals")
    assert attack.risk == 1.0
    assert attack.details["fewer_than_base"] == 1


def test_nested_groups_add_equations() -> None:
    hierarchy = [["a", "low"], ["b", "low"], ["c", "high"], ["d", "high"]]
    rows = {"x": ["a"] * 3 + ["b"] * 5 + ["c"] * 7 + ["d"] * 2, "y": ["u"] * 17}
    t = tables.load(rows, hierarchies={"x": [[*row, "*"] for row in hierarchy]})
    cells = tables.tabulate(t, ["x"], nested=["x"])
    assert cells.axes[0].labels == ("a", "b", "c", "d", "low", "high", "*")
    assert cells.margins.tolist() == [3, 5, 7, 2, 8, 9, 17]
    hidden = np.array([True, True, True, True, False, False, False])
    bounds = hide(cells.margins, hidden)
    audited = intervals(cells.axes, bounds, whole=True)
    same(audited, cells.axes, bounds)
    assert audited.high.tolist() == [8, 8, 9, 9, 8, 9, 17]


def test_many_cells_on_three_axes_have_a_caveat(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = tables.tabulate(np.ones((2, 2, 2)))
    hidden = np.zeros((3, 3, 3), dtype=bool)
    hidden[:2, :2, :2] = True
    exact = intervals(cells.axes, hide(cells.margins, hidden), whole=True)
    assert not exact.caveat
    monkeypatch.setattr(reaching, "WHOLE_CELLS", 7)
    rough = intervals(cells.axes, hide(cells.margins, hidden), whole=True)
    assert "are integers" in rough.caveat
    assert (rough.low <= exact.low).all()
    assert (rough.high >= exact.high).all()


def test_whole_numbers_are_never_less_sharp_than_fractions_on_three_axes() -> None:
    generator = np.random.default_rng(5)
    for _ in range(2):
        cells = tables.tabulate(generator.integers(0, 2, (3, 3, 3)))
        hidden = np.zeros((4, 4, 4), dtype=bool)
        hidden[:3, :3, :3] = True
        bounds = hide(cells.margins, hidden)
        whole = intervals(cells.axes, bounds, whole=True)
        real = intervals(cells.axes, bounds, whole=False)
        assert (whole.low >= real.low - 1e-6).all()
        assert (whole.high <= real.high + 1e-6).all()
        assert (whole.low <= cells.margins).all()
        assert (whole.high >= cells.margins).all()


def test_whole_numbers_are_asked_for_where_fractions_fit() -> None:
    ring = sparse.csc_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]))
    item, zero, doubled = np.ones(3), np.zeros(3), np.full(3, 2.0)
    half = solve(item, ring, item, zero, doubled, whole=False)
    assert half is not None
    np.testing.assert_allclose(half, 0.5)
    assert solve(item, ring, item, zero, doubled, whole=True) is None
    whole = solve(item, ring, doubled, zero, doubled, whole=True)
    assert whole is not None
    assert whole.tolist() == [1, 1, 1]


def test_sums_have_real_intervals() -> None:
    amounts = {"x": ["a", "a", "b", "b"], "y": ["u", "v", "u", "v"], "pay": [1.5, 2.25, 3.0, 4.0]}
    cells = tables.tabulate(tables.load(amounts, qi=["x", "y"]), ["x", "y"], "pay")
    hidden = np.zeros((3, 3), dtype=bool)
    hidden[:2, :2] = True
    audited = intervals(cells.axes, hide(cells.margins, hidden), whole=False)
    assert audited.low[0, 0] == pytest.approx(0)
    assert audited.high[0, 0] == pytest.approx(3.75)
    assert audited.low[1, 1] == pytest.approx(2.5)


def test_a_release_that_contradicts_itself_is_refused() -> None:
    full = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [2.0, 2.0, 5.0]])
    high = full.copy()
    high[0, 0] = 2.0
    with pytest.raises(InputError, match="inconsistent"):
        intervals(tables.tabulate([[1, 1], [1, 1]]).axes, Bounds(full, high), whole=True)


def test_only_releases_of_cells_are_audited() -> None:
    for other in (3, tables.tabulate([[9, 9], [9, 9]])):
        with pytest.raises(InputError, match="audit needs a release of cells"):
            tables.audit(other)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="no columns"):
        tables.protect(tables.tabulate([[9, 9], [9, 9]]), "round", columns=["a"])  # type: ignore[call-overload]
