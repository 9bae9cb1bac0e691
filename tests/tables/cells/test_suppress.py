"""Suppression: every sensitive cell has its room, nothing more than needed is left out."""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from tests.tables.cells.enumeration import tables_within

from veil import tables
from veil.core.errors import InputError, VeilError
from veil.core.types import Floats
from veil.tables.cells import suppress
from veil.tables.cells.audit import Audit, intervals
from veil.tables.cells.cells import Cells
from veil.tables.cells.release import Bounds, CellRelease, Mask
from veil.tables.cells.solver import Flows
from veil.tables.cells.suppress import Suppress, require_room

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
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
    audited = tables.audit(release)
    assert audited.low[0, 1, 1] == 0
    assert audited.high[0, 1, 1] >= 5
    assert audited.high[1, 2, 2] >= 4
    assert tables.attack(cells, release, "intervals").risk == 0.0


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
        return table.sensitive.cells

    monkeypatch.setattr(suppress, "suppressed", primary_alone)
    with pytest.raises(InputError, match="1 sensitive cells"):
        tables.protect(tables.tabulate([[1, 9], [9, 9]]), "suppress")


def test_protection_is_what_is_asked_for() -> None:
    cells = tables.tabulate([[1, 9, 30], [9, 9, 30], [30, 30, 30]])
    for need in (1, 7.5, 20):
        release = tables.protect(cells, f"suppress(threshold=2, protection={need})")
        audited = tables.audit(release)
        assert audited.high[0, 0] >= 1 + need


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
    sensitive = Suppress(rule="p_percent(p=10)").sensitive(cells)
    assert np.argwhere(sensitive.cells).tolist() == [[0, 0]]
    assert sensitive.protection[0, 0] == pytest.approx(0.1 * 900 - 20)
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    assert release.suppressed.sum() == 4
    audited = tables.audit(release)
    assert audited.high[0, 0] >= 980 + 70 - 1e-3
    assert audited.low[0, 0] <= 980 - 70 + 1e-3
    assert tables.attack(cells, release, "intervals").risk == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 3e8])
def test_the_unit_of_sums_does_not_matter(scale: float) -> None:
    rows = [(place, trade, firm, scale * amount) for place, trade, firm, amount in SALES]
    cells = tables.tabulate(company(rows), ["place", "trade"], "sales")
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    assert release.suppressed.sum() == 4
    audited = tables.audit(release)
    np.testing.assert_allclose(audited.high[0, :2], [1820 * scale, 1820 * scale], rtol=1e-6)
    assert not audited.known[release.suppressed].any()
    assert tables.attack(cells, release, "intervals").risk == pytest.approx(0, abs=1e-6)


def test_dominance_judges_by_the_largest_units_together() -> None:
    doubled = company([*SALES, ("north", "shop", "d", 900.0)])
    cells = tables.tabulate(doubled, ["place", "trade"], "sales")
    together = tables.tabulate(doubled, ["place", "trade"], "sales", unit="firm")
    rule = "dominance(n=1, share=0.6)"
    assert Suppress(rule=rule).sensitive(cells).cells[0].tolist() == [True, False, False]
    result = Suppress(rule=rule).sensitive(together)
    assert result.cells[0].tolist() == [True, True, False]
    assert result.protection[0, 1] == pytest.approx(1200 / 0.6 - 1740)
    assert not result.cells[-1, -1]
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
        ([[1.5, 2]], "suppress", "not integers"),
        ([[1, 2]], "suppress(threshold=0)", "threshold"),
        ([[1, 2]], "suppress(protection=0)", "protection"),
        ([[1, 2]], "suppress(rule='p_percent(p=10)')", "contributions"),
        ([[1, 2]], "suppress(rule=nothing)", "No rule"),
        ([[1, 2]], "supress", "No mechanism for cells"),
        ([[1.5, 2]], "cta", "not integers"),
        ([[1.5, 2]], "sample(rate=0.5)", "sampled"),
    ],
)
def test_bad_input_is_named(values: list[list[float]], spec: str, words: str) -> None:
    with pytest.raises(VeilError, match=words):
        tables.protect(tables.tabulate(values), spec)


