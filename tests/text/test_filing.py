"""A file is protected from Python as by the command."""

import csv
import gzip
import json
from pathlib import Path

import pytest
from tests.conftest import make_space

import veil

SPACE = make_space(60, 4)
A, B, C = SPACE.words[:3]
CMP = veil.CMP(epsilon=2)


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def source(folder: Path, name: str = "in.csv") -> Path:
    path = folder / name
    path.write_text(f"id;text;age\na@b.org;{A} {B};7\nc@d.org;{A} {B} {C};8\n")
    return path


def test_rows_are_numbered_and_nothing_else_leaves(tmp_path: Path) -> None:
    made = veil.protect_file(source(tmp_path), tmp_path / "out.csv", CMP, SPACE, 3)
    rows = rows_of(tmp_path / "out.csv")
    assert list(rows[0]) == ["id", "variant", "obfuscatedText", "mechanism", "seeded"]
    assert [(row["id"], row["variant"]) for row in rows] == [
        (str(i), str(j)) for i in (1, 2) for j in (1, 2, 3)
    ]
    assert (made.texts, made.protected, made.kept, made.columns) == (2, 5, 0, ())
    assert made.spread == (2, 2.5, 3)
    assert made.cost.epsilon == 2 * 5 * 3
    assert not made.seeded
    assert made.path == tmp_path / "out.csv"


def test_what_is_named_leaves(tmp_path: Path) -> None:
    made = veil.protect_file(
        source(tmp_path), tmp_path / "out.jsonl", CMP, SPACE, id="ID", keep=["age"], seed=3
    )
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [(row["id"], row["age"]) for row in rows] == [("a@b.org", "7"), ("c@d.org", "8")]
    assert (made.columns, made.seeded) == (("ID", "age"), True)


def test_originals_are_for_the_owner(tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    veil.protect_file(str(source(tmp_path)), str(out), CMP, SPACE, with_originals=True)
    assert rows_of(out)[0]["text"] == f"{A} {B}"
    assert out.stat().st_mode & 0o077 == 0


def test_the_cost_is_that_of_the_choices(tmp_path: Path) -> None:
    path = tmp_path / "in.txt.gz"
    path.write_bytes(gzip.compress(f"{A} {B}\n{A} {C}\n".encode()))
    made = veil.protect_file(path, tmp_path / "out.txt", CMP, SPACE, select=[A])
    assert (made.kept, made.cost.passed, made.cost.epsilon) == (2, 2, 4.0)
    assert "There is no bound between a word that is selected" in made.cost.caveat
    long = veil.Embeddings(SPACE.words, SPACE.vectors * 1_000)
    made_of_long = veil.protect_file(path, tmp_path / "long.txt", CMP, long)
    assert "the usual budgets hide nearly nothing." in made_of_long.cost.caveat
    assert made.columns == ()


def test_nothing_is_written_where_something_is_wrong(tmp_path: Path) -> None:
    path, out = source(tmp_path), tmp_path / "out.csv"
    with pytest.raises(veil.UnprotectedError, match=r"Row 1 \(line 2\) of in.csv "):
        veil.protect_file(path, out, CMP, SPACE, select=[C])
    with pytest.raises(veil.InputError, match="replace the input"):
        veil.protect_file(path, path, CMP, SPACE)
    with pytest.raises(veil.InputError, match="own column 'variant'"):
        veil.protect_file(path, out, CMP, SPACE, keep=["variant"])
    with pytest.raises(veil.InputError, match="no columns to keep"):
        veil.protect_file(path, tmp_path / "out.txt", CMP, SPACE, keep=["age"])
    with pytest.raises(veil.InputError, match="does not exist"):
        veil.protect_file(tmp_path / "gone.csv", out, CMP, SPACE)
    with pytest.raises(veil.ParameterError, match="word vectors"):
        veil.protect_file(path, out, CMP)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["in.csv"]


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    veil.protect_file(
        source(tmp_path), tmp_path / "out.csv", CMP, SPACE,
        report=lambda what, done, total: told.append((what, done, total)),
    )  # fmt: skip
    assert told
    assert all(done <= total for _, done, total in told)
