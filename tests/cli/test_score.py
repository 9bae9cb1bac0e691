"""``veil score``: what it prints and writes, and what it says of files that cannot be used."""

from pathlib import Path

import pytest
from tests.cli.conftest import Veil
from tests.search.score.conftest import folder as folder

from veil.studies.export import read_csv


def test_files_become_a_report_and_tables(folder: Path, veil: Veil) -> None:
    out = folder / "out"
    found = veil(
        "score", folder / "variants", "--runs", folder / "runs", "--qrels", folder / "qrels.txt",
        "--log", folder / "log.txt", "--plain", folder / "plain.run", "--out", out,
        "--attacker", "inference(encoder=bag)", "--name", "mine",
    )  # fmt: skip
    assert found.code == 0
    assert "QuIPU on mine" in found.out
    assert "cmp" in found.out
    assert "<svg" in (out / "report.html").read_text()
    assert {row.data for row in read_csv(out / "results.csv")} == {"mine"}
    assert "scores.csv" in found.err
    assert veil("choose", "--max-risk", "1", "--mean", "--results", out).code == 0


def test_a_manifest_stands_for_both(folder: Path, veil: Veil) -> None:
    lines = [f"variants/set_CMP_{value}.csv,runs/set_CMP_{value}.run" for value in (1, 10)]
    (folder / "pairs.csv").write_text("\n".join(["variants,run", *lines]) + "\n")
    given = ("--qrels", folder / "qrels.txt", "--log", folder / "log.txt", "--out", folder / "o")
    attacker = ("--attacker", "inference(encoder=bag)")
    assert veil("score", "--manifest", folder / "pairs.csv", *given, *attacker).code == 0
    told = veil("score", folder / "variants", "--manifest", folder / "pairs.csv", *given)
    assert "Remove these arguments" in told.refused()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["variants", "--runs", "runs"], "Add --qrels"),
        (["--runs", "runs", "--qrels", "qrels.txt"], "Files of variants are required"),
        (["variants", "--qrels", "qrels.txt"], "Add --runs"),
        (["variants", "--runs", "empty", "--qrels", "qrels.txt"], "empty is empty"),
        (
            ["variants", "--runs", "runs", "--qrels", "no.txt", "--log", "log.txt"],
            "does not exist",
        ),
        (["variants", "--runs", "runs", "--qrels", "qrels.txt"], "needs a query log"),
    ],
)
def test_what_is_missing_is_told_in_a_sentence(
    folder: Path, veil: Veil, monkeypatch: pytest.MonkeyPatch, given: list[str], told: str
) -> None:
    (folder / "empty").mkdir()
    monkeypatch.chdir(folder)
    assert told in veil("score", *given).refused()