def test_a_threshold_of_sums_counts_contributors() -> None:
    table = company(SALES)
    cells = tables.tabulate(table, ["place", "trade"], "sales")
    givers = tables.tabulate(table, ["place", "trade"]).margins
    sensitive = Suppress(threshold=3).sensitive(cells)
    np.testing.assert_array_equal(sensitive.cells, (givers < 3) & (cells.margins > 0))
    np.testing.assert_allclose(
        sensitive.protection[sensitive.cells], 0.3 * cells.margins[sensitive.cells]
    )


def test_a_threshold_next_to_a_rule_counts() -> None:
    cells = tables.tabulate(company(SALES), ["place", "trade"], "sales")
    rule = Suppress(rule="p_percent(p=10)").sensitive(cells)
    few = Suppress(threshold=4).sensitive(cells)
    combined = Suppress(threshold=4, rule="p_percent(p=10)").sensitive(cells)
    assert rule.cells.sum() < combined.cells.sum()
    np.testing.assert_array_equal(combined.cells, rule.cells | few.cells)
    np.testing.assert_array_equal(combined.protection, np.maximum(rule.protection, few.protection))
    assert "threshold=None" in str(Suppress(rule="p_percent(p=10)"))
    assert "threshold=5" in str(Suppress())


def learnt(cells: Cells, release: CellRelease, unit: int) -> tuple[Floats, Floats, Mask]:
    """Return what a contributor concludes of each cell, by another solver, and which are its own.

    Everything here is done again, cell by cell, from the contributions.
    """
    contributions, axes = cells.contributions, cells.axes
    assert contributions is not None
    shape = cells.margins.shape
    own, others = np.zeros(shape), np.zeros(shape)
    for place, amount, who in zip(
        contributions.places, contributions.amounts, contributions.units, strict=True
    ):
        for node in product(*((int(at), size - 1) for at, size in zip(place, shape, strict=True))):
            (own if who == unit else others)[node] += amount
    single = (own > 0) & (others == 0)
    full = cells.margins
    certain = ~release.suppressed | single
    low, high = np.where(certain, full, own).ravel(), np.where(certain, full, np.inf).ravel()
    lines = []
    flat = np.arange(full.size).reshape(shape)
    for at in range(len(axes)):
        for line in np.moveaxis(flat, at, -1).reshape(-1, shape[at]):
            row = np.zeros(full.size)
            row[line[:-1]], row[line[-1]] = 1.0, -1.0
            lines.append(row)
    bounds = list(zip(low, [None if np.isinf(item) else item for item in high], strict=True))
    least, most = low.copy(), high.copy()
    for cell in np.flatnonzero(release.suppressed.ravel() & ~single.ravel()):
        for sign, end in ((1.0, least), (-1.0, most)):
            cost = np.zeros(full.size)
            cost[cell] = sign
            values = linprog(cost, A_eq=np.array(lines), b_eq=np.zeros(len(lines)), bounds=bounds)
            end[cell] = sign * values.fun if values.status == 0 else -sign * np.inf
    return least.reshape(shape), most.reshape(shape), single


def skewed(seed: int, units: int = 24) -> tables.Table:
    """Return firms of very different size in a table with many cells of one or two firms."""
    rng = np.random.default_rng(seed)
    firm = rng.integers(units, size=60)
    return tables.load({
        "firm": [f"f{item}" for item in firm],
        "place": [f"p{item}" for item in rng.integers(4, size=60)],
        "trade": [f"t{item}" for item in rng.integers(4, size=60)],
        "sales": np.round(rng.lognormal(3, 1.5, 60) + 1, 1).tolist(),
    })  # fmt: skip


