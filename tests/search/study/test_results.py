"""The figures of the tidy table are those of the steps."""

import math
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from tests.search.study.material import STUDY, load

from veil.search.study.experiment import SearchExperiment
from veil.search.study.study import SearchStudy
from veil.studies.experiment import Cell, Step
from veil.studies.figures import Sheet
from veil.studies.results import Row
from veil.studies.store import Result, Store


class _Kept:
    """A store that holds one result for every step."""

    def __init__(self, found: Result) -> None:
        self.get = lambda key: found


@pytest.fixture
def experiment(study: SearchStudy) -> SearchExperiment:
    return SearchExperiment(study)


def rows(experiment: SearchExperiment, cell: Cell, step: Step, found: Result) -> list[Row]:
    """Return the rows of a step that gave this result."""
    sheet = Sheet(experiment, cast(Store, _Kept(found)))
    sheet.add(cell, step)
    return sheet.rows


def _attack(
    experiment: SearchExperiment, unit: str, ranks: list[int], among: list[int]
) -> list[Row]:
    texts = [0, 0, 1, 1, 1, 4][: len(ranks)]
    arrays = {"ranks": np.array(ranks), "candidates": np.array(among), "texts": np.array(texts)}
    cell = experiment.cells()[0]
    return rows(experiment, cell, cell.steps[-1], Result(arrays, {"unit": unit}))


def test_recovery_counts_words_and_whole_queries(experiment: SearchExperiment) -> None:
    # The last word is not among its candidates at all: that is no success.
    found = _attack(experiment, "word", [1, 1, 1, 2, 1, 2], [4, 5, 4, 4, 2, 1])
    words, queries = found
    assert (words.kind, words.measure, queries.measure) == ("recovery", "words", "queries")
    assert words.score == pytest.approx(4 / 6)
    assert queries.score == pytest.approx(1 / 3)  # the first query alone is whole
    assert words.n == queries.n == 3  # queries are what is drawn again
    assert words.chance == pytest.approx((1 / 4 + 1 / 5 + 1 / 4 + 1 / 4 + 1 / 2 + 0) / 6)
    assert queries.chance == pytest.approx((1 / 20 + 1 / 32 + 0) / 3)


def test_risk_counts_no_rank_beyond_the_candidates(
    experiment: SearchExperiment,
) -> None:
    found = {row.measure: row for row in _attack(experiment, "query", [1, 4, 11], [10] * 3)}
    assert found["lazy"].score == pytest.approx(1 / 3)
    assert found["active"].score == pytest.approx(2 / 3)
    assert found["motivated"].score == pytest.approx((1 + 1 / 4) / 3)
    assert found["lazy"].chance == pytest.approx(2 / 3 / 10)  # the third cannot be guessed
    assert (found["queries"].kind, found["queries"].score) == ("recovery", found["lazy"].score)
    assert found["lazy"].attacker == "bayes"
    assert found["lazy"].task == ""


def test_some_of_the_variants_are_no_point_of_the_plane(experiment: SearchExperiment) -> None:
    cell = experiment.cells()[0]
    arrays = {name: np.array([1, 2]) for name in ("ranks", "candidates", "subjects")}
    few = replace(cell.steps[-1], count=1, size=5)
    found = rows(experiment, cell, few, Result(arrays, {"unit": "query"}))
    assert [(row.kind, row.measure) for row in found] == [("recovery", "queries")]


def test_linkage_is_no_risk_of_the_query(experiment: SearchExperiment) -> None:
    found = _attack(experiment, "release", [1, 2, 3], [3, 3, 3])
    assert {row.kind for row in found} == {"linkage"}


def test_a_belief_is_the_blind_guess(experiment: SearchExperiment) -> None:
    cell = experiment.cells()[0]
    arrays = {name: np.array([1, 2, 3]) for name in ("ranks", "subjects")}
    arrays |= {"candidates": np.array([9, 9, 9]), "prior": np.array([1, 1, 5])}
    whole = replace(cell.steps[-1], count=cell.size)
    made = rows(experiment, cell, whole, Result(arrays, {"unit": "query"}))
    found = {row.measure: row for row in made}
    assert found["lazy"].chance == found["queries"].chance == pytest.approx(2 / 3)


def test_a_query_that_cannot_be_judged_is_left_out(experiment: SearchExperiment) -> None:
    judged = np.array([0.5, math.nan, 1.0])
    cell = experiment.cells()[0]
    search = Result({"nDCG@10": judged, "other": np.full(3, math.nan)})
    (row,) = rows(experiment, cell, cell.steps[0], search)
    assert (row.measure, row.score, row.n) == ("nDCG@10", 0.75, 2)


def _variants(experiment: SearchExperiment) -> list[list[list[str]]]:
    cells = experiment.cells()
    return [experiment.compute(cell.release, None).data["variants"] for cell in cells]


def test_every_cell_has_randomness_of_its_own(study: SearchStudy, folder: Path) -> None:
    """Two configurations whose laws are all but the same do not share their draws."""
    file = folder / "tiny.toml"
    file.write_text(STUDY.replace("values = [2]", "values = [2, 2.000001]"))
    made = _variants(SearchExperiment(load(file)))
    one, two = made[2:]
    assert sum(a != b for a, b in zip(one, two, strict=True)) >= len(one) - 1
    assert _variants(SearchExperiment(study)) == made[:3]  # whatever else is in the study


def test_nothing_is_sent_of_what_is_not_protected(study: SearchStudy, folder: Path) -> None:
    file = folder / "tiny" / "queries.jsonl"
    file.write_text(file.read_text().replace('"text": "bababa bebaba bibaba"', '"text": "!? ..."'))
    renamed = study.model_copy(update={"name": "punctuation"})
    experiment = SearchExperiment(renamed)
    cell = experiment.cells()[0]
    first = experiment.compute(cell.release, None)
    assert first.data["variants"][0] == []
    assert first.arrays["protected"].tolist() == [0, 3, 3, 3, 3, 3]
    searched = experiment.compute(cell.steps[0], first)
    assert searched.arrays["nDCG@10"][0] == 0.0


def test_a_row_knows_its_place_on_the_curve(experiment: SearchExperiment) -> None:
    cell = experiment.cells()[0]
    (row,) = rows(experiment, cell, cell.steps[0], Result({"nDCG@10": np.ones(6)}))
    assert (row.mechanism, row.spec) == ("cmp", "cmp(epsilon=1.0)")
    assert (row.parameter, row.value, row.size) == ("epsilon", 1.0, 4)
    assert (row.domain, row.data, row.task) == ("search", "tiny", "bm25")


def test_a_query_among_its_own_variants_is_in_clear(experiment: SearchExperiment) -> None:
    cell, texts = experiment.cells()[0], experiment.bench.texts
    sent = [[f"  {texts[0].upper()}", "x"], ["bone", "y"], *([] for _ in texts[2:])]
    made = Result({"protected": np.full(6, 3)}, {"variants": sent})
    (row,) = rows(experiment, cell, cell.release, made)
    assert (row.kind, row.measure, row.score, row.n) == ("similarity", "in clear", 0.5, 2)
