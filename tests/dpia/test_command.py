"""The command: documents, the template, and one sentence for every mistake."""

import json
import tomllib
from pathlib import Path

import pytest
from tests.cli.conftest import Veil
from tests.cli.conftest import surroundings as surroundings
from tests.cli.conftest import veil as veil
from tests.dpia.case import study
from tests.tables.people import written as write_people

from veil import tables
from veil.core.errors import InputError
from veil.dpia import dpia
from veil.dpia.answers import Answers
from veil.dpia.assessment import assess
from veil.dpia.load import TEMPLATE
from veil.studies.domains import domain

TABLE = """
name = "Town"
table = "town.csv"
identifiers = ["name"]
qi = ["age", "sex"]
confidential = ["illness", "wage"]
attackers = ["linkage"]

[[release]]
spec = "mondrian(k=6)"
"""


@pytest.fixture
def town(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_people(tmp_path)
    (tmp_path / "assess.toml").write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [("dpia",), ("tables", "dpia")])
def test_a_table_is_measured_and_written(command: tuple[str, ...], veil: Veil, town: Path) -> None:
    for ending in ("html", "md", "json"):
        said = veil(*command, "assess.toml", "-o", f"d.{ending}")
        assert said.code == 0, said.err
        assert f"d.{ending}: 4" in said.err
        assert "mondrian(k=6)" in (town / f"d.{ending}").read_text().replace("\\", "")


def test_the_contract_of_tables(town: Path) -> None:
    tables.dpia("assess.toml", "d.json")
    document = json.loads((town / "d.json").read_text())
    by = {one["reference_to"]: one["data"] for one in document["answers"]}
    table = tables.load("town.csv", ["name"], ["age", "sex"], ["illness", "wage"])
    release = tables.protect(table, "mondrian(k=6)")
    risk = tables.attack(table, release, "linkage").risk
    assert f"The largest measured risk is {risk:.3f}" in by[326]["text"]
    assert by[326]["gauge"] == 1 + sum(risk >= bound for bound in (0.01, 0.05, 0.2))
    assert "k-anonymity: k = " in by[326]["text"]


def test_each_release_has_its_attackers(town: Path) -> None:
    text = TABLE + 'attackers = ["homogeneity"]\n\n[[release]]\nspec = "pram(p=0.9)"\n'
    (town / "assess.toml").write_text(text)
    source = assess("assess.toml").sources[0]
    pairs = {(row.mechanism, row.attacker) for row in source.counted}
    assert pairs == {("mondrian", "homogeneity"), ("pram", "linkage")}


def test_a_template_is_written_once_and_can_be_run(veil: Veil, tmp_path: Path) -> None:
    path = tmp_path / "new.toml"
    assert veil("dpia", "--new", path).code == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert "already exists" in veil("dpia", "--new", path).refused()
    assert veil("dpia", path, "-o", tmp_path / "d.html").code == 0
    assert "NOT STATED" in (tmp_path / "d.html").read_text()


