"""What the documents say: figures with their origin, levels, gaps, and never a verdict."""

import json
import re
import stat
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.dpia.case import CARDS, RISK, ROWS, STUDY, answers, full, study, written

from veil.core.errors import InputError, ParameterError
from veil.dpia.answers import GAP, STEPS, likelihood
from veil.dpia.assessment import assess
from veil.dpia.write import dpia

NUMBERS = [111, 112, 113, 121, 122, 123, 211, 212, 213, 214, 215, *range(221, 228)]
NUMBERS += [tens + one for tens in (320, 330, 340) for one in range(1, 7)]


@pytest.mark.parametrize(
    ("risk", "level"),
    [(0, 1), (0.0099, 1), (0.01, 2), (0.0499, 2), (0.05, 3), (0.1999, 3), (0.2, 4), (1, 4)],
)
def test_a_risk_has_its_level(risk: float, level: int, tmp_path: Path) -> None:
    assert likelihood(risk) == level
    row = replace(RISK, score=risk, low=risk, high=risk)
    keys = study(tmp_path, replace(STUDY, rows=(row,)))
    assert answers(keys, tmp_path)[326]["gauge"] == level


def test_thresholds_are_settable_and_printed(tmp_path: Path) -> None:
    keys = study(tmp_path) | {"thresholds": [0.001, 0.002, 0.003]}
    assert answers(keys, tmp_path)[326]["gauge"] == 4
    for text in written(keys, tmp_path).values():
        assert "below 0.001: 1, below 0.002: 2, below 0.003: 3, otherwise 4" in text


def test_every_figure_carries_how_it_was_made(tmp_path: Path) -> None:
    for text in written(full(tmp_path), tmp_path).values():
        plain = text.replace("\\", "")
        for what in (
            "0.040 [0.030, 0.060], n = 200", "mdav(k=3)", "veil tables plane people.csv",
            "seeded (4)", "k-anonymity: k = 3", "linkage", "0.625", "9.9", "0.900", "Not all.",
            "2025-07-31", "attribute", "0.800",
        ):  # fmt: skip
            assert what in plain, what
        assert "For a single record it is up to 0.625." in plain
        assert "The interval reaches up to 0.060, which would be 3 of 4" in plain


def test_what_is_not_protected_is_not_counted_unless_it_is_chosen(tmp_path: Path) -> None:
    keys = study(tmp_path)
    assert answers(keys, tmp_path)[326]["gauge"] == 2
    keys["studies"][0]["spec"] = "plain"
    assert answers(keys, tmp_path)[326]["gauge"] == 4


def test_the_worst_counts_where_nothing_is_chosen(tmp_path: Path) -> None:
    other = replace(RISK, spec="mdav(k=2)", score=0.1, low=0.1, high=0.1)
    keys = study(tmp_path, replace(STUDY, rows=(*ROWS, other)))
    assert answers(keys, tmp_path)[326]["gauge"] == 3
    assert any("which configuration" in gap.what for gap in assess(keys).gaps)
    keys["studies"][0]["spec"] = "mdav( k = 3 )"
    found = assess(keys)
    assert found.largest is not None
    assert found.largest[1].spec == "mdav(k=3)"
    assert not any("which configuration" in gap.what for gap in found.gaps)


def test_the_largest_of_all_studies_counts(tmp_path: Path) -> None:
    keys = study(tmp_path)
    more = replace(STUDY, name="more", rows=(replace(RISK, score=0.3, high=0.4),))
    keys["studies"] += study(tmp_path, more, "more")["studies"]
    assert answers(keys, tmp_path)[326]["gauge"] == 4
    assert "Study: more" in written(keys, tmp_path)["html"]


def test_more_than_one_release_gives_away_more(tmp_path: Path) -> None:
    keys = full(tmp_path)
    assert "Each was attacked alone" not in written(keys, tmp_path)["md"]
    keys["studies"] *= 2
    assert "Each was attacked alone" in written(keys, tmp_path)["md"]


