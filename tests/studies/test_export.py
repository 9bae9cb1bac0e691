"""The tidy table is written whole, and comes back as it was."""

import csv
import stat
from dataclasses import asdict
from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.studies.export import export, write_csv
from veil.studies.table import Results, Row

ROWS = (
    Row("med", "", "cmp", "cmp(epsilon=5.0)", "epsilon", 5.0, 20, "risk", "lazy",
        'inference(encoder="a, b")', 0.25, 0.1, 0.4, 30, 0.001),
    Row("med", "bm25", "cmp", "cmp(epsilon=5.0)", "epsilon", 5.0, 20, "utility", "nDCG@10", "",
        1 / 3, 0.3, 0.4, 30),
)  # fmt: skip
FOUND = Results("study", ROWS)


def test_the_csv_holds_every_row(tmp_path: Path) -> None:
    write_csv(FOUND, tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["attacker"] for row in read] == ['inference(encoder="a, b")', ""]
    assert float(read[1]["score"]) == 1 / 3
    assert [row["chance"] for row in read] == ["0.001", ""]


def test_the_parquet_holds_every_row(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is missing")
    written = export(FOUND, tmp_path / "new")
    assert [path.name for path in written] == ["results.csv", "results.parquet"]
    table = parquet.read_table(written[1])
    assert table.to_pylist() == [asdict(row) for row in ROWS]
    assert str(table.schema.field("chance").type) == "double"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_without_pyarrow_there_is_the_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert [path.name for path in export(FOUND, tmp_path)] == ["results.csv"]


def test_nothing_is_left_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(InputError, match="is a folder; name a file"):
        export(FOUND, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]
