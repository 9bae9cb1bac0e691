"""Cells: counted, added up, rolled up and sampled."""

import subprocess
import sys

import numpy as np
import pytest

from veil import tables
from veil.core.errors import InputError, MissingExtraError, ParameterError, VeilError
from veil.tables.cells.cells import Axis, Cells
from veil.tables.cells.solver import scipy_module

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")

SCHOOL = {
    "degree": ["BA", "BA", "MA", "9th", "10th", "10th", "MA"],
    "sex": ["f", "m", "f", "f", "m", None, "f"],
    "pay": [3.0, 4.0, 5.5, 1.0, 2.0, 2.5, None],
}
LEVELS = [["BA", "high", "*"], ["MA", "high", "*"], ["9th", "low", "*"], ["10th", "low", "*"]]


@pytest.fixture
def school() -> tables.Table:
    return tables.load(SCHOOL, qi=["degree", "sex"], hierarchies={"degree": LEVELS})


def test_counts_have_every_row(school: tables.Table) -> None:
    cells = tables.tabulate(school, by=["degree", "sex"])
    assert cells.by == ("degree", "sex")
    assert cells.categories == (("10th", "9th", "BA", "MA"), ("f", "m", "(missing)"))
    assert cells.values.tolist() == [[0, 1, 1], [1, 0, 0], [1, 1, 0], [2, 0, 0]]
    assert cells.margins[-1].tolist() == [4, 2, 1, 7]
    assert cells.contributions is None
    assert cells.whole


def test_sums_leave_out_what_is_missing(school: tables.Table) -> None:
    cells = tables.tabulate(school, by=["degree"], value="pay")
    assert cells.values.tolist() == [4.5, 1, 7, 5.5]
    assert cells.contributions is not None
    assert len(cells.contributions.amounts) == 6
    assert not cells.whole


def test_arrays_of_any_dimension() -> None:
    for shape in ((3,), (2, 3), (2, 3, 2), (2, 2, 2, 2)):
        values = np.arange(np.prod(shape)).reshape(shape)
        cells = tables.tabulate(values)
        assert cells.margins.shape == tuple(size + 1 for size in shape)
        assert cells.margins[(-1,) * len(shape)] == values.sum()
        assert cells.margins[(0,) * (len(shape) - 1)][-1] == values[(0,) * (len(shape) - 1)].sum()