def test_higher_success_by_other_measures_is_told(tmp_path: Path) -> None:
    other = replace(RISK, kind="recovery", measure="secrets", score=0.7, chance=0.5)
    keys = study(tmp_path, replace(STUDY, rows=(*ROWS, other)))
    text = written(keys, tmp_path)["md"]
    assert "Not counted as a risk, but higher: recovery of secrets by linkage" in text
    assert answers(keys, tmp_path)[326]["gauge"] == 2


def test_every_gap_is_told_twice(tmp_path: Path) -> None:
    made = written({}, tmp_path)
    gaps = [gap.what for gap in assess({}).gaps]
    assert len(gaps) == len(set(gaps)) == 47
    top = made["html"].partition('id="step-1"')[0]
    for gap in gaps:
        assert gap.rpartition(".")[2] in top
    for key in ("controller", "processor", "purposes", "recipients", "retention", "stakeholders"):
        assert key in gaps
    below = made["html"].partition('id="step-1"')[2]
    assert below.count(GAP) >= 40
    data = answers({}, tmp_path)
    assert all(GAP in one["text"] and one["gauge"] is None for one in data.values())
    assert f"({len(gaps)})" in top


def test_nothing_is_open_where_all_is_stated(tmp_path: Path) -> None:
    keys = full(tmp_path)
    assert assess(keys).gaps == ()
    for text in written(keys, tmp_path).values():
        assert GAP not in text
    for key in ("name", "people", "measures", "stakeholders", "studies"):
        assert assess({name: value for name, value in keys.items() if name != key}).gaps
    keys["measures"][0]["against"] = ["loss"]
    assert [gap.what for gap in assess(keys).gaps] == ["measures against modification"]
    assert answers(keys, tmp_path)[334]["text"] == f"<p>{GAP}</p>"


def test_what_a_folder_does_not_tell_is_a_gap(tmp_path: Path) -> None:
    keys = full(tmp_path)
    (tmp_path / "out" / "facts.json").unlink()
    gaps = [gap.what for gap in assess(keys).gaps]
    assert gaps[:3] == ["command of out", "seed of out", "version of out"]
    assert gaps[3:] == ["what is proved of 1 configurations of out"]
    keys["studies"][0] |= {"command": "veil audit x", "seed": 3}
    assert [gap.what for gap in assess(keys).gaps] == gaps[2:]
    assert "veil audit x" in written(keys, tmp_path)["md"]


def test_the_five_steps_are_headings_in_order(tmp_path: Path) -> None:
    made = written(full(tmp_path), tmp_path)
    headings = re.findall(r"^## (.*)$", made["md"], re.MULTILINE)
    assert headings[1:] == [f"{number}. {title}" for number, title in enumerate(STEPS, start=1)]
    assert headings[0].startswith("What is not stated")
    titles = re.findall(r"<h2[^>]*>([^<]*)</h2>", made["html"])
    assert titles == headings


def test_the_json_has_the_shape_of_the_tool(tmp_path: Path) -> None:
    document = json.loads(written(full(tmp_path), tmp_path)["json"])
    assert list(document) == ["pia", "answers", "measures", "evaluations", "comments"]
    pia = document["pia"]
    assert (pia["name"], pia["status"]) == ("The name.", 0)
    assert [pia[f"{who}_name"] for who in ("author", "evaluator", "validator")] == [
        "Ann", "Eve", "Val",
    ]  # fmt: skip
    assert pia["created_at"] == "2025-01-31T00:00:00Z"
    assert sorted(one["reference_to"] for one in document["answers"]) == sorted(NUMBERS)
    for one in document["answers"]:
        assert set(one) == {"pia_id", "reference_to", "data"}
        assert set(one["data"]) == {"text", "gauge", "list"}
    data = {one["reference_to"]: one["data"] for one in document["answers"]}
    gauges = {number: one["gauge"] for number, one in data.items() if one["gauge"]}
    assert gauges == {325: 2, 326: 2, 335: 2, 336: 1, 345: 2, 346: 3}
    assert data[321]["list"] == data[342]["list"] == ["x"]
    assert data[344]["list"] == ["Locks"]
    assert data[334]["list"] == ["Locks"]
    assert data[324]["list"] == ["mdav(k=3) on people"]
    assert "The controller." in data[112]["text"]
    assert "The processor." in data[112]["text"]
    assert [one["title"] for one in document["measures"]] == ["Locks", "mdav(k=3) on people"]
    assert document["evaluations"] == []


