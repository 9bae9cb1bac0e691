"""The tidy table is written whole, and comes back as it was."""

import csv
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from veil.core.errors import InputError
from veil.studies.export import (
    Facts,
    export,
    facts_of,
    read_csv,
    read_facts,
    to_record,
    write_csv,
    write_facts,
)
from veil.studies.results import Card, Example, Results, Row, Score

ROWS = (
    Row("med", "", "cmp", "cmp(epsilon=5.0)", "epsilon", 5.0, 20, "risk", "lazy",
        'inference(encoder="a, b")', 0.25, 0.1, 0.4, 30, 0.001),
    Row("med", "bm25", "cmp", "cmp(epsilon=5.0)", "epsilon", 5.0, 20, "utility", "nDCG@10", "",
        1 / 3, 0.3, 0.4, 30, None, 0.04),
)  # fmt: skip
SCORES = (
    Score("med", "bm25", "bayes", "lazy", "cmp", "cmp", "cmp", "epsilon", 20, 0.25, 0.1, 0.4, 30,
          5, 1, 1 / 3, -0.1, 0.5),
    Score("med", "bm25", "bayes", "lazy", "aea", "aea", 'aea(index="a, b")', "", 20, 0.0, 0.0,
          0.0, 30, 1),
)  # fmt: skip
FOUND = Results("study", ROWS, scores=SCORES)


def test_the_csv_holds_every_row(tmp_path: Path) -> None:
    write_csv(FOUND, tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["attacker"] for row in read] == ['inference(encoder="a, b")', ""]
    assert float(read[1]["score"]) == 1 / 3
    assert [row["chance"] for row in read] == ["0.001", ""]
    assert [row["p_value"] for row in read] == ["", "0.04"]
    assert read_csv(tmp_path / "results.csv") == ROWS


def test_an_older_table_without_p_values_is_read(tmp_path: Path) -> None:
    write_csv(FOUND, tmp_path / "results.csv")
    lines = (tmp_path / "results.csv").read_text().splitlines()
    older = "\n".join(line.rpartition(",")[0] for line in lines)
    (tmp_path / "results.csv").write_text(older + "\n")
    assert read_csv(tmp_path / "results.csv") == tuple(replace(row, p_value=None) for row in ROWS)
    (tmp_path / "results.csv").write_text(older.replace("chance", "odd") + "\n")
    with pytest.raises(InputError, match="is not a table of a report"):
        read_csv(tmp_path / "results.csv")


def test_upper_bounds_have_a_column_where_there_are_any(tmp_path: Path) -> None:
    rows = (replace(ROWS[0], upper=0.25), ROWS[1])
    write_csv(replace(FOUND, rows=rows), tmp_path / "results.csv")
    assert (tmp_path / "results.csv").read_text().partition("\n")[0].endswith(",p_value,upper")
    assert read_csv(tmp_path / "results.csv") == rows
    write_csv(FOUND, tmp_path / "results.csv")
    assert "upper" not in (tmp_path / "results.csv").read_text()


def test_the_scores_are_a_table_of_their_own(tmp_path: Path) -> None:
    export(FOUND, tmp_path)
    with (tmp_path / "scores.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["spec"] for row in read] == ["cmp", 'aea(index="a, b")']
    assert [(row["points"], row["missing"]) for row in read] == [("5", "1"), ("1", "0")]
    assert float(read[0]["behind"]) == 1 / 3
    assert read[1]["behind"] == read[1]["behind_low"] == ""


def test_the_parquet_holds_every_row(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the extra 'parquet' is missing")
    written = export(FOUND, tmp_path / "new")
    assert [path.name for path in written] == [
        "results.csv", "scores.csv", "facts.json", "results.parquet"
    ]  # fmt: skip
    table = parquet.read_table(written[-1])
    assert table.to_pylist() == [to_record(row) for row in ROWS]
    assert str(table.schema.field("chance").type) == "double"
    assert str(table.schema.field("p_value").type) == "double"
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_without_pyarrow_there_is_the_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    assert [path.name for path in export(FOUND, tmp_path)] == [
        "results.csv", "scores.csv", "facts.json"
    ]  # fmt: skip


def test_nothing_is_left_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(InputError, match="is a folder. Choose a file"):
        export(FOUND, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


def test_how_figures_were_made_comes_back(tmp_path: Path) -> None:
    card = Card("cmp(epsilon=5.0)", "metric-dp", 5.0, "metric-dp: 100", "", "words", "word", 20)
    facts = (("command", "veil audit"), ("seed", "7"), ("veil", "1"), ("log", "secret"))
    found = replace(
        FOUND, cards=(card,), facts=facts, notes=("A note.",),
        examples=(Example("cmp", "secret", ("secret",)),),
        worst=(("cmp(epsilon=5.0)", 20, "bayes", 0.5),),
    )  # fmt: skip
    path = write_facts(found, tmp_path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "secret" not in path.read_text()
    read = read_facts(tmp_path)
    assert read == facts_of(found)
    assert read.claims["cmp(epsilon=5.0)", 20].total == "metric-dp: 100"
    assert read.worst["cmp(epsilon=5.0)", 20, "bayes"] == 0.5
    assert (read.command, read.seed, read.notes) == ("veil audit", "7", ("A note.",))
    assert read_facts(tmp_path / "older") == Facts()
    for wrong in ("", "{}", "[]", '{"claims": [1], "notes": []}', "[" * 10_000):
        path.write_text(wrong)
        with pytest.raises(InputError, match="Cannot read the facts"):
            read_facts(tmp_path)
