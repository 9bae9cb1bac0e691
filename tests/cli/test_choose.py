"""``veil choose``, with good and with bad input."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cli.conftest import Veil

from veil.studies.export import read_csv, write_csv
from veil.studies.results import Kind, Results, Row


def row(
    spec: str, kind: Kind, measure: str, score: float, attacker: str = "", n: int = 400
) -> Row:
    return Row(
        "c", "bm25", "cmp", spec, "epsilon", 1.0, 5, kind, measure, attacker, score, score - 0.01,
        score + 0.01, n, 0.01 if kind == "risk" else None,
    )  # fmt: skip


ROWS = (
    row("cmp(epsilon=1.0)", "risk", "active", 0.0, "inference"),
    row("cmp(epsilon=1.0)", "utility", "nDCG@10", 0.2),
    row("cmp(epsilon=9.0)", "risk", "active", 0.5, "inference"),
    row("cmp(epsilon=9.0)", "utility", "nDCG@10", 0.6),
)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    write_csv(Results("c", ROWS), tmp_path / "results.csv")
    return tmp_path


def small(report: Path) -> None:
    rows = tuple(replace(one, n=40) for one in ROWS)
    write_csv(Results("c", rows), report / "results.csv")


def test_it_reads_the_last_audit(veil: Veil, report: Path) -> None:
    assert read_csv(report / "results.csv") == ROWS
    strict = veil("choose", "--max-risk", "0.05", "--results", report)
    assert (strict.code, strict.err) == (0, "")
    assert strict.out == (
        "cmp(epsilon=1.0) with 5 variants: utility 0.200, risk 0.000 by inference, at most 0.010"
        " with 97.5 % confidence (n = 400).\n"
    )
    lax = veil("choose", "--max-risk", "0.9", "--results", report, "--json")
    document = json.loads(lax.out)
    assert document["best"]["spec"] == "cmp(epsilon=9.0)"
    assert document["certified"] is True


def test_what_is_not_certified_is_marked_and_has_a_code_of_its_own(
    veil: Veil, report: Path
) -> None:
    small(report)
    result = veil("choose", "--max-risk", "0.05", "--results", report)
    assert result.code == 3
    assert result.out.startswith("Not certified: cmp(epsilon=1.0) with 5 variants")
    assert "risk 0.000 by inference, at most 0.089 with 97.5 % confidence (n = 40)" in result.out
    assert result.err == (
        "veil: No configuration is certified to keep the active attacker's risk at or below 0.05:"
        " the study is too small: it has 40 queries, and at least 72 are needed even if none is"
        " guessed.\n"
    )
    as_json = veil("choose", "--max-risk", "0.05", "--results", report, "--json")
    document = json.loads(as_json.out)
    assert (as_json.code, document["certified"]) == (3, False)
    assert document["best"]["upper"] == pytest.approx(0.0881, abs=1e-4)
    daring = veil("choose", "--max-risk", "0.05", "--results", report, "--mean")
    assert (daring.code, daring.out, daring.err) == (0, result.out, "")


def test_attackers_that_were_not_faced_are_named(veil: Veil, report: Path) -> None:
    rows = (*ROWS, row("cmp(epsilon=9.0)", "risk", "active", 0.5, "bayes"))
    write_csv(Results("c", rows), report / "results.csv")
    spared = veil("choose", "--max-risk", "0.05", "--results", report)
    assert spared.code == 0
    assert spared.err.startswith(
        "Attacks that were tried on others were not tried on cmp(epsilon=1.0): bayes."
    )
    assert veil("choose", "--max-risk", "0.9", "--results", report).err == ""


def test_what_cannot_be_is_one_sentence(veil: Veil, report: Path) -> None:
    def refused(*more: object) -> str:
        return veil("choose", "--results", report, *more).refused()

    small(report)
    assert "would accept everything" in refused("--max-risk", "0.2", "--attacker", "persistent")
    assert "from 0 to 1" in refused("--max-risk", "nan")
    assert "from 0 to 1" in refused("--max-risk", "2")
    assert "measure 'lazy'" in refused("--max-risk", "0.1", "--attacker", "lazy")
    assert "no such engine" in refused("--max-risk", "0.1", "--engine", "dense")
    write_csv(Results("c", ROWS[2:]), report / "results.csv")
    assert "No configuration keeps" in refused("--max-risk", "0.1")
    unknown = tuple(replace(one, score=math.nan) if one.attacker else one for one in ROWS)
    write_csv(Results("c", unknown), report / "results.csv")
    assert "no risk is known" in refused("--max-risk", "0.1")
    several = tuple(replace(one, data="d") for one in ROWS)
    write_csv(Results("c", ROWS + several), report / "results.csv")
    assert "several values of collection. Choose one: c, d" in refused("--max-risk", "0.1")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "Run 'veil audit' first"),
        (b"", "is empty"),
        (b"odd,table\n1,2\n", "is not a table of a report"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "is not a table of a report"),
    ],
)
def test_other_files_are_no_audit(
    veil: Veil, tmp_path: Path, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        (tmp_path / "results.csv").write_bytes(content)
    assert sentence in veil("choose", "--max-risk", "0.5", "--results", tmp_path).refused()


def test_a_table_of_a_heading_alone_is_empty(veil: Veil, tmp_path: Path) -> None:
    write_csv(Results("c", ()), tmp_path / "results.csv")
    assert "is empty" in veil("choose", "--max-risk", "0.5", "--results", tmp_path).refused()
