"""Tables: what is read, what columns are, and what is refused."""

import math
import stat
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from veil import tables
from veil.core.errors import InputError, VeilError
from veil.tables.column import MISSING, Column
from veil.tables.hierarchy import Hierarchy
from veil.tables.table import row_classes

NAME = "Xanthippe"  # a value that no message may quote

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_are_numbers_and_are_written_in_one_way(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "age;pay;town\n39;1.50;Rome\n7;;Oslo\n39;2e3;\n")
    t = tables.load(file, qi=["age"], sep=";")
    assert t.columns == ("age", "pay", "town")
    assert len(t) == 3
    assert t["age"].tolist() == [39.0, 7.0, 39.0]
    assert t["age"].dtype == np.float64
    assert math.isnan(t["pay"][1])
    assert t["town"].tolist() == ["Rome", "Oslo", None]
    assert t.column("age").categories == ("7", "39")  # by size
    assert t.column("pay").texts.tolist() == ["1.5", None, "2000"]
    assert t.column("town").codes.tolist() == [1, 0, MISSING]


@pytest.mark.parametrize("word", ["nan", "inf", "1_000", "Infinity"])
def test_what_python_takes_for_numbers_and_tables_do_not_is_text(word: str) -> None:
    assert not Column.of_texts(["1", word]).numeric


def test_a_column_of_nothing_is_text() -> None:
    assert not Column.of_texts(["", ""]).numeric
    assert Column.of([None, None]).values.tolist() == [None, None]


def test_columns_of_python_and_numpy() -> None:
    t = tables.load(
        {"a": np.array([1, 2]), "b": ["x", None], "c": [1.5, None], "d": [True, False]}
    )
    assert t["a"].tolist() == [1.0, 2.0]
    assert t["b"].tolist() == ["x", None]
    assert math.isnan(t["c"][1])
    assert t["d"].tolist() == ["True", "False"]
    assert t.column("a").texts.tolist() == ["1", "2"]


def test_frames_of_others_at_the_edge() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    t = tables.load(pyarrow.table({"a": [1, None, 2], "b": ["x", "y", None]}))
    assert t["b"].tolist() == ["x", "y", None]
    again = tables.load(t.to_arrow())
    assert again["b"].tolist() == ["x", "y", None]
    assert again.to_arrow().schema.names == ["a", "b"]


def test_roles_are_what_is_said_and_other_else() -> None:
    t = tables.load({"a": [1], "b": [2], "c": [3], "w": [2.0]}, ["a"], ["b"], ["c"], weight="w")
    assert dict(t.roles) == {"a": "identifier", "b": "qi", "c": "confidential", "w": "weight"}
    assert t.qi == ("b",)
    assert t.weights is not None


def test_a_column_that_tells_rows_apart_is_pointed_out() -> None:
    with pytest.warns(UserWarning, match="number"):
        tables.load({"number": list(range(50)), "town": ["x"] * 50})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tables.load({"number": list(range(50))}, identifiers=["number"])


ROWS = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]


def test_a_hierarchy_numbers_its_labels() -> None:
    hierarchy = Hierarchy.of_rows(ROWS, "x")
    assert hierarchy.height == 2
    assert hierarchy.labels == (("a", "b", "c"), ("A", "C"), ("*",))
    assert hierarchy.codes[1].tolist() == [0, 0, 1]
    assert [parent.tolist() for parent in hierarchy.parents] == [[0, 0, 1], [0, 0]]
    assert Hierarchy.of_rows([["a", "A"], ["b", "B"]], "x").height == 2  # a top is added


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "equal length"),
        ([["a", "*"], ["b"]], "equal length"),
        ([["a", "*"], ["a", "*"]], "two rows"),
        ([["a", "A", "X", "*"], ["b", "A", "Y", "*"]], "two parents"),
    ],
)
def test_a_hierarchy_that_is_none_is_refused(rows: Any, says: str) -> None:  # noqa: ANN401
    with pytest.raises(InputError, match=says):
        Hierarchy.of_rows(rows, "x")


def test_values_without_a_place_are_counted_and_not_quoted() -> None:
    with pytest.raises(InputError, match="lacks 2 values") as error:
        tables.load({"x": ["a", NAME, "zz"]}, qi=["x"], hierarchies={"x": ROWS})
    assert NAME not in str(error.value)


def test_hierarchies_are_matched_on_what_the_file_wrote(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "age\n39\n40\n")
    levels = write(tmp_path / "age.csv", "39;30-39;*\n40;40-49;*\n")
    t = tables.load(file, qi=["age"], hierarchies={"age": levels})
    assert t.hierarchy("age").at(t.column("age")).tolist() == [0, 1]


def test_built_in_hierarchies() -> None:
    ages = Column.of([3, 17, 25])
    assert tables.intervals(width=10, steps=2)(ages)[1] == ["17", "[10-19]", "[0-19]", "*"]
    assert tables.intervals(width=0.5, steps=1)(Column.of([0.75]))[0][1] == "[0.5-1]"
    assert tables.prefix()(Column.of_texts(["12a", "9b"]))[1] == ["9b", "9b*", "9**", "*"]
    days = tables.dates()(Column.of_texts(["1987-03-21"]))
    assert days == [["1987-03-21", "1987-03", "1987", "1980-1989", "*"]]
    t = tables.load({"age": [3, 17]}, qi=["age"], hierarchies={"age": tables.intervals(width=5)})
    assert t.hierarchy("age").height == 4


