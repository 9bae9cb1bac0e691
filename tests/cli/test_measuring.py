"""``veil attack`` and ``veil audit``, with good and with bad input."""

import json
import re
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from tests.cli.conftest import CANARY, Veil
from tests.search.conftest import BagEncoder

from veil.cli.studies import show_scores
from veil.search.study.study import default_study, demo_study
from veil.studies.export import read_csv
from veil.studies.results import Results, Score

LOG = "cat has flu\nthe dog\nmoney in the bank\nmad doctor\nlondon and paris\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.txt"
    file.write_text(LOG)
    return file


@pytest.fixture
def variants(tmp_path: Path) -> Path:
    file = tmp_path / "variants.csv"
    file.write_text(
        "id,text,obfuscatedText,mechanism,epsilon\n"
        "1,cat has flu,cat has flu,CMP,10\n1,cat has flu,dog has flu,CMP,10\n"
        "2,the dog,the cat,CMP,10\n2,the dog,the dog,CMP,10\n"
        "1,cat has flu,paris bank,CMP,1\n2,the dog,mad money,CMP,1\n"
    )
    return file


@pytest.fixture(autouse=True)
def bag(monkeypatch: pytest.MonkeyPatch) -> None:
    made = BagEncoder()
    monkeypatch.setattr(import_module("veil.text.attack"), "open_encoder", lambda *_: made)


def test_attack_prints_risks_and_chance(veil: Veil, variants: Path, log: Path) -> None:
    result = veil("attack", variants, "--log", log)
    assert result.code == 0, result.err
    for part in ("CMP epsilon=10", "CMP epsilon=1", "lazy", "persistent", "a blind guess", "0.2"):
        assert part in result.out
    document = json.loads(veil("attack", variants, "--log", log, "--json").out)
    assert [entry["epsilon"] for entry in document] == ["10", "1"]
    assert document[0]["ranks"] == [1, 1]
    assert document[0]["risk"]["lazy"]["value"] == 1.0
    assert document[0]["risk"]["lazy"]["chance"] == pytest.approx(0.2)
    assert document[0]["missing_from_log"] == 0


def test_originals_that_the_log_lacks_are_said(veil: Veil, variants: Path, tmp_path: Path) -> None:
    short = tmp_path / "short.txt"
    short.write_text("the dog\nmad doctor\n")
    added = veil("attack", variants, "--log", short)
    assert "1 of 2 originals of CMP epsilon=10 are not in the log; they were added" in added.err
    bound = veil("attack", variants, "--log", short, "--as-is")
    assert "the risk is a lower bound" in bound.err
    document = json.loads(veil("attack", variants, "--log", short, "--as-is", "--json").out)
    assert document[0]["ranks"][0] == 3


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ([], "needs a log of queries. Add --log"),
        (["--log", "none.txt"], "File none.txt does not exist"),
        (["--log", "EMPTY"], "holds no"),
        (["--log", "LOG", "--attacker", "inferrence"], "Did you mean 'inference'?"),
        (["--log", "LOG", "--attacker", "bayes", "--mechanism", "cmpp"], "Did you mean 'cmp'?"),
        (["--log", "LOG", "--attacker", "bayes(prior=odd)"], "'prior' parameter of bayes"),
    ],
)
def test_bad_attacks_are_one_sentence(
    veil: Veil, variants: Path, log: Path, vectors: str, more: list[str], sentence: str
) -> None:
    empty = log.with_name("empty.txt")
    empty.write_text("\n")
    given = [{"LOG": str(log), "EMPTY": str(empty)}.get(each, each) for each in more]
    result = veil("attack", variants, "--vectors", vectors, *given)
    assert sentence in result.refused()


def test_the_mechanism_is_read_off_the_file(
    veil: Veil, variants: Path, log: Path, vectors: str, tmp_path: Path
) -> None:
    """Authors write the name and the parameter in columns of their own."""
    found = veil("attack", variants, "--log", log, "--attacker", "bayes", "--vectors", vectors)
    assert found.code == 0
    (tmp_path / "v.csv").write_text("id,text,obfuscatedText\n1,the dog,the cat\n")
    given = ("attack", tmp_path / "v.csv", "--log", log, "--attacker", "bayes")
    assert "Add --mechanism" in veil(*given, "--vectors", vectors).refused()


def test_variants_of_another_mechanism_are_no_sign_of_privacy(
    veil: Veil, vectors: str, tmp_path: Path
) -> None:
    (tmp_path / "v.csv").write_text("id,text,obfuscatedText\n1,qqqx,cat\n")
    given = ("attack", tmp_path / "v.csv", "--attacker", "reconstruct", "--vectors", vectors)
    found = veil(*given, "--mechanism", "cmp(epsilon=1)")
    assert "1 of 1 words of variants are out of reach" in found.err