def test_the_next_review_is_in_six_months(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"date": date(2024, 8, 31)}
    assert assess(keys).review == date(2025, 2, 28)
    assert assess(keys | {"next_review": "2024-09-01"}).review == date(2024, 9, 1)
    assert assess({}).review > date.today()
    assert "6 months later, by default" in written(keys, tmp_path)["md"]


@pytest.mark.parametrize(
    "claim", ["We are GDPR-compliant.", "Non-Compliant", "in compliance with", "It complies with"]
)
def test_no_verdict_is_passed(claim: str, tmp_path: Path) -> None:
    for text in written(full(tmp_path), tmp_path).values():
        assert "complian" not in text.casefold()
    keys = full(tmp_path) | {"purposes": ["x", claim]}
    with pytest.raises(InputError, match="'purposes' of the study claims legal compliance"):
        assess(keys)
    with pytest.raises(InputError, match="'measures.title'"):
        assess(full(tmp_path) | {"measures": [{"title": claim}]})


def test_no_verdict_comes_from_results(tmp_path: Path) -> None:
    found = replace(STUDY, rows=tuple(replace(row, data="compliant") for row in ROWS))
    with pytest.raises(InputError, match="A name in the results"):
        dpia(study(tmp_path, found), tmp_path / "d.md")
    assert not (tmp_path / "d.md").exists()


def test_files_are_for_their_owner_and_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written({}, tmp_path)
    for ending in ("html", "md", "json"):
        assert stat.S_IMODE((tmp_path / f"dpia.{ending}").stat().st_mode) == 0o600
    (tmp_path / "dpia.md").write_text("before")

    def full_disk(*_: object, **__: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full_disk)
    with pytest.raises(OSError, match="No space left"):
        dpia({}, tmp_path / "dpia.md")
    assert (tmp_path / "dpia.md").read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "dpia.html", "dpia.json", "dpia.md",
    ]  # fmt: skip


def test_the_page_forbids_every_load(tmp_path: Path) -> None:
    page = written(full(tmp_path), tmp_path)["html"]
    assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in page
    assert "<script" not in page
    assert "script-src" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)|url\(", page)


@pytest.mark.parametrize("score", [1.5, -0.1])
def test_figures_that_are_no_risks_are_refused(score: float, tmp_path: Path) -> None:
    found = replace(STUDY, rows=(replace(RISK, score=score),))
    with pytest.raises(InputError, match="outside 0 to 1"):
        assess(study(tmp_path, found))


def test_results_of_nothing_are_refused(tmp_path: Path) -> None:
    empty = replace(RISK, score=float("nan"))
    for rows in ((), (ROWS[-1],), (empty,)):
        with pytest.raises(InputError, match="has no measured risk"):
            assess(study(tmp_path, replace(STUDY, rows=rows, cards=CARDS)))
    keys = study(tmp_path)
    table = tmp_path / "out" / "results.csv"
    table.write_text(table.read_text().replace("tables,", "tablets,"))
    with pytest.raises(InputError, match="unknown kind of data"):
        assess(keys)
    with pytest.raises(ParameterError, match="both a 'table' and a"):
        assess({"release": ["mdav(k=3)"]})
