"""Sensitive documents as an experiment: the contract of domains, figures, and the report."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.sensitive.attacks.rooms import letters

from veil import sensitive
from veil.cli import veil
from veil.core.errors import InputError, ParameterError
from veil.sensitive.study import EXPOSURE, SHOWN, UTILITY, Sensitive, SensitiveStudy
from veil.studies.domains import load_study, make_study
from veil.studies.report.report import render
from veil.studies.results import PLAIN, Results
from veil.studies.sweep import sweep
from veil.testing import check_domain

ROOT = Path(__file__).resolve().parents[2]
POSTFILTER = {"spec": "postfilter", "parameter": "threshold", "values": [0.1, 0.5]}
ATTACKERS = ["queries", "known-item(terms=5)", "gap(terms=5)"]
CANARY = "zebulon"  # in every sensitive letter


def written(folder: Path) -> Path:
    """Write the letters as a test collection; sensitive ones have words of their own."""
    output = letters()
    hot = output.sensitive == 1
    docs = [
        {"id": name, "title": "", "text": text + (f" love {CANARY} dinner" if own else " invoice")}
        for name, text, own in zip(output.documents.ids, output.documents.texts, hot, strict=True)
    ]
    queries = [
        {"id": q, "text": text, "topic": output.topic(q)} for q, text in output.queries.items()
    ]
    for name, rows in (("docs", docs), ("queries", queries)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    grades = [f"{q} 0 {d} {g}\n" for q, own in output.judgements.items() for d, g in own.items()]
    (folder / "qrels.txt").write_text("".join(grades), encoding="utf-8")
    labels = [f"{name}\t{int(own)}\n" for name, own in zip(output.documents.ids, hot, strict=True)]
    (folder / "sensitivity.tsv").write_text("id\tsensitive\n" + "".join(labels), encoding="utf-8")
    return folder


def keys(folder: Path, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of any kind
    """Return the keys of a small study."""
    output = {"name": "s", "domain": "sensitive", "collection": str(folder), "folds": 3}
    return {**output, "mechanism": [POSTFILTER], "attackers": ATTACKERS, **given}


def brief(by: str) -> str:
    """Return the spec of an attacker as a study writes it."""
    return Sensitive.attacker_specs([by])[0]


def opened(folder: Path, **given: Any) -> Sensitive:  # noqa: ANN401 - keys of any kind
    """Open a study of the letters."""
    study = make_study(keys(folder, **given), "the test", folder)
    assert isinstance(study, SensitiveStudy)
    return Sensitive(study)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the letters once."""
    return written(tmp_path_factory.mktemp("letters"))


@pytest.fixture(scope="module")
def swept(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Sensitive, Results, Path]:
    """Sweep one study for several tests."""
    pytest.importorskip("sklearn")
    cut = {"spec": "postfilter(threshold=0.5, refill=false)"}
    experiment = opened(folder, mechanism=[POSTFILTER, cut, {"spec": "prefilter(threshold=0.5)"}])
    out = tmp_path_factory.mktemp("swept") / "out"
    return experiment, sweep(experiment.study, out, workers=0), out


def test_sensitive_documents_are_a_domain(folder: Path) -> None:
    pytest.importorskip("sklearn")
    output = keys(folder, attackers=["queries", "gap"])
    output.pop("domain")
    check_domain("sensitive", output)


def test_figures_are_those_of_the_verbs(swept: tuple[Sensitive, Results, Path]) -> None:
    experiment, actual, _ = swept
    collection, seed = experiment.collection, experiment.study.seed
    p = sensitive.cross_validate(collection, "logistic", 3, seed).p
    rows = {(row.spec, row.measure, row.attacker): row for row in actual.rows}
    spec = str(sensitive.MECHANISMS.parse("postfilter(threshold=0.5, refill=false)"))
    for by in ATTACKERS:
        risk = sensitive.attack(collection, spec, p, by, seed=seed).risk
        assert rows[spec, EXPOSURE, brief(by)].score == pytest.approx(float(risk))
    spot = sensitive.plane(collection, [spec], p)[0]
    assert rows[spec, UTILITY, ""].score == pytest.approx(float(spot.utility))
    shown = sensitive.rank(collection, spec, p)
    hot = {name for name, label in collection.labels.items() if label}
    subset = [not hot.isdisjoint(shown.list(row)) for row in range(len(collection.queries))]
    assert rows[spec, SHOWN, "queries"].score == pytest.approx(np.mean(subset))
    assert rows[PLAIN, EXPOSURE, brief("known-item")].score == 1


