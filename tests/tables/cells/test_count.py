"""``veil tables count``: what it prints, what it writes, and what it refuses."""

import csv
import json
import stat
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from veil import tables
from veil.cli import veil
from veil.core.errors import VeilError

HEADER = "town,trade,pay\n"
COUNTS = {("Rome", "mill"): 2, ("Rome", "shop"): 20, ("Oslo", "mill"): 15, ("Oslo", "shop"): 30}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [f"{town},{trade},1.5\n" for (town, trade), n in COUNTS.items() for _ in range(n)]
    path = tmp_path / "people.csv"
    path.write_text(HEADER + "".join(rows), encoding="utf-8")
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(veil, ["tables", "count", *map(str, arguments)])


def test_a_grid_is_printed(file: Path) -> None:
    result = run(file, "town", "trade", "-m", "suppress(threshold=3)", "--audit")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    rome = next(line for line in lines if "Rome" in line)
    assert "x (0 to 17)" in rome
    assert "22" in rome
    assert "9 cells with sums, 4 suppressed" in result.stderr
    assert "work out no cells" in result.stderr or "work out 0 cells" in result.stderr
    assert "no formal guarantee" in result.stderr


def test_cells_are_written_for_their_owner_alone(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.csv"
    result = run(file, "town", "trade", "-m", "suppress(threshold=3)", "--audit", "-o", out)
    assert result.exit_code == 0
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["town", "trade", "count", "low", "high"]
    assert ["Rome", "mill", "", "0", "17"] in rows
    assert ["Rome", "*", "22", "22", "22"] in rows
    assert ["*", "*", "67", "67", "67"] in rows
    assert len(rows) == 10
    card = tmp_path / "cells.csv.veil.json"
    assert stat.S_IMODE(card.stat().st_mode) == 0o600
    content = json.loads(card.read_text(encoding="utf-8"))
    assert content["suppressed"] == 4
    assert content["seeded"] is False
    assert "primary" not in card.read_text(encoding="utf-8")


def test_a_seed_is_marked(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.csv"
    result = run(file, "town", "-m", "sample(rate=0.5)", "--seed", "1", "-o", out)
    assert result.exit_code == 0
    assert "NOT PRIVATE" in result.stderr
    assert "NOT PRIVATE" in (tmp_path / "cells.csv.veil.json").read_text(encoding="utf-8")


def test_methods_follow_each_other(file: Path) -> None:
    result = run(file, "town", "trade", "-m", "rollup(groups='Rome,Oslo=both')",
                 "-m", "round(base=5)")  # fmt: skip
    assert result.exit_code == 0
    assert "both" in result.stdout
    assert "Rome" not in result.stdout
    assert "15" in result.stdout


def test_hierarchies_come_from_a_folder(file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "levels"
    folder.mkdir()
    (folder / "town.csv").write_text("Rome;south;*\nOslo;north;*\n", encoding="utf-8")
    result = run(file, "town", "--hierarchies", folder, "-m", "rollup(by=town, level=1)")
    assert result.exit_code == 0
    assert "south" in result.stdout


def test_sums_and_long_tables(file: Path) -> None:
    result = run(file, "trade", "--value", "pay", "-m", "round(base=10)")
    assert result.exit_code == 0
    assert "value" in result.stdout
    assert "80" in result.stdout  # 50 shops at 1.5


def test_failures_leave_no_file(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "cells.csv"
    for arguments in (
        ("town", "-m", "suppress(threshold=60)"),  # nothing to hide behind
        ("twon", "-m", "suppress"),
        ("town", "-m", "supress"),
        ("town", "--value", "trade", "-m", "round"),
    ):
        result = run(file, *arguments, "-o", out)
        assert isinstance(result.exception, VeilError)
        assert not out.exists()
        assert not out.with_name("cells.csv.veil.json").exists()
    assert isinstance(run(file, "town", "-m", "round", "-o", file).exception, VeilError)
    assert file.read_text(encoding="utf-8").startswith(HEADER)
    wrong = run(file, "town", "-m", "round", "-o", tmp_path / "cells.parquet")
    assert isinstance(wrong.exception, VeilError)
    assert run(file, "town").exit_code == 2  # no method: no table


def test_formulas_are_quoted_when_asked(tmp_path: Path) -> None:
    cells = tables.tabulate(tables.load({"x": ["=1+1"] * 9 + ["b"] * 9}), ["x"])
    release = tables.protect(cells, "suppress")
    release.to_csv(tmp_path / "plain.csv")
    release.to_csv(tmp_path / "safe.csv", excel_safe=True)
    assert "\n=1+1,9\n" in (tmp_path / "plain.csv").read_text(encoding="utf-8")
    assert "\n'=1+1,9\n" in (tmp_path / "safe.csv").read_text(encoding="utf-8")


def test_a_star_that_is_a_category_is_not_a_sum(tmp_path: Path) -> None:
    cells = tables.tabulate(tables.load({"x": ["*"] * 9 + ["b"] * 9}), ["x"])
    out = tmp_path / "cells.csv"
    tables.protect(cells, "suppress").to_csv(out)
    assert out.read_text(encoding="utf-8").splitlines() == ["x,count", "*,9", "b,9", "**,18"]


def test_a_suppressed_number_stands_nowhere(tmp_path: Path) -> None:
    values = np.full((3, 3), 1000.0)
    values[1, 1] = 777
    release = tables.protect(tables.tabulate(values), "suppress(threshold=900)")
    out = tmp_path / "cells.csv"
    release.to_csv(out)
    written = out.read_text(encoding="utf-8") + out.with_name(out.name + ".veil.json").read_text()
    assert ",777\n" not in written


def test_an_audit_of_sums_names_contributors_and_weights_count(tmp_path: Path) -> None:
    rows = [f"p{i},t{j},{100 + n},{1 + n}\n" for i in range(3) for j in range(3)
            for n in range(12) if (i, j) not in ((0, 0), (0, 1), (1, 0), (1, 1))]  # fmt: skip
    rows += ["p0,t0,500,1\n", "p0,t1,400,1\n", "p1,t0,300,1\n", "p1,t1,200,1\n"]
    path = tmp_path / "firms.csv"
    path.write_text("place,trade,sales,w\n" + "".join(rows), encoding="utf-8")
    sums = ("-m", "suppress(rule='p_percent(p=10)')", "--value", "sales", "--audit")
    result = run(path, "place", "trade", *sums)
    assert result.exit_code == 0, result.output
    assert "No sensitive cell of others can be worked out exactly by" in result.stderr
    assert "each contributor who knows its own amounts" in " ".join(result.stderr.split())
    weighted = ("--weight", "w", "-m", "suppress(threshold=1)")
    counted = run(path, "place", "trade", *weighted, "--unweighted")
    assert "64" in counted.stdout
    assert "394" in run(path, "place", "trade", *weighted).stdout
    blocks = run(path, "place", "trade", *weighted, "--blocks", "10")
    assert isinstance(blocks.exception, VeilError)
    assert "weights" in str(blocks.exception)