def test_a_model_of_texts_is_for_those_who_compare_them(
    veil: Veil, variants: Path, log: Path
) -> None:
    refused = veil("attack", variants, "--log", log, "--attacker", "bayes", "--encoder", "minilm")
    assert "does not use a text encoder" in refused.refused()


def test_a_file_that_is_no_table_of_variants(veil: Veil, log: Path, tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text(f"id,name\n1,{CANARY}\n")
    veil("attack", tmp_path / "v.csv", "--log", log).refused()
    (tmp_path / "v.csv").write_text(f"id,text,obfuscatedText\n1,{CANARY},x\n1,other {CANARY},y\n")
    assert "Row 2 (line 3)" in veil("attack", tmp_path / "v.csv", "--log", log).refused()


NO_ATTACKER = re.compile(r"^attackers = .*$", re.MULTILINE)
STUDY = """
name = "tiny"
collection = "docs"
log = "log.txt"
vectors = "{vectors}"
encoder = "none"
sizes = [3]
queries = 0
attackers = ["reconstruct"]
[[mechanism]]
spec = "cmp"
parameter = "epsilon"
values = [1, 20]
"""


def test_audit_writes_a_report_and_goes_on_where_it_was(
    veil: Veil, vectors: str, tmp_path: Path, log: Path
) -> None:
    pytest.importorskip("ir_measures", reason="the extra 'measure' is not installed")
    pytest.importorskip("bm25s", reason="the extra 'search' is not installed")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "docs.jsonl").write_text(
        '{"id": "a", "text": "cat flu doctor"}\n{"id": "b", "text": "bank money london"}\n'
    )
    (folder / "queries.tsv").write_text("q1\tcat flu\nq2\tmoney bank\n")
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 1\n")
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(vectors=vectors))
    out = tmp_path / "report"
    first = veil("audit", study, "--out", out, "--workers", "0")
    assert first.code == 0, first.err
    assert "QuIPU on tiny" in first.out
    assert "nDCG@10" in first.out
    assert "recall@100" in first.out
    plain = tmp_path / "plain.toml"
    plain.write_text(NO_ATTACKER.sub("attackers = []", STUDY.format(vectors=vectors)))
    alone = veil("audit", plain, "--out", tmp_path / "alone", "--workers", "0")
    assert "Warning. No attack was tried" in alone.err
    page = (tmp_path / "alone" / "report.html").read_text()
    assert page.index("No attack was tried") < page.index("Risk and utility were not both")
    assert "recall@100" in page
    assert (out / "report.html").is_file()
    assert str(out / "results.csv") in first.err
    assert str(out / "scores.csv") in first.err
    rows = read_csv(out / "results.csv")
    again = veil("audit", study, "--out", out, "--workers", "0")
    assert again.out == first.out
    assert read_csv(out / "results.csv") == rows
    study.write_text(STUDY.format(vectors=vectors).replace("attackers", "atackers"))
    assert "Did you mean" in veil("audit", study, "--out", out).refused()
    assert "Cannot read the study" in veil("audit", tmp_path / "none.toml", "--out", out).refused()
    assert (
        "--workers cannot be combined"
        in veil("audit", study, "--dask", "x", "--workers", "1").refused()
    )
    assert "--demo" in veil("audit", study, "--demo").refused()


def test_scores_fit_the_screen_and_tell_what_is_alike(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    made = Score("dl19-pool", "bm25", "bayes", "lazy", "vickrey(noise=mahalanobis)", "vickrey",
                 "vickrey", "epsilon", 50, 0.25, 0.2, 0.3, 43, 10, 0, 0.0, 0.0, 0.0)  # fmt: skip
    alike = replace(made, curve="cmp", score=0.2, behind=0.05, behind_low=-0.1, behind_high=0.1)
    worse = replace(made, curve="tem", score=-0.1, behind=0.35, behind_low=0.3, behind_high=0.4)
    scores = [
        replace(one, measure=measure)
        for measure in ("lazy", "active", "motivated")
        for one in (made, alike, worse)
    ]
    scores.append(replace(made, attacker="inference(encoder=wordllama)", behind=None))
    show_scores(Results("study", (), scores=tuple(scores)))
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("+0.250 *") == out.count("+0.200 ≈") == 3
    assert out.count("-0.100   ") == 3
    assert "Against inference(encoder=wordllama), bm25, dl19-pool" in out


def test_the_default_studies_are_studies() -> None:
    assert default_study().name == "icd10cm"
    assert 0 < demo_study().queries <= 50


@pytest.mark.parametrize("columns", ["40", "80", "300"])
def test_no_name_is_cut(
    veil: Veil, variants: Path, log: Path, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = veil("attack", variants, "--log", log).out
    assert "…" not in out
    for part in ("CMP epsilon=10", "2 queries", "rank-biased", "1.000 [", "a blind guess"):
        assert part in out