def test_no_more_cases_are_claimed_than_there_are(
    swept: tuple[Sensitive, Results, Path],
) -> None:
    experiment, actual, _ = swept
    hot = int((experiment.collection.sensitive == 1).sum())
    for row in actual.rows:
        if row.measure == EXPOSURE:
            assert row.n <= min(hot // 2, experiment.n)


def test_the_report_names_no_document(swept: tuple[Sensitive, Results, Path]) -> None:
    experiment, actual, _ = swept
    page = render(actual)
    ids = experiment.collection.documents.ids
    assert "Shown and withheld" in page
    assert "What can be inferred" in page
    assert "empty list" in page
    for text in (CANARY, *(rf"\b{name}\b" for name in ids)):
        sections = "".join(part for entry in actual.sections for part in entry.content)
        assert not re.search(text, sections)
    assert CANARY not in page


def test_guarantees_say_that_nothing_is_proved(swept: tuple[Sensitive, Results, Path]) -> None:
    _, actual, _ = swept
    assert {card.kind for card in actual.cards} == {"none"}
    prefilter = next(card for card in actual.cards if card.spec.startswith("prefilter"))
    assert "caught" in prefilter.caveat


def test_what_is_kept_is_in_no_order_of_the_documents(folder: Path) -> None:
    pytest.importorskip("sklearn")
    experiment = opened(folder)
    cell = experiment.cells()[1]
    shown = experiment.compute(cell.release, experiment.compute(experiment.plain()[0], None))
    retained = experiment.compute(cell.steps[1], shown).arrays["seen"]
    unprotected = experiment.compute(experiment.plain()[3], None).arrays["seen"]
    assert len(retained) == len(unprotected) == int((experiment.collection.sensitive == 1).sum())
    assert not np.array_equal(experiment._order, np.arange(len(retained)))


def test_bad_keys_are_told_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="sizes"):
        opened(folder, sizes=[1, 2])
    with pytest.raises(InputError, match=r"sensitivity\.tsv"):
        opened(folder, collection=str(tmp_path))
    with pytest.raises(ParameterError, match="threshold"):
        opened(folder, mechanism=[{"spec": "postfilter(threshold=2)"}])
    with pytest.raises(ParameterError, match="cost"):
        opened(folder, cost=-1.0)


def test_labels_can_be_made_by_a_list_of_words(folder: Path) -> None:
    assert any("list of words" in note for note in opened(folder, simulated=True).notes())
    assert not any("list of words" in note for note in opened(folder).notes())


def test_the_study_that_is_shipped_can_be_read() -> None:
    study = load_study(ROOT / "studies" / "sensitive" / "sara.toml")
    assert study.domain == "sensitive"


def test_the_plane_of_the_command_line(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    out = tmp_path / "plane.html"
    text = CliRunner().invoke(
        veil,
        ["sensitive", "plane", str(folder), "-m", "prefilter(threshold=0.1)", "-m",
         "prefilter(threshold=0.5)", "--attacker", "known-item", "--folds", "3", "-o", str(out),
         "--workers", "0"],
    )  # fmt: skip
    assert text.exit_code == 0, text.output
    assert "prefilter" in out.read_text(encoding="utf-8")
    selection = CliRunner().invoke(
        veil,
        ["sensitive", "choose", "--results", str(out.with_suffix("")), "--max-risk", "1"],
    )
    assert "prefilter" in selection.output


@pytest.mark.parametrize("verb", ["methods", "attackers"])
def test_names_are_listed(verb: str) -> None:
    text = CliRunner().invoke(veil, ["sensitive", verb])
    assert text.exit_code == 0
    assert ("postfilter" if verb == "methods" else "known-item") in text.output


def test_curves_run_towards_the_more_useful_end() -> None:
    """The QuIPU score changes its sign with the direction of a parameter."""
    ways = {("postfilter", "threshold"): "useful", ("prefilter", "threshold"): "useful",
            ("demoted", "beta"): "private", ("joint", "cost"): "private",
            ("optimum", "cost"): "private"}  # fmt: skip
    for (name, parameter), way in ways.items():
        assert sensitive.MECHANISMS.get(name).direction(parameter) == way
