"""A domain of a page of the documentation gets the whole loop, and faults in it are noticed."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tests.town import MASKS, PAGE, code, forget, install
from tests.town import town as town

from veil.cli import run
from veil.core.errors import ParameterError, StepError, UnknownNameError
from veil.measures.quipu import quipu
from veil.studies.check import check_domain
from veil.studies.domains import domain, domains, load_study, make_study, vocabulary
from veil.studies.export import export, read_csv
from veil.studies.report.report import render
from veil.studies.sweep import sweep

KEYS: dict[str, Any] = {"points": "homes.csv", "mechanism": MASKS, "sizes": [1, 3]}


def test_the_town_keeps_the_contract(town: Path) -> None:
    assert domains()["town"] == "Domain from veil_town."
    check_domain("town", KEYS)


FAULTS = {  # what is said, and the change of the page's code that brings it about
    "each step must have a different key": ('("nearest",)', '("nearest", "nearest")'),
    "an attack must give a risk": ('"household", ties=ties', '"room", ties=ties'),
    "a resumed sweep must give the same": (
        "self.draws(step)",
        "generator(None)",
    ),
    "a step must work on the release of its cell": (
        "    def use(self",
        "    def step(self, kind, spec='', size=0, of='', by=''):\n"
        "        return super().step(kind, spec, size, of and 'x', by)\n\n"
        "    def use(self",
    ),
    "the same study must give the same keys": ('"squares")', 'f"squares{chance()}")'),
    "each configuration must have a right square": (
        'Figure("utility", "right square"',
        'Figure("utility", "squares"',
    ),
    "the unprotected data must also have a utility": (
        'elif step.kind == "count":',
        "elif step.of:",
    ),
}
CHANCE = "\n\ndef chance() -> float:\n    return float(generator(None).random())\n"


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(fault: str, town: Path) -> None:
    old, new = FAULTS[fault]
    assert code().count(old) == 1
    install(town, code().replace(old, new) + CHANCE)
    forget()
    with pytest.raises(AssertionError, match=fault):
        check_domain("town", {**KEYS, "sizes": [1]})


def test_a_study_file_names_its_domain(town: Path) -> None:
    (town / "town.toml").write_text(
        'domain = "town"\npoints = "homes.csv"\n[[mechanism]]\nspec = "laplace"\n'
        'parameter = "epsilon"\nvalues = [0.001, 0.01]\n'
    )
    study = load_study(town / "town.toml")
    found = sweep(study, town / "out", workers=2)  # workers find the plugin, too
    assert {row.domain for row in found.rows} == {"town"}
    export(found, town / "out")
    header = (town / "out" / "results.csv").read_text().partition("\n")[0]
    assert header.startswith("domain,data,task,mechanism,")
    assert read_csv(town / "out" / "results.csv") == found.rows
    page = render(found)
    for said in ("risk and utility of households on a map", "right square", "true homes"):
        assert said in page
    for word in ("quer", "variant", "nDCG", "plain search"):
        assert word not in page.replace("querySelector", "").replace("font-variant", "")


def test_the_words_of_a_report_are_those_of_the_domain(town: Path) -> None:
    words = vocabulary("town")
    assert words.sizes(1) == "1 release"
    assert words.sizes(2) == "2 releases"
    assert words.axis("odd").says == "the attacker's success"
    assert sorted(["odd", "active", "lazy"], key=words.rank) == ["lazy", "active", "odd"]


def test_a_curve_runs_towards_more_useful_whatever_its_parameter(town: Path) -> None:
    study = make_study({"name": "x", "domain": "town", **KEYS, "sizes": [1]}, "x", town)
    found = sweep(study, town / "out", workers=0)
    for mechanism in ("laplace", "disc"):
        scores = [one for one in found.scores if one.mechanism == mechanism]
        rows = [row for row in found.rows if row.mechanism == mechanism]
        useful = sorted(
            (row for row in rows if row.measure == "right square"), key=lambda row: row.score
        )
        risks = {row.spec: row.score for row in rows if row.measure == "motivated"}
        ends = [(risks[row.spec], row.score) for row in useful]
        (motivated,) = (one for one in scores if one.measure == "motivated")
        wanted = quipu([risk for risk, _ in ends], [utility for _, utility in ends])
        assert motivated.score == pytest.approx(wanted)


def test_a_domain_that_is_not_there_is_told(town: Path) -> None:
    with pytest.raises(UnknownNameError, match="No domain called 'twon'. Did you mean 'town'?"):
        domain("twon")
    for kind, error in (("twon", UnknownNameError), (3, ParameterError)):
        with pytest.raises(error, match="'domain'"):
            make_study({"name": "x", "domain": kind}, "x.toml", town)


def test_the_lines_of_the_page_run(town: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = PAGE.read_text()
    _, check = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(check, PAGE.name, "exec"), {})  # noqa: S102 - our own
    _, study = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    (town / "town.toml").write_text(study)
    (commands,) = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    for line in [*commands.splitlines(), "veil audit town.toml --workers 0 --out audit"]:
        assert run(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert (town / "town.html").exists()
    assert (town / "audit" / "report.html").exists()


def test_the_page_is_found() -> None:
    for place in ("docs/extending.md", "mkdocs.yml"):
        assert "add-a-domain.md" in (PAGE.parents[1] / place).read_text()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_step_that_fails_is_named_and_not_quoted(town: Path, workers: int) -> None:
    broken = code().replace("far = np.linalg", "raise KeyError('xanthippe')\n    far = np.linalg")
    install(town, broken)
    forget()
    study = make_study({"name": "x", "domain": "town", **KEYS}, "x", town)
    with pytest.raises(StepError) as raised:
        sweep(study, town / "out", workers=workers)
    said = str(raised.value)
    assert re.match(r"The step 'attack' of \w+\(.*\) by nearest failed: internal error", said)
    assert re.search(r"\(KeyError at veil_town.py:\d+\)\. Finished results are kept.$", said)
    assert "xanthippe" not in said


def test_a_key_of_another_domain_is_told(town: Path) -> None:
    with pytest.raises(ParameterError, match="x.toml has no 'collection'"):
        make_study({"name": "x", "domain": "town", "collection": "c", **KEYS}, "x.toml", town)