def test_the_template_names_every_key() -> None:
    bare = "\n".join(
        line.removeprefix("# ") if "=" in line else line for line in TEMPLATE.split("\n")
    )
    for key in Answers.model_fields:
        assert f"{key} =" in bare or f"[{key}" in bare, key
    assert tomllib.loads(TEMPLATE)["thresholds"] == [0.01, 0.05, 0.2]
    assert "table" in domain("tables").keys.model_fields


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('controler = "x"', "has no 'controler'. Did you mean 'controller'?"),
        ("[people]\nauthr = 'x'", "[people] of a.toml has no 'authr'. Did you mean 'author'?"),
        ("[risks.acces]", "[risks] of a.toml has no 'acces'. Did you mean 'access'?"),
        ("[risks.access]\nlikelihood = 2", "[risks.access] of a.toml has no 'likelihood'"),
        ("[risks.loss]\nseverity = 5", "'severity' of [risks.loss] of a.toml must be at most 4"),
        ("[risks.loss]\nseverity = 0", "'severity' of [risks.loss] of a.toml must be at least 1"),
        ("[risks.loss]\nseverity = 2.5", "must be a whole number"),
        ("[risks.loss]\nseverity = true", "must be a whole number"),
        ("[[measures]]\ntitle='x'\nagainst=['fire']", "[[measures]] 1 of a.toml must be of"),
        ("[[measures]]\ncontent='x'", "The 'title' of [[measures]] 1 of a.toml must be there"),
        ("[[studies]]\nfolder = 'x'", "[[studies]] 1 of a.toml"),
        ("name = 3", "The 'name' of a.toml must be a text in quotes, or a list of texts"),
        ("name = [3]", "must be a text in quotes, or a list of texts"),
        ("people = 3", "The 'people' of a.toml must be"),
        ("date = '31.1.2025'", "The 'date' of a.toml must be a day, as 2025-01-31"),
        ("date = 2025-01-31T10:00:00", "The 'date' of a.toml must be a day without a time"),
        ("date = 2025-02-01\nnext_review = 2025-02-01", "must be later than 'date'"),
        ("thresholds = [0.1, 0.05, 0.2]", "'thresholds' must be three increasing numbers"),
        ("thresholds = [0.1, 0.2]", "'thresholds' of a.toml must be a list of three numbers"),
        ("thresholds = [0.1, 0.2, 2]", "must be below 1"),
        ("[[studies]]\nresults = 'none'", "does not exist"),
        ("table = 'town.csv'", "both a 'table' and a [[release]]"),
        ("tabel = 'town.csv'\n[[release]]\nspec = 'mdav(k=3)'", "has no 'tabel'"),
        ("table = 'x.csv'\nqii = ['a']\n[[release]]\nspec = 'mdav(k=3)'", "Did you mean 'qi'?"),
        ("table = 'none.csv'\n[[release]]\nspec = 'mdav(k=3)'", "none.csv"),
        ("table = 'town.csv'\n[[release]]\nspec = 'mdva(k=3)'", "mdva"),
        ("x = [", "is not valid TOML"),
        ("name = '" + "x" * 20_001 + "'", "at most 20000 characters"),
    ],
)
def test_a_mistake_is_one_sentence(text: str, told: str, veil: Veil, town: Path) -> None:
    (town / "a.toml").write_text(text)
    assert told in veil("dpia", "a.toml").refused()
    assert not (town / "dpia.html").exists()


def test_mistakes_with_files(veil: Veil, town: Path) -> None:
    assert "--new" in veil("dpia", "none.toml").refused()
    assert "one of .html, .md, .json" in veil("dpia", "assess.toml", "-o", "d.pdf").refused()
    assert "does not exist" in veil("dpia", "assess.toml", "-o", "no/d.md").refused()
    (town / "bytes.toml").write_bytes(b"\xff")
    assert "not UTF-8" in veil("dpia", "bytes.toml").refused()
    (town / "big.toml").write_bytes(b"#" * (2**20 + 1))
    assert "too large" in veil("dpia", "big.toml").refused()


def test_no_input_is_overwritten(veil: Veil, town: Path) -> None:
    study(town)
    (town / "a.toml").write_text("[[studies]]\nresults = 'out'\n")
    before = (town / "out" / "facts.json").read_bytes()
    said = veil("dpia", "a.toml", "-o", "out/facts.json").refused()
    assert "would overwrite the input" in said
    (town / "link.md").symlink_to(town / "a.toml")
    (town / "hard.md").hardlink_to(town / "a.toml")
    assert "would overwrite the input" in veil("dpia", "a.toml", "-o", "link.md").refused()
    assert "would overwrite the input" in veil("dpia", "a.toml", "-o", "hard.md").refused()
    with pytest.raises(InputError, match="would overwrite the input"):
        dpia("a.toml", "link.md")
    assert (town / "out" / "facts.json").read_bytes() == before
    assert (town / "a.toml").read_text() == "[[studies]]\nresults = 'out'\n"


def test_a_configuration_that_is_not_there_is_refused(veil: Veil, town: Path) -> None:
    study(town)
    (town / "a.toml").write_text("[[studies]]\nresults = 'out/results.csv'\nspec = 'mdav(k=9)'\n")
    assert "Available: plain, mdav(k=3)" in veil("dpia", "a.toml").refused()
    (town / "out" / "results.csv").write_text("a,b\n1,2\n")
    assert "is not a table of a report" in veil("dpia", "a.toml").refused()


def test_a_release_that_nobody_could_attack_is_refused(veil: Veil, town: Path) -> None:
    (town / "assess.toml").write_text(TABLE.replace('"linkage"', '"journalist"'))
    said = veil("dpia", "assess.toml").refused()
    assert "no measured risk" in said or "applies to" in said


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing yet\n"])
def test_a_file_without_answers_is_refused(text: str, veil: Veil, tmp_path: Path) -> None:
    (tmp_path / "empty.toml").write_text(text)
    result = veil("dpia", tmp_path / "empty.toml", "-o", tmp_path / "dpia.html")
    assert result.code == 2
    assert "empty.toml has no answers. Write a template with 'veil dpia --new FILE'" in result.err
    assert not (tmp_path / "dpia.html").exists()
