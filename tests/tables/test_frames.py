"""Frames of others and Parquet, in and out: what is missing stays so, and 39 is not 39.0."""

import stat
from pathlib import Path
from typing import Any

import pytest

from veil import tables
from veil.core.errors import InputError

HELD: dict[str, Any] = {
    "age": [39, None, 52],
    "pay": [1.5, 2.0, None],
    "sex": ["f", None, "m"],
}
LEVELS = {"age": [["39", "low", "*"], ["52", "high", "*"]]}


def same(found: tables.Table) -> None:
    assert found.column("age").texts.tolist() == ["39", None, "52"]
    assert found.column("pay").texts.tolist() == ["1.5", "2", None]
    assert found["sex"].tolist() == ["f", None, "m"]


def test_whole_numbers_come_back_from_parquet_as_a_hierarchy_has_them(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    tables.load(HELD).to_parquet(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    table = tables.load(path, qi=["age"], hierarchies=LEVELS)
    same(table)
    assert tables.protect(table, "generalise(level=1)").table["age"].tolist() == [
        "low", None, "high",
    ]  # fmt: skip


def test_whole_numbers_that_others_wrote_as_doubles_are_read_as_whole(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {"age": [39.0, None, 52.0], "code": ["007", "010", "7.0"], "pay": [1.5, 2.0, None]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = tables.load(tmp_path / "t.parquet", identifiers=["code"])
    assert table.column("age").texts.tolist() == ["39", None, "52"]
    assert table.column("code").texts.tolist() == ["007", "010", "7.0"]  # its schema says text
    texts = tables.load(tmp_path / "t.parquet", identifiers=["code"], text=["age", "code"])
    assert texts.column("age").texts.tolist() == ["39", None, "52"]


def test_arrow_in_and_out() -> None:
    pa = pytest.importorskip("pyarrow")
    result = tables.load(HELD).to_arrow()
    assert result.to_pydict() == HELD
    assert result.schema.types == [pa.int64(), pa.float64(), pa.string()]
    same(tables.load(result))
    with pytest.raises(InputError, match="two columns of the same name"):
        tables.load(pa.table([[1], [2]], names=["a", "a"]))


def test_pandas_in_and_out() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(HELD)
    for variant in (frame, frame.convert_dtypes(), frame.astype({"sex": "category"})):
        same(tables.load(variant))
    same(tables.load(tables.load(frame).to_pandas()))
    with pytest.raises(InputError, match="two columns of the same name"):
        tables.load(pd.DataFrame([[1, 2]], columns=["a", "a"]))


def test_polars_in_and_out() -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame(HELD)
    for variant in (frame, frame.lazy(), tables.load(frame).to_polars()):
        same(tables.load(variant))


def test_what_is_no_frame_is_refused_without_a_trace_of_it() -> None:
    pa = pytest.importorskip("pyarrow")
    for arguments in (pa.array([1, 2]), object()):
        with pytest.raises(InputError):
            tables.load(arguments)


def test_equal_texts_of_a_file_are_one_object(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("town,age\n" + "Reykjavik,39\n" * 50, encoding="utf-8")
    table = tables.load(path, quiet=True)
    assert len({id(text) for name in table.columns for text in table.column(name).texts}) == 2