def test_subtotals_of_a_hierarchy(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree", "sex"], nested=["degree"])
    assert cells.axes[0].labels == ("10th", "9th", "BA", "MA", "low", "high", "*")
    assert cells.margins[:, -1].tolist() == [2, 1, 2, 2, 3, 4, 7]


def test_groups_within_groups() -> None:
    axis = Axis("x", tuple("abcde"), (("abc", (0, 1, 2)), ("ab", (0, 1))))
    parameters = {axis.labels[node]: [axis.labels[n] for n in below] for node, below in axis.sums}
    assert parameters == {"abc": ["c", "ab"], "ab": ["a", "b"], "*": ["d", "e", "abc"]}
    assert axis.total(np.array([1.0, 2, 3, 4, 5]), 0).tolist() == [1, 2, 3, 4, 5, 6, 3, 15]
    with pytest.raises(InputError, match="nested"):
        Axis("x", tuple("abcd"), (("ab", (0, 1)), ("bc", (1, 2))))


def test_rolling_up_by_names_and_by_level(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree", "sex"])
    by_name = tables.protect(cells, "rollup('BA,MA=high;9th,10th=low')")
    by_level = tables.protect(cells, "rollup(by='degree', level=1)")
    for release in (by_name, by_level):
        assert release.categories[0] == ("low", "high")
        assert release.values.tolist() == [[1, 1, 1], [3, 1, 0]]
        assert release.margins[-1, -1] == 7
    top = tables.protect(cells, "rollup(by='degree', level=2)")
    assert top.values.tolist() == [[4, 2, 1]]


def test_other_methods_follow_a_roll_up(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree", "sex"])
    release = tables.protect(cells, ["rollup(by=degree, level=1)", "round(base=2)"])
    assert release.method.startswith("rollup(")
    assert " | round(" in release.method
    assert release.values.shape == (2, 3)
    attack = tables.attack(cells, release, "intervals(threshold=2)")
    assert attack.details["cells"] == len(attack.per_record)
    with pytest.raises(ParameterError, match="Put it last"):
        tables.protect(cells, ["round(base=2)", "rollup(by=degree, level=1)"])


def test_what_a_roll_up_hides_is_measured_on_the_original(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree"])
    release = tables.protect(cells, "rollup(groups='BA,MA=high', by=degree)")
    attack = tables.attack(cells, release, "intervals(threshold=3, protection=1)")
    assert attack.per_record.tolist() == [1, 1, 0, 0]  # 10th, 9th as they are; BA, MA in 0..4
    assert attack.risk == 0.5
    assert attack.details["exact"] == 2
    assert tables.utility(cells, release) == 1  # two and two


def test_sums_are_rolled_up_with_their_contributions(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree"], "pay")
    release = tables.protect(cells, "rollup(by=degree, level=1)")
    assert release.values.tolist() == [5.5, 12.5]
    wide = tables.protect(cells, ["rollup(by=degree, level=2)", "suppress(rule='p_percent(p=1)')"])
    assert wide.values.tolist() == [18]


def test_a_sample_counts_each_record_as_several() -> None:
    values = np.random.default_rng(1).integers(0, 50, (6, 5))
    cells = tables.tabulate(values)
    release = tables.protect(cells, "sample(rate=0.25)", rng=3)
    sample = release.margins * 0.25
    np.testing.assert_allclose(sample, np.rint(sample))
    assert sample[-1, -1] == round(0.25 * values.sum())
    assert (sample <= cells.margins).all()
    assert (release.bounds.low <= cells.margins).all()
    assert (release.bounds.high >= cells.margins).all()
    assert release.seeded
    repeated = tables.protect(cells, "sample(rate=0.25)", rng=3)
    np.testing.assert_array_equal(repeated.margins, release.margins)
    many = [tables.protect(cells, "sample(rate=0.25)", rng=i).values for i in range(300)]
    error = np.sqrt(values * 0.75 / 0.25 / 300)
    assert (np.abs(np.mean(many, axis=0) - values) <= 4.5 * error + 1e-9).all()


def test_a_sample_of_records_that_are_added_up(school: tables.Table) -> None:
    cells = tables.tabulate(school, ["degree"], "pay")
    release = tables.protect(cells, "sample(rate=0.5)", rng=1)
    assert release.margins[-1] == pytest.approx(release.values.sum())
    assert release.margins[-1] <= 2 * cells.margins[-1]
    assert tables.attack(cells, release, "intervals(rule='p_percent(p=5)')").risk <= 1


def test_utility_counts_what_is_lost() -> None:
    cells = tables.tabulate([[20, 50, 10, 5], [8, 19, 22, 3], [17, 32, 12, 40], [4, 0, 30, 25]])
    release = tables.protect(cells, "suppress(threshold=5)")
    assert tables.utility(cells, release) == pytest.approx(1 - (58 + 7) / 297)
    adjusted = tables.protect(cells, "cta")
    assert tables.utility(cells, adjusted) == pytest.approx(1 - 8 / 297)
    assert tables.utility(cells, tables.protect(cells, "round(base=1000)")) == 0
    assert (
        tables.utility(
            tables.tabulate([[0, 0]]), tables.protect(tables.tabulate([[0, 0]]), "round")
        )
        == 1
    )
    with pytest.raises(InputError, match="do not match"):
        tables.utility(tables.tabulate([[1, 2]]), release)
    with pytest.raises(InputError, match="a release of cells"):
        tables.utility(cells, cells)  # type: ignore[call-overload]


def test_risk_is_how_much_of_the_room_is_lacking() -> None:
    cells = tables.tabulate([[1, 30, 30], [30, 30, 30]])
    release = tables.protect(cells, "suppress(threshold=2, protection=1)")
    own = tables.attack(cells, release, "intervals")
    assert own.risk == 0.0
    more = tables.attack(cells, release, "intervals(threshold=2, protection=100)")
    audited = tables.audit(release)
    width = audited.high[0, 0] - audited.low[0, 0]
    assert more.risk == pytest.approx(1 - width / 101)
    assert more.low == more.high == more.risk
    assert tables.attack(cells, release, "intervals(threshold=1)").risk == 0.0


def test_another_table_is_refused() -> None:
    release = tables.protect(tables.tabulate([[9, 9]]), "suppress")
    with pytest.raises(InputError, match="do not match"):
        tables.attack(tables.tabulate([[9, 9, 9]]), release, "intervals")
    with pytest.raises(VeilError, match="intervals"):
        tables.attack(tables.tabulate([[9, 9]]), release, "distance")


@pytest.mark.parametrize(
    "values",
    [5, [], [[]], [[1, float("nan")]], [float("inf")], [-1, 2], ["a", "b"], [[1], [2, 3]]],
)
def test_what_is_no_table_of_cells_is_refused(values: object) -> None:
    with pytest.raises(InputError):
        tables.tabulate(values)


def test_bad_columns_are_named(school: tables.Table) -> None:
    for arguments, words in (
        ({"by": ["degre"]}, "Did you mean 'degree'"),
        ({"by": []}, "Name the columns"),
        ({}, "Name the columns"),
        ({"by": ["sex", "sex"]}, "once"),
        ({"by": ["sex"], "value": "degree"}, "has text"),
        ({"by": ["sex"], "nested": ["degree"]}, "not a column to count by"),
        ({"by": ["sex"], "nested": ["sex"]}, "no hierarchy"),
        ({"by": ["sex"], "value": "pay", "unit": "who"}, "no column 'who'"),
    ):
        with pytest.raises(InputError, match=words):
            tables.tabulate(school, **arguments)
    with pytest.raises(InputError, match="identifier"):
        tables.tabulate(tables.load(SCHOOL, identifiers=["sex"]), ["degree", "sex"])
    with pytest.raises(InputError, match="with tables only"):
        tables.tabulate([[1, 2]], value="pay")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rollup", "either"),
        ("rollup(groups='a,b=c', level=1)", "either"),
        ("rollup(groups='ab')", "look like"),
        ("rollup(groups='BA,Xanthippe=c')", "One axis"),
        ("rollup(groups='BA,Xanthippe=c', by=degree)", "1 of the categories"),
        ("rollup(groups='BA=c', by=town)", "no axis"),
        ("rollup(by=sex, level=1)", "no hierarchy"),
        ("rollup(by=degree, level=3)", "levels 0 to 2"),
        ("sample(rate=1)", "rate"),
        ("cta(share=0)", "share"),
    ],
)
def test_bad_methods_are_named(school: tables.Table, spec: str, words: str) -> None:
    with pytest.raises(VeilError, match=words) as caught:
        tables.protect(tables.tabulate(school, ["degree", "sex"]), spec)
    assert "Xanthippe" not in str(caught.value)


def test_cells_need_names_and_labels() -> None:
    with pytest.raises(InputError, match="label"):
        Cells(np.ones((2, 2)), ("a", "b"), (("x",), ("y", "z")))
    with pytest.raises(InputError, match="different names"):
        Cells(np.ones((1, 1)), ("a", "a"), (("x",), ("y",)))
    with pytest.raises(InputError, match="fewer columns"):
        tables.tabulate(np.broadcast_to(1.0, (400, 400, 70)))


def test_without_scipy_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(MissingExtraError, match=r"\[tables\]"):
        scipy_module("optimize")


def test_counting_imports_no_scipy() -> None:
    code = "import sys, veil.tables as t; t.tabulate([[1]]); t.CELL_METHODS.get('suppress');" \
           "print('scipy' in sys.modules)"  # fmt: skip
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "False"


def test_every_method_parses_its_own_spec() -> None:
    for name in tables.CELL_MECHANISMS.names():
        result = tables.CELL_MECHANISMS.get(name).load({"rate": 0.5} if name == "sample" else {})
        assert str(tables.CELL_MECHANISMS.parse(str(result))) == str(result)


def test_the_utility_of_cells_takes_nothing_that_it_would_ignore() -> None:
    cells = tables.tabulate(np.array([[12, 30], [41, 22]]))
    release = tables.protect(cells, "round(base=5)")
    assert 0 < tables.utility(cells, release) < 1
    for arguments in ({"measure": "nonsense"}, {"columns": ["a"]}, {"target": "a"}):
        with pytest.raises(ParameterError, match="one measure"):
            tables.utility(cells, release, **arguments)


def test_an_array_without_an_axis_is_no_column() -> None:
    with pytest.raises(InputError, match="list or a one-dimensional array"):
        tables.load({"a": np.array(5)})


def test_sampling_weights_count() -> None:
    columns = {
        "town": ["a", "a", "b", "b"],
        "w": [2.0, 3.5, 1.0, 10.0],
        "pay": [1.0, 2.0, 3.0, 4.0],
    }
    table = tables.load(columns, weight="w", qi=["town"])
    cells = tables.tabulate(table, ["town"])
    assert cells.values.tolist() == [5.5, 11.0]
    assert not cells.whole
    assert tables.tabulate(table, ["town"], "pay").values.tolist() == [9.0, 43.0]
    baseline = tables.tabulate(table, ["town"], weighted=False)
    assert baseline.values.tolist() == [2.0, 2.0]
    assert baseline.whole
    with pytest.raises(InputError, match="sensitive"):  # two records each, whatever their weights
        tables.protect(cells, "suppress(threshold=5)")


def test_a_unit_without_a_value_is_refused() -> None:
    table = tables.load({"town": ["a", "b"], "who": ["x", "y"]}, qi=["town"])
    with pytest.raises(InputError, match="unit is only for sums"):
        tables.tabulate(table, ["town"], unit="who")
