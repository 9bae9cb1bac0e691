"""Files of somebody's own become the plane and the QuIPU table."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.search.score.material import QUERIES, write_run, write_variants

from veil.core.errors import InputError, ParameterError
from veil.search.score.points import paired, points_in
from veil.search.score.score import score
from veil.studies.report.report import render
from veil.studies.results import PLAIN, Results

ATTACKER = "inference(encoder=bag)"


def scored(
    folder: Path, attackers: Sequence[str] = (ATTACKER,), *, as_is: bool = False
) -> Results:
    files, runs = (sorted((folder / name).iterdir()) for name in ("variants", "runs"))
    return score(
        paired(points_in(files), runs),
        folder / "qrels.txt",
        log=folder / "log.txt",
        attackers=attackers,
        plain=folder / "plain.run",
        as_is=as_is,
    )


def test_utility_is_that_of_the_runs_on_the_judged_queries(folder: Path) -> None:
    found = scored(folder)
    utility = {
        (row.mechanism, row.value): row
        for row in found.rows
        if (row.kind, row.measure) == ("utility", "nDCG@10")
    }
    assert utility[PLAIN, 0].score == 1  # 11 of 11: the twelfth has no relevant document
    assert {row.n for row in utility.values()} == {11}
    assert utility["cmp", 1].score == pytest.approx(4 / 11)
    assert utility["cmp", 10].score == pytest.approx(1)
    assert utility["Mine", 10].score == pytest.approx(2 / 11)
    assert utility["Mine", 1].p_value is not None


def test_risk_grows_with_what_is_kept(folder: Path) -> None:
    risk = {
        (row.mechanism, row.value): row.score
        for row in scored(folder).rows
        if (row.kind, row.measure) == ("risk", "active")
    }
    assert risk["cmp", 10] > risk["cmp", 1] + 0.3


def test_risk_of_a_query_that_the_log_lacks(folder: Path) -> None:
    """Added to the log all queries can be found; else one of eleven cannot."""
    (folder / "log.txt").write_text("\n".join([*QUERIES.values()][1:]) + "\n")
    for name in ("CMP_1", "CMP_10"):
        write_variants(folder / "variants" / f"set_{name}.csv", "CMP", float(name[4:]), 1.0)
    found, bound = (
        [
            row.score
            for row in scored(folder, as_is=as_is).rows
            if (row.kind, row.measure, row.mechanism) == ("risk", "lazy", "cmp")
        ]
        for as_is in (False, True)
    )
    assert found == pytest.approx([1, 1])
    assert bound == pytest.approx([10 / 11, 10 / 11])


def test_the_more_useful_of_two_has_the_higher_score(folder: Path) -> None:
    scores = {one.curve: one for one in scored(folder).scores if one.measure == "lazy"}
    assert set(scores) == {"cmp", "Mine"}
    assert scores["cmp"].score > scores["Mine"].score
    assert scores["cmp"].best
    assert {one.points for one in scores.values()} == {2}


def test_nothing_is_claimed_and_no_query_is_shown(folder: Path) -> None:
    found = scored(folder)
    assert {card.kind for card in found.cards} == {"none"}
    assert all("made elsewhere" in card.caveat for card in found.cards)
    assert not any("seeded" in note for note in found.notes)
    assert "seed" not in dict(found.facts)
    page = render(found)
    assert not any(text in page for text in QUERIES.values())
    assert "QuIPU scores against" in page


def test_what_is_missing_is_told(folder: Path) -> None:
    for name in ("variants/set_CMP_1.csv", "runs/set_CMP_10.run"):
        lines = (folder / name).read_text().splitlines()
        kept = [line for line in lines if not line.startswith("q3")]
        (folder / name).write_text("\n".join(kept) + "\n")
    notes = " ".join(scored(folder).notes)
    assert "1 of 12 queries have no relevant document" in notes
    assert "set_CMP_10.run has no answer to 1 of 11 queries. They count as 0" in notes
    assert "cmp epsilon=1 has no variants for 1 of 11 queries" in notes
    assert "1 of the queries were not in the log and were added to it" in notes
    assert "lower bound" in " ".join(scored(folder, as_is=True).notes)


def test_an_attacker_that_cannot_work_leaves_its_reason(folder: Path) -> None:
    found = scored(folder, [ATTACKER, "rerun"])
    assert any(note.startswith("rerun against Mine: ") for note in found.notes)
    assert any(note.startswith("rerun against cmp: The rerun attacker") for note in found.notes)
    assert {row.attacker for row in found.rows if row.kind == "risk"} == {ATTACKER}


def test_single_points_are_refused_unless_there_is_a_curve(folder: Path) -> None:
    def leave(*names: str) -> None:
        for file in [*(folder / "variants").iterdir(), *(folder / "runs").iterdir()]:
            if file.stem not in names:
                file.unlink()

    leave("set_CMP_1", "set_CMP_10", "set_Mine_1")
    assert {one.points for one in scored(folder).scores} == {1, 2}
    leave("set_CMP_1", "set_Mine_1")
    with pytest.raises(InputError, match="2 mechanisms with one point only"):
        scored(folder)


def test_files_of_other_queries_are_refused(folder: Path) -> None:
    (folder / "qrels.txt").write_text("9 0 d1 1\n")
    with pytest.raises(InputError, match="judges none of the 12 queries"):
        scored(folder)
    (folder / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\n")
    write_run(folder / "runs" / "set_CMP_1.run", 4, prefix="7")
    with pytest.raises(InputError, match="set_CMP_1.run answers none of the queries"):
        scored(folder)
    write_run(folder / "runs" / "set_CMP_1.run", 4)
    file = folder / "variants" / "set_Mine_1.csv"
    text = file.read_text()
    file.write_text(text.replace("\nq", "\nr"))
    with pytest.raises(InputError, match="set_Mine_1.csv has no judged query in common"):
        scored(folder)
    file.write_text(text.replace(QUERIES["q4"], "something else"))
    with pytest.raises(InputError, match="a different text in another file") as error:
        scored(folder)
    assert QUERIES["q4"] not in str(error.value)


def test_the_same_point_twice_is_refused(folder: Path) -> None:
    write_variants(folder / "variants" / "again_CMP_1.csv", "CMP", 1, 0)
    write_run(folder / "runs" / "again_CMP_1.run", 1)
    with pytest.raises(InputError, match="cmp epsilon=1 occur twice"):
        scored(folder)


def test_an_empty_file_of_judgements_and_no_log(folder: Path) -> None:
    points = points_in([folder / "variants" / "set_CMP_1.csv"])
    (folder / "empty.txt").write_text("\n")
    with pytest.raises(InputError, match="empty.txt is empty"):
        score(points, folder / "empty.txt")
    files, runs = (sorted((folder / name).iterdir()) for name in ("variants", "runs"))
    pairs = paired(points_in(files), runs)
    with pytest.raises(InputError, match="--log"):
        score(pairs, folder / "qrels.txt", attackers=[ATTACKER])
    with pytest.raises(ParameterError, match="cannot be measured without an attacker"):
        score(pairs, folder / "qrels.txt", attackers=[])
