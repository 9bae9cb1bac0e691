"""Suppression: every sensitive cell has its room, nothing more than needed is left out."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.tables.counts.enumeration import tables_within

from veil import tables
from veil.core.errors import InputError, VeilError
from veil.core.types import Floats
from veil.tables.cells import suppress
from veil.tables.cells.audit import Audit, intervals
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import Bounds, CellRelease, Mask
from veil.tables.cells.solver import Flows
from veil.tables.cells.suppress import Suppress, require_room

pytestmark = pytest.mark.filterwarnings("ignore:Nearly every row")
few = settings(max_examples=20, deadline=None, derandomize=True)


def keeps_room(release: CellRelease, cells: Cells, need: float) -> None:
    every = tables_within(release.axes, release.bounds)
    if every is None:
        return
    values = cells.margins[release.primary]
    assert (every.min(0)[release.primary] <= np.maximum(0, values - need)).all()
    assert (every.max(0)[release.primary] >= values + need).all()


@few
@given(arrays(np.float64, (3, 3), elements=st.integers(0, 7)))
def test_all_tables_that_fit_leave_room(values: Floats) -> None:
    cells = tables.tabulate(values)
    assume(values.sum() >= 3)
    try:
        release = tables.protect(cells, "suppress(threshold=3, protection=2)")
    except InputError:
        return
    published = ~release.suppressed
    np.testing.assert_array_equal(release.margins[published], cells.margins[published])
    small = (cells.margins > 0) & (cells.margins < 3)
    np.testing.assert_array_equal(release.primary, small)
    assert release.suppressed[small].all()
    assert not (release.suppressed & (cells.margins == 0)).any()
    assert not release.suppressed[-1, -1]
    keeps_room(release, cells, 2)


@pytest.mark.parametrize("seed", [1, 14, 16, 17])
def test_no_suppressed_cell_can_be_published_again(seed: int) -> None:
    cells = tables.tabulate(np.random.default_rng(seed).integers(1, 25, (5, 5)))
    release = tables.protect(cells, "suppress(threshold=5)")
    for place in np.argwhere(release.suppressed & ~release.primary):
        hidden = release.suppressed.copy()
        hidden[tuple(place)] = False
        bounds = Bounds(
            np.where(hidden, 0.0, cells.margins), np.where(hidden, np.inf, cells.margins)
        )
        with pytest.raises(InputError, match="too closely"):
            require_room(
                intervals(cells.axes, bounds, whole=True),
                cells,
                Suppress(threshold=5).sensitive(cells),
            )


def test_three_axes() -> None:
    values = np.array([[[9, 9, 8], [7, 2, 9], [8, 9, 9]], [[9, 8, 9], [9, 9, 7], [9, 9, 1]]])
    cells = tables.tabulate(values)
    release = tables.protect(cells, "suppress(threshold=3)")
    assert release.primary.sum() == 2
    assert release.suppressed.sum() > 6
    found = tables.audit(release)
    assert found.low[0, 1, 1] == 0
    assert found.high[0, 1, 1] >= 5
    assert found.high[1, 2, 2] >= 4
    assert tables.attack(cells, release, "intervals").risk == 0


def test_one_axis() -> None:
    cells = tables.tabulate([2, 9, 6, 50])
    release = tables.protect(cells, "suppress(threshold=3)")
    assert np.isnan(release.values).tolist() == [True, False, True, False]
    assert release.margins[-1] == 67


def test_zeros_stay_unless_they_may_go() -> None:
    values = [[2, 0, 0], [0, 9, 9], [0, 9, 9]]
    with_sums = tables.protect(tables.tabulate(values), "suppress(threshold=3)")
    assert not np.isnan(with_sums.values[tables.tabulate(values).values == 0]).any()
    assert with_sums.suppressed[0, -1]  # a row total: no set of cells alone would do
    assert with_sums.suppressed[-1, 0]
    release = tables.protect(tables.tabulate([[2, 0, 8], [0, 9, 9], [9, 9, 0]]),
                             "suppress(threshold=3, zeros=true)")  # fmt: skip
    assert release.suppressed[:-1, :-1].sum() >= 4
    assert not release.suppressed[-1].any()


def test_sums_are_taken_only_where_cells_do_not_do() -> None:
    cells = tables.tabulate([[2, 20, 20], [20, 20, 20], [20, 20, 20]])
    release = tables.protect(cells, "suppress(threshold=3)")
    assert not release.suppressed[-1].any()
    assert not release.suppressed[:, -1].any()
    assert release.suppressed.sum() == 4


def test_small_sums_are_sensitive_too() -> None:
    cells = tables.tabulate([[1, 1, 0], [30, 20, 25], [30, 20, 25]])
    release = tables.protect(cells, "suppress(threshold=3)")
    assert release.primary[0].tolist() == [True, True, False, True]
    assert release.suppressed[0, -1]
    assert release.suppressed[1:, -1].any()  # else the column of sums gives it away


def test_a_table_without_small_counts_is_published_whole() -> None:
    release = tables.protect(tables.tabulate([[9, 0], [8, 7]]), "suppress")
    assert not release.suppressed.any()
    assert not release.primary.any()
    assert "suppress(threshold=5" in release.mechanism
    assert release.cost.kind == "none"
    assert not release.seeded


def test_what_cannot_be_protected_is_not_published() -> None:
    with pytest.raises(InputError, match="cannot be protected"):
        tables.protect(tables.tabulate([[2, 0], [0, 4]]), "suppress")
    with pytest.raises(InputError, match="grand total"):
        tables.protect(tables.tabulate([[1, 0], [0, 2]]), "suppress")


def test_a_release_that_fails_its_audit_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def primary_alone(table: Flows) -> Mask:
        return table.wanted.cells

    monkeypatch.setattr(suppress, "suppressed", primary_alone)
    with pytest.raises(InputError, match="1 sensitive cells"):
        tables.protect(tables.tabulate([[1, 9], [9, 9]]), "suppress")


def test_protection_is_what_is_asked_for() -> None:
    cells = tables.tabulate([[1, 9, 30], [9, 9, 30], [30, 30, 30]])
    for need in (1, 7.5, 20):
        release = tables.protect(cells, f"suppress(threshold=2, protection={need})")
        found = tables.audit(release)
        assert found.high[0, 0] >= 1 + need


def company(rows: list[tuple[str, str, str, float]]) -> tables.Table:
    names = ("place", "trade", "firm", "sales")
    return tables.load(
        {name: [row[i] for row in rows] for i, name in enumerate(names)}, qi=["place", "trade"]
    )


SALES = [
    ("north", "mill", "a", 900.0), ("north", "mill", "b", 60.0), ("north", "mill", "c", 20.0),
    ("north", "shop", "d", 300.0), ("north", "shop", "e", 280.0), ("north", "shop", "f", 260.0),
    ("south", "mill", "g", 310.0), ("south", "mill", "h", 290.0), ("south", "mill", "i", 270.0),
    ("south", "shop", "j", 400.0), ("south", "shop", "k", 390.0), ("south", "shop", "l", 380.0),
]  # fmt: skip


def test_p_percent_judges_cells_and_sums() -> None:
    cells = tables.tabulate(company(SALES), ["place", "trade"], "sales")
    wanted = Suppress(rule="p_percent(p=10)").sensitive(cells)
    assert np.argwhere(wanted.cells).tolist() == [[0, 0]]
    assert wanted.protection[0, 0] == pytest.approx(0.1 * 900 - 20)
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    assert release.suppressed.sum() == 4
    found = tables.audit(release)
    assert found.high[0, 0] >= 980 + 70 - 1e-3
    assert found.low[0, 0] <= 980 - 70 + 1e-3
    assert tables.attack(cells, release, "intervals").risk == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 3e8])
def test_the_unit_of_sums_does_not_matter(scale: float) -> None:
    rows = [(place, trade, firm, scale * amount) for place, trade, firm, amount in SALES]
    cells = tables.tabulate(company(rows), ["place", "trade"], "sales")
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    assert release.suppressed.sum() == 4
    found = tables.audit(release)
    np.testing.assert_allclose(found.high[0, :2], [1820 * scale, 1820 * scale], rtol=1e-6)
    assert not found.known[release.suppressed].any()
    assert tables.attack(cells, release, "intervals").risk == pytest.approx(0, abs=1e-6)


def test_dominance_judges_by_the_largest_units_together() -> None:
    two = company([*SALES, ("north", "shop", "d", 900.0)])
    each = tables.tabulate(two, ["place", "trade"], "sales")
    together = tables.tabulate(two, ["place", "trade"], "sales", unit="firm")
    rule = "dominance(n=1, share=0.6)"
    assert Suppress(rule=rule).sensitive(each).cells[0].tolist() == [True, False, False]
    found = Suppress(rule=rule).sensitive(together)
    assert found.cells[0].tolist() == [True, True, False]
    assert found.protection[0, 1] == pytest.approx(1200 / 0.6 - 1740)
    assert not found.cells[-1, -1]
    sums = tables.tabulate(company([*SALES, ("west", "mill", "z", 9000.0)]),
                           ["place", "trade"], "sales")  # fmt: skip
    judged = Suppress(rule=rule).sensitive(sums).cells
    assert judged[2].tolist() == [True, False, True]  # a zero is not sensitive; the sum is
    assert judged[-1].tolist() == [True, False, True]


def test_nested_categories_are_protected_through_their_subtotals() -> None:
    places = ["a"] * 2 + ["b"] * 30 + ["c"] * 40 + ["d"] * 50
    levels = [["a", "low", "*"], ["b", "low", "*"], ["c", "high", "*"], ["d", "high", "*"]]
    t = tables.load({"x": places}, qi=["x"], hierarchies={"x": levels})
    cells = tables.tabulate(t, ["x"], nested=["x"])
    release = tables.protect(cells, "suppress(threshold=3)")
    assert release.suppressed.tolist() == [True, True, False, False, False, False, False]


@pytest.mark.parametrize(
    ("values", "spec", "words"),
    [
        ([[1.5, 2]], "suppress", "not whole"),
        ([[1, 2]], "suppress(threshold=0)", "threshold"),
        ([[1, 2]], "suppress(protection=0)", "protection"),
        ([[1, 2]], "suppress(rule='p_percent(p=10)')", "contributions"),
        ([[1, 2]], "suppress(rule=nothing)", "No rule"),
        ([[1, 2]], "supress", "No method for cells"),
        ([[1.5, 2]], "cta", "not whole"),
        ([[1.5, 2]], "sample(rate=0.5)", "sampled"),
    ],
)
def test_bad_input_is_named(values: list[list[float]], spec: str, words: str) -> None:
    with pytest.raises(VeilError, match=words):
        tables.protect(tables.tabulate(values), spec)


def test_a_threshold_is_not_for_sums() -> None:
    cells = tables.tabulate(company(SALES), ["place", "trade"], "sales")
    with pytest.raises(InputError, match="p_percent"):
        tables.protect(cells, "suppress(threshold=5)")


def test_no_message_quotes_a_number_of_the_table() -> None:
    with pytest.raises(InputError) as caught:
        tables.protect(tables.tabulate([[31, 0], [0, 77]]), "suppress(threshold=100)")
    assert "31" not in str(caught.value)
    assert "77" not in str(caught.value)


def test_audits_of_no_cell_are_whole() -> None:
    found = tables.audit(tables.protect(tables.tabulate([[9, 8]]), "suppress"))
    assert isinstance(found, Audit)
    assert found.known.all()