def test_a_schema_says_it_once_and_flags_win(tmp_path: Path) -> None:
    write(tmp_path / "x.csv", "a;A;*\nb;A;*\n")
    schema = write(
        tmp_path / "s.toml",
        '[columns.x]\nrole = "qi"\nhierarchy = "x.csv"\n[columns.y]\nrole = "confidential"\n'
        '[columns.n]\nhierarchy = "intervals(width=2, steps=1)"\n',
    )
    columns = {"x": ["a", "b"], "y": ["1", "2"], "n": [1, 2]}
    t = tables.load(columns, schema=schema)
    assert (t.roles["x"], t.roles["y"], t.roles["n"]) == ("qi", "confidential", "other")
    assert t.hierarchy("x").height == 2
    assert t.hierarchy("n").height == 2
    assert tables.load(columns, qi=["y"], schema=schema).roles["y"] == "qi"


@pytest.mark.parametrize(
    "text",
    ["x = 1", "[columns]\nx = 3", '[columns.x]\nrole = "king"', "[columns.x]\nrule = 1", "["],
)
def test_a_schema_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError, match="s.toml"):
        tables.load({"x": [1]}, schema=write(tmp_path / "s.toml", text))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"qi": ["b"]}, "no column 'b'"),
        ({"qi": ["a"], "confidential": ["a"]}, "two roles"),
        ({"qi": "a"}, "lists of column names"),
        ({"weight": "a"}, "weights"),
        ({"hierarchies": {"b": ROWS}}, "no column 'b'"),
        ({"hierarchies": {"a": "none.csv"}}, "does not exist"),
    ],
)
def test_what_is_said_of_columns_must_fit(given: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        tables.load({"a": [NAME, "x"]}, **given)


@pytest.mark.parametrize(
    "text", ["", "a;b\n", "a,a\n1,2\n", "a,b\n1,2\n1,2,3\n", f"a,b\n1,{NAME}\n{NAME}\n"]
)
def test_a_file_that_is_no_table_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(VeilError) as error:
        tables.load(write(tmp_path / "t.csv", text))
    assert NAME not in str(error.value)


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="same length"):
        tables.load({"a": [1, 2], "b": [1]})
    with pytest.raises(InputError, match="at least one"):
        tables.load({"a": []})


@pytest.mark.parametrize(
    "values", [[[1, 2], [3, 4]], np.zeros((2, 2)), "text", 5, [10**400, 1]], ids=str
)
def test_what_is_no_column_is_refused(values: Any) -> None:  # noqa: ANN401
    with pytest.raises(InputError):
        tables.load({"a": values})


def test_rows_equal_in_all_columns_are_one_class() -> None:
    rng = np.random.default_rng(1)
    codes = [rng.integers(-1, 5, 400) for _ in range(3)]
    classes = row_classes(codes, 400)
    rows = list(zip(*(column.tolist() for column in codes), strict=True))
    for i in range(0, 400, 7):
        same = [rows[j] == rows[i] for j in range(400)]
        assert ((classes == classes[i]) == np.array(same)).all()


def test_classes_of_many_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(2)
    codes = [rng.integers(0, 10**6, 50) for _ in range(12)]
    assert len(np.unique(row_classes(codes, 50))) == 50


def test_a_file_is_written_for_its_owner_alone_and_formulas_on_request(tmp_path: Path) -> None:
    t = tables.load({"x": ["=1+1", "-a", "b"], "n": [-1.5, 2, 3]}, qi=["x"])
    t.to_csv(tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "x,n\n=1+1,-1.5\n-a,2\nb,3\n"
    assert stat.S_IMODE((tmp_path / "o.csv").stat().st_mode) & 0o077 == 0
    t.to_csv(tmp_path / "s.csv", excel_safe=True)
    assert (tmp_path / "s.csv").read_text() == "x,n\n'=1+1,-1.5\n'-a,2\nb,3\n"
    assert tables.load(tmp_path / "o.csv", qi=["x"])["n"].tolist() == [-1.5, 2.0, 3.0]


def test_the_adult_file(shared: Path) -> None:
    folder = shared / "tables" / "adult"
    qi = ["sex", "age", "race"]
    levels = {name: folder / f"adult_hierarchy_{name}.csv" for name in qi}
    t = tables.load(folder / "adult.csv", qi=qi, hierarchies=levels)
    assert len(t) == 30_162
    assert t.column("age").numeric
    assert t.hierarchy("age").height == 4


def test_hierarchies_are_found_in_a_folder(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "age,sex\n39,F\n40,M\n")
    write(tmp_path / "t_age.csv", "39;30s;*\n40;40s;*\n")
    for folder in (tmp_path, str(tmp_path)):
        t = tables.load(file, qi=["age", "sex"], hierarchies=folder)
        assert list(t.hierarchies) == ["age"]
    with pytest.raises(InputError, match="does not exist"):
        tables.load(file, qi=["age"], hierarchies=tmp_path / "none")
    for wrong in ([("age", tmp_path / "t_age.csv")], 3):
        with pytest.raises(InputError, match="a folder, or a dict"):
            tables.load(file, qi=["age"], hierarchies=wrong)  # type: ignore[arg-type]


def test_reading_says_how_far_it_is(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", "age\n" + "39\n" * 5_000)
    calls: list[int] = []
    tables.load(file, qi=["age"], progress=calls.append)
    assert calls == sorted(calls)
    assert 0 < calls[0] <= calls[-1] <= file.stat().st_size
