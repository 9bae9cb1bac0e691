"""The summary says where queries leave as they are, or nearly so."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from veil.search.study.experiment import SearchExperiment
from veil.search.study.steps import AS_DEEP, UNION
from veil.search.study.study import SearchStudy, unprotected_remarks
from veil.studies.results import PLAIN, Row
from veil.studies.sweep import sweep


def point(value: float, kind: str, measure: str, score: float) -> Row:
    spec = f"cmp(epsilon={value})"
    return Row("c", "", "cmp", spec, "epsilon", value, 5, kind, measure, "", score, 0, 1, 40)  # type: ignore[arg-type]


def told(rows: list[Row]) -> str:
    return re.sub(r"<[^>]*>", "", unprotected_remarks(rows))


def test_the_query_itself_counts_first() -> None:
    rows = [point(1.0, "similarity", "in clear", 0.0), point(50.0, "similarity", "in clear", 0.3)]
    assert told(rows).startswith(
        "Queries are sent in clear with cmp (epsilon 50): one of the variants"
    )
    assert told(rows[:1]).startswith("No configuration sends the query itself")


def test_then_words_in_common_then_first_guesses() -> None:
    rows = [point(value, "similarity", "jaccard", 0.95) for value in (20.0, 50.0)]
    assert told(rows).startswith("Queries are sent nearly in clear with cmp (epsilon 20 to 50):")
    assert told([replace(rows[0], score=0.2)]).startswith("No configuration sends queries nearly")
    guessed = replace(rows[0], kind="risk", measure="lazy")
    assert "the first guess is right for at least" in told([guessed])
    assert told([]) == "It was not measured whether queries are sent nearly in clear."


def test_plain_search_is_also_measured_at_the_depth_of_the_union(
    study: SearchStudy, folder: Path
) -> None:
    """With one result for each variant plain search has one, and as deep it has several."""
    short = study.model_copy(update={"k": 1, "attackers": ()})
    results = sweep(short, folder / "out", workers=0)
    score = {(row.spec, row.measure): row.score for row in results.rows if row.kind == "utility"}
    spec = max((s for s, measure in score if measure == AS_DEEP), key=lambda s: score[s, UNION])
    assert score[spec, UNION] > 1
    assert score[spec, AS_DEEP] > score[PLAIN, "nDCG@10"]
    assert (PLAIN, AS_DEEP) not in score
    remark = re.sub(r"<[^>]*>", "", results.remarks[-1])
    assert remark.startswith(
        "bm25: plain search re-ranks 1 document, while the variants return more"
    )
    assert f"nDCG@10 {score[PLAIN, 'nDCG@10']:.3f}, and" in remark


def test_as_deep_is_the_plain_engine_with_more_documents(study: SearchStudy) -> None:
    experiment = SearchExperiment(study)
    cell = experiment.cells()[0]
    variants = experiment.compute(cell.release, None)
    step = next(step for step in cell.steps if step.kind == "search")
    arrays = experiment.compute(step, variants).arrays
    every = study.model_copy(update={"k": len(experiment.bench.collection.documents)})
    (plain,) = SearchExperiment(every).plain()
    whole = SearchExperiment(every).compute(plain, None).arrays["nDCG@10"]
    deep = arrays[UNION] >= len(experiment.bench.collection.documents)
    assert np.array_equal(arrays[AS_DEEP][deep], whole[deep])