@pytest.mark.parametrize("rule", ["p_percent(p=10)", "dominance(n=2, share=0.85)"])
@pytest.mark.parametrize("seed", range(4))
def test_no_contributor_learns_a_cell_of_others(seed: int, rule: str) -> None:
    cells = tables.tabulate(skewed(seed), ["place", "trade"], "sales", unit="firm")
    try:
        release = tables.protect(cells, f"suppress(rule={rule!r})")
    except InputError:
        return
    contributions, sensitive = cells.contributions, Suppress(rule=rule).sensitive(cells)
    assert contributions is not None
    assert sensitive.cells.any()
    slack = 1e-4 * cells.margins.max()
    for unit in np.unique(contributions.units).tolist():
        _, high, single = learnt(cells, release, unit)
        judged = sensitive.cells & ~single
        assert (high[judged] >= (cells.margins + sensitive.protection)[judged] - slack).all()
    outcome = tables.attack(cells, release, "intervals")
    assert outcome.risk == pytest.approx(0, abs=1e-6)
    assert outcome.details["exact_to_contributors"] == 0


def spread_firms() -> tables.Table:
    """Return firms of which one has nearly all of two cells of a row, and a small one of each."""
    rows = [(f"p{i}", f"t{j}", f"f{i}{j}{n}", 100.0) for i in range(3) for j in range(4)
            for n in range(12) if i == 2 or j >= 2]  # fmt: skip
    for i, j in product(range(2), range(2)):
        gifts = ((f"large{i}", 100.0), (f"small{i}{j}", 5.0), (f"least{i}{j}", 3.0))
        rows += [(f"p{i}", f"t{j}", firm, amount) for firm, amount in gifts]
    place, trade, firm, sales = zip(*rows, strict=True)
    return tables.load({"place": place, "trade": trade, "firm": firm, "sales": sales})


@pytest.mark.parametrize("table", [spread_firms, *(partial(skewed, seed) for seed in range(6))])
def test_what_is_suppressed_of_a_line_is_not_sensitive_together(
    table: Callable[[], tables.Table],
) -> None:
    cells = tables.tabulate(table(), ["place", "trade"], "sales", unit="firm")
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    contributions, hidden = cells.contributions, release.suppressed
    assert contributions is not None
    assert hidden.any()
    inner = hidden[:-1, :-1]
    for at in range(2):
        for i in range(inner.shape[at]):
            if hidden[(i, -1) if at == 0 else (-1, i)]:
                continue
            mine = (contributions.places[:, at] == i) & inner[tuple(contributions.places.T)]
            gifts = np.sort(np.bincount(contributions.units[mine], contributions.amounts[mine]))[
                ::-1
            ]
            if gifts.sum() > 0:
                assert gifts[2:].sum() >= 0.1 * gifts[0] - 1e-6


def test_a_contributor_cannot_subtract_its_own_amount() -> None:
    """Two firms alone in their cells, the only ones that are suppressed of a row."""
    rows = [(f"p{i}", f"t{j}", f"f{i}{j}{n}", 100.0) for i in range(3) for j in range(3)
            for n in range(12) if (i, j) not in ((0, 0), (0, 1), (1, 0), (1, 1))]  # fmt: skip
    rows += [("p0", "t0", "a", 500.0), ("p0", "t1", "b", 400.0),
             ("p1", "t0", "c", 300.0), ("p1", "t1", "d", 200.0)]  # fmt: skip
    place, trade, firm, sales = zip(*rows, strict=True)
    table = tables.load({"place": place, "trade": trade, "firm": firm, "sales": sales})
    cells = tables.tabulate(table, ["place", "trade"], "sales", unit="firm")
    release = tables.protect(cells, "suppress(rule='p_percent(p=10)')")
    contributions = cells.contributions
    assert contributions is not None
    low, high, single = learnt(cells, release, int(contributions.units[firm.index("a")]))
    assert single[0, 0]
    assert high[0, 1] - low[0, 1] >= 40  # was exact: the row's sum, less its own 500
    assert release.suppressed[0].sum() > 2


def test_no_message_quotes_a_number_of_the_table() -> None:
    with pytest.raises(InputError) as caught:
        tables.protect(tables.tabulate([[31, 0], [0, 77]]), "suppress(threshold=100)")
    assert "31" not in str(caught.value)
    assert "77" not in str(caught.value)


def test_audits_of_no_cell_are_whole() -> None:
    audited = tables.audit(tables.protect(tables.tabulate([[9, 8]]), "suppress"))
    assert isinstance(audited, Audit)
    assert audited.known.all()
