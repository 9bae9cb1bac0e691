"""Tables as an experiment: the contract of domains, figures, what is kept, and the report."""

import re
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tables.people import ILLNESSES, PERSON, QI, written

from veil import tables
from veil.core.errors import InputError, ParameterError, UnknownNameError
from veil.core.estimate import Estimate
from veil.core.outcome import Outcome
from veil.studies.choose import choose
from veil.studies.domains import load_study, make_study
from veil.studies.report.report import render
from veil.studies.results import PLAIN, Results
from veil.studies.sweep import sweep
from veil.tables.pictures import ACROSS, CLASSES, DOWN, Shown, choose_pictures, colour_of, squares
from veil.tables.study import KEPT, SUCCESS, Tables, TablesStudy, by_record
from veil.testing import check_domain

ROOT = Path(__file__).resolve().parents[2]
MONDRIAN = {"spec": "mondrian", "parameter": "k", "values": [3.0, 15.0]}
ROLES: dict[str, Any] = {
    "identifiers": ["name"],
    "qi": QI,
    "confidential": ["illness", "wage"],
    "hierarchies": "levels",
}


def keys(folder: Path, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of any kind
    """Return the keys of a small study."""
    columns = {
        "name": "t",
        "domain": "tables",
        "table": "town.csv",
        **ROLES,
        "mechanism": [MONDRIAN],
    }
    return {**columns, **given}


def opened(folder: Path, **given: Any) -> Tables:  # noqa: ANN401 - keys of any kind
    """Open a study of the town in a folder."""
    study = make_study(keys(folder, **given), "the test", folder)
    assert isinstance(study, TablesStudy)
    return Tables(study)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write the town, and return its folder."""
    return written(tmp_path).parent


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Tables, Results, Path]:
    """Sweep one study for several tests."""
    place = written(tmp_path_factory.mktemp("swept")).parent
    mechanism = [MONDRIAN, {"spec": "ola(k=4, suppression=0.1)"}, {"spec": "pram(p=0.7)"}]
    experiment = opened(place, mechanism=mechanism, draws=3, attackers=["linkage", "attribute"])
    return experiment, sweep(experiment.study, place / "out", workers=0), place / "out"


def test_tables_are_a_domain(folder: Path) -> None:
    study = keys(folder, table=str(folder / "town.csv"), hierarchies=str(folder / "levels"))
    study.pop("domain")
    check_domain("tables", {**study, "attackers": ["linkage", "homogeneity"]})


def test_figures_are_those_of_the_verbs(swept: tuple[Tables, Results, Path]) -> None:
    experiment, result, _ = swept
    t = experiment.table
    rows = {(row.spec, row.kind, row.attacker): row for row in result.rows}
    spec = str(tables.mechanism("mondrian(k=15)"))
    release = tables.protect(t, spec)
    assert rows[spec, "utility", ""].score == pytest.approx(tables.utility(t, release))
    for by in ("linkage", "attribute"):
        assert rows[spec, "risk", by].score == pytest.approx(tables.attack(t, release, by).risk)
        assert rows[spec, "risk", by].n == len(t)
    assert rows[PLAIN, "utility", ""].score == 1
    bare = t.without(["name"])
    assert rows[PLAIN, "risk", "linkage"].score == tables.attack(t, bare, "linkage").risk
    assert rows[spec, "risk", "linkage"].score < rows[PLAIN, "risk", "linkage"].score
    pram = str(tables.mechanism("pram(p=0.7)"))
    assert rows[pram, "similarity", ""].n == 3  # draws
    assert rows[spec, "similarity", ""].n == 1  # nothing is drawn
    assert {row.measure for row in result.rows if row.kind == "risk"} == {SUCCESS}
    assert {row.measure for row in result.rows if row.kind == "utility"} == {KEPT}


def test_cards_say_what_is_proved_of_the_releases(swept: tuple[Tables, Results, Path]) -> None:
    _, result, _ = swept
    cards = {card.spec.partition("(")[0]: card for card in result.cards}
    assert cards["ola"].total == "k-anonymity: k = 4, per record"
    assert cards["ola"].kind == "k-anonymity"
    assert cards["pram"].kind == "local-dp"  # the hierarchies declare the categories
    assert cards["pram"].epsilon is not None


def test_nothing_that_is_kept_says_which_row_is_whose(
    swept: tuple[Tables, Results, Path],
) -> None:
    experiment, _, out = swept
    with sqlite3.connect(out / "study.sqlite") as store:
        blobs = [item for (item,) in store.execute("SELECT arrays FROM steps")]
    assert blobs
    assert not any(b"rows" in item or b"groups" in item for item in blobs)
    assert PERSON.encode() not in (out / "study.sqlite").read_bytes()
    step = experiment.cells()[0].steps[1]
    risks = experiment.compute(step, None).arrays["risks"]
    t = experiment.table
    true = tables.attack(t, tables.protect(t, step.spec), step.by).per_record
    assert np.allclose(np.sort(risks), np.sort(true))
    assert not np.array_equal(risks, true)  # in an order that who has the table alone can undo
    again = experiment.compute(step, None).arrays["risks"]
    assert np.array_equal(risks, again)


def test_the_report_shows_before_and_after_and_no_value(
    swept: tuple[Tables, Results, Path],
) -> None:
    _, result, _ = swept
    sample, lines = result.sections
    assert (sample.identity, sample.private) == ("before-after", True)
    assert (lines.identity, lines.private) == ("glance", False)
    text = "".join(sample.content)
    figures = text.count("Class sizes")
    assert figures == text.count("<strong>Risk after") >= 2
    assert text.count("<svg") == 4 * figures
    page = render(result)
    for word in (PERSON, *ILLNESSES):
        assert not re.search(rf"\b{word}\b", page)
    assert "Published without protection" in page
    assert "keep it to yourself" in page
    spec = "".join(lines.content)
    assert "no protection" in spec
    assert "mondrian(k=15)" in spec
    assert "l=None" not in spec  # the parameters that were chosen, alone


def test_a_choice_is_made_of_a_study_and_counts_linkage(
    swept: tuple[Tables, Results, Path],
) -> None:
    _, result, _ = swept
    choice = choose(result.rows, max_risk=0.9, attacker=SUCCESS, cautious=False)
    assert set(choice.best.attacks) == {"linkage", "attribute"}
    with pytest.raises(InputError, match="No configuration keeps"):
        choose(result.rows, max_risk=0.0001, attacker=SUCCESS)


def test_what_cannot_be_done_is_a_gap_and_no_end(folder: Path, tmp_path: Path) -> None:
    mechanism = [
        MONDRIAN,
        {"spec": "ola(k=59)"},
        {"spec": "tree(epsilon=5)"},
        {"spec": "mdav(k=70)"},
    ]
    results = sweep(opened(folder, mechanism=mechanism).study, tmp_path / "o", workers=0)
    gaps = [note for note in results.notes if " against " in note]
    assert any("against mdav" in note and "fewer than k" in note for note in gaps)
    assert any("linkage against tree" in note and "synthetic" in note for note in gaps)
    assert not any(PERSON in note for note in results.notes)
    assert any(row.mechanism == "tree" and row.kind == "utility" for row in results.rows)
    assert not any(row.mechanism == "mdav" for row in results.rows)


def test_what_changes_a_result_changes_its_key(folder: Path) -> None:
    def key(**given: Any) -> str:  # noqa: ANN401 - keys of any kind
        return opened(folder, **given).cells()[0].release.key

    first = key()
    assert key(name="other") == first
    assert len({first, key(qi=["age"]), key(seed=2), key(draws=2), key(utility="cells")}) == 5
    (folder / "levels" / "sex.csv").write_text("M;*\nF;*\n", encoding="utf-8")
    assert key() != first


def test_without_quasi_identifiers_an_attacker_knows_every_column(folder: Path) -> None:
    experiment = opened(folder, qi=[])
    columns = set(experiment.table.columns) - {"name", "illness", "wage"}
    assert set(experiment.table.qi) == columns
    assert experiment.table.confidential == opened(folder).table.confidential
    assert any("assume that attackers know" in note for note in experiment.notes())
    assert not any("assume that attackers know" in note for note in opened(folder).notes())


def test_a_schema_says_the_roles_once(folder: Path) -> None:
    schema = folder / "s.toml"
    lines = [f'[columns.{name}]\nrole = "qi"' for name in QI]
    schema.write_text("\n".join(lines) + '\n[columns.name]\nrole = "identifier"\n')
    experiment = opened(folder, schema="s.toml", identifiers=[], qi=[], confidential=["illness"])
    assert experiment.table.qi == tuple(QI)
    assert experiment.table.confidential == ("illness",)
    assert dict(experiment.facts())["known to the attacker"] == ", ".join(QI)


@pytest.mark.parametrize(
    ("given", "told"),
    [({"sizes": [1, 2]}, "draws"), ({"table": "no.csv"}, "no.csv"),
     ({"population": "no.csv"}, "no.csv"), ({"qi": ["agee"]}, "agee"),
     ({"hierarchies": "no"}, "does not exist"), ({"draws": 0}, "at least 1"),
     ({"sep": ";;;;;;;;;;"}, "delimiter"), ({"identifiers": ["age"]}, "two roles")],
)  # fmt: skip
def test_bad_keys_are_refused(folder: Path, given: dict[str, Any], told: str) -> None:
    with pytest.raises((InputError, ParameterError), match=told):
        opened(folder, **given)


def test_unknown_names_are_refused(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="worth"):
        opened(folder, utility="worth")
    with pytest.raises(UnknownNameError, match="nobody"):
        opened(folder, attackers=["nobody"])


def test_risks_of_records_average_to_that_of_the_attack() -> None:
    risks, rng = np.array([1.0, 0.5, 0.0, 0.5]), np.random.default_rng(0)
    whole = Outcome(per_record=risks)
    assert np.array_equal(by_record(whole, 4, rng), risks)
    lowered = by_record(replace(whole, excess=True, baseline=0.25), 4, rng)
    assert lowered.tolist() == pytest.approx([1.0, 1 / 3, -1 / 3, 1 / 3])  # (hit - b)/(1 - b)
    beaten = by_record(replace(whole, excess=True, baseline=0.75), 4, rng)
    assert beaten.mean() == pytest.approx(-1.0)  # worse than a blind guess: cut at 0 afterwards
    estimate = Estimate(0.7, 0.6, 0.8, 4)
    sampled = by_record(Outcome(per_record=risks, estimate=estimate), 400, rng)  # of other records
    assert sampled.mean() == pytest.approx(0.7)
    assert 1.96 * sampled.std() / 20 == pytest.approx(0.1, rel=0.001)
    nothing = Outcome(estimate=Estimate(0.0, 0.0, 0.0, 0))
    assert by_record(nothing, 3, rng).tolist() == [0.0] * 3


def coverage(by: str, truth: Callable[[float], float], n: int) -> tuple[float, float]:
    """Return how often the interval, and the bound, of a study cover the risk of the law."""
    inside, below = 0, 0
    for number in range(TABLES):
        with tempfile.TemporaryDirectory() as scratch:
            place = Path(scratch)
            draws = np.random.default_rng(number)
            base = write_rows(place / "drawn.csv", n, draws)
            write_rows(place / "others.csv", n, draws)
            study = {
                "name": "c", "domain": "tables", "table": "drawn.csv", "qi": ["g"],
                "confidential": ["s"], "control": "others.csv", "attackers": [by],
                "mechanism": [{"spec": "sample(rate=0.5)"}],
            }  # fmt: skip
            results = sweep(make_study(study, "the test", place), place / "out", workers=0)
        (row,) = [row for row in results.rows if row.kind == "risk" and row.mechanism != PLAIN]
        assert row.upper is not None
        assert 0 <= row.low <= row.score <= row.high <= 1
        assert row.chance == 0  # a blind guess has no more than a blind guess
        inside += row.low <= truth(base) <= row.high
        below += row.upper >= truth(base)
    return inside / TABLES, below / TABLES


TABLES = 40
RIGHT = 0.7  # who guesses by the group is right so often


def write_rows(path: Path, n: int, rng: np.random.Generator) -> float:
    """Write people of two groups, a share with the illness of the group; return its mode's."""
    group = rng.integers(2, size=n)
    ill = np.where(rng.random(n) < RIGHT, group, 1 - group)
    lines = [f"g{a},s{b},{rng.random():.6f}" for a, b in zip(group, ill, strict=True)]
    path.write_text("g,s,other\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return max(float(ill.mean()), 1 - float(ill.mean()))


def test_intervals_of_a_study_cover_what_is_above_a_baseline() -> None:
    inside, below = coverage("attribute", lambda base: (RIGHT - base) / (1 - base), 300)
    assert inside >= 0.85  # of nominal .95; scaling hits by risk/mean reached .25
    assert below >= 0.925


def test_intervals_of_a_study_cover_what_is_above_the_controls() -> None:
    by_group = RIGHT**2 + (1 - RIGHT) ** 2  # a stranger's nearest row is of the same group
    half = (1 + by_group) / 2  # of those in the data every second is released, and found
    truth = (half - by_group) / (1 - by_group)
    inside, below = coverage("inference", lambda _: truth, 300)
    assert inside >= 0.85
    assert below >= 0.925


def test_squares_of_the_map_are_sorted_and_show_the_worst() -> None:
    risks = np.zeros(100_000)
    risks[777] = 1.0
    cells = squares(risks)
    assert len(cells) == ACROSS * DOWN
    assert cells[0] == 1  # one person in a hundred thousand is seen
    assert (np.diff(cells) <= 0).all()
    assert [colour_of(item) for item in (1.0, 0.5, 0.3, 0.07, 0.0)] == [
        CLASSES[i][1] for i in (0, 0, 1, 3, 4)
    ]
    assert len(squares(np.array([0.2, 0.1]))) == ACROSS * DOWN


def test_the_best_of_low_risk_is_drawn_first_and_then_the_ends() -> None:
    shown = {
        name: Shown(name, risks={"linkage": np.full(4, risk)})
        for name, risk in (("a", 0.01), ("b", 0.04), ("c", 0.5))
    }
    result = choose_pictures(shown, {"a": 0.2, "b": 0.6, "c": 0.9})
    assert [name for name, _ in result] == ["b", "a", "c"]
    assert [name for name, _ in choose_pictures(shown, {"a": 0.7, "b": 0.6, "c": 0.9})] == [
        "a",
        "c",
    ]
    assert choose_pictures(shown, {}) == []


@pytest.mark.parametrize("path", sorted((ROOT / "studies" / "tables").glob("*.toml")))
def test_shipped_studies_can_be_read(path: Path) -> None:
    if not (ROOT.parent / "shared" / "data" / "tables").is_dir():
        pytest.skip("the data of shipped studies are not at hand")
    study = load_study(path)
    assert isinstance(study, TablesStudy)
    assert Path(study.table).is_file()
    assert Tables(study).cells()
