"""The figures of the tidy table are those of the steps."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.studies.conftest import STUDY

from veil.studies._measured import head as head_of
from veil.studies._measured import in_clear, measured, utility
from veil.studies.bench import Bench
from veil.studies.cells import cells
from veil.studies.steps import compute
from veil.studies.store import Result
from veil.studies.study import Study, load_study
from veil.studies.table import Row


@pytest.fixture
def head(study: Study) -> Row:
    bench = Bench(study)
    cell = cells(bench)[0]
    return head_of(bench, cell, cell.steps[-1])


def _attack(study: Study, head: Row, unit: str, ranks: list[int], among: list[int]) -> list[Row]:
    texts = [0, 0, 1, 1, 1, 4][: len(ranks)]
    arrays = {"ranks": np.array(ranks), "candidates": np.array(among), "texts": np.array(texts)}
    step = cells(Bench(study))[0].steps[-1]
    return list(measured(head, step, Result(arrays, {"unit": unit})))


def test_recovery_counts_words_and_whole_queries(study: Study, head: Row) -> None:
    # The last word is not among its candidates at all: that is no success.
    rows = _attack(study, head, "word", [1, 1, 1, 2, 1, 2], [4, 5, 4, 4, 2, 1])
    words, queries = rows
    assert (words.kind, words.measure, queries.measure) == ("recovery", "words", "queries")
    assert words.score == pytest.approx(4 / 6)
    assert queries.score == pytest.approx(1 / 3)  # the first query alone is whole
    assert words.n == queries.n == 3  # queries are what is drawn again
    assert words.chance == pytest.approx((1 / 4 + 1 / 5 + 1 / 4 + 1 / 4 + 1 / 2 + 0) / 6)
    assert queries.chance == pytest.approx((1 / 20 + 1 / 32 + 0) / 3)


def test_risk_counts_ranks_and_not_those_beyond_the_candidates(study: Study, head: Row) -> None:
    rows = {row.measure: row for row in _attack(study, head, "query", [1, 4, 11], [10, 10, 10])}
    assert rows["lazy"].score == pytest.approx(1 / 3)
    assert rows["active"].score == pytest.approx(2 / 3)
    assert rows["motivated"].score == pytest.approx((1 + 1 / 4) / 3)
    assert rows["lazy"].chance == pytest.approx(2 / 3 / 10)  # the third cannot be guessed
    assert (rows["queries"].kind, rows["queries"].score) == ("recovery", rows["lazy"].score)
    assert rows["lazy"].attacker == "bayes"
    assert rows["lazy"].engine == ""


def test_some_of_the_variants_are_no_point_of_the_plane(study: Study, head: Row) -> None:
    step = cells(Bench(study))[0].steps[-1]
    arrays = {name: np.array([1, 2]) for name in ("ranks", "candidates", "texts")}
    few = replace(step, count=1, size=5)
    found = list(measured(head, few, Result(arrays, {"unit": "query"})))
    assert [(row.kind, row.measure) for row in found] == [("recovery", "queries")]


def test_linkage_is_no_risk_of_the_query(study: Study, head: Row) -> None:
    rows = _attack(study, head, "release", [1, 2, 3], [3, 3, 3])
    assert {row.kind for row in rows} == {"linkage"}


def test_a_belief_is_the_blind_guess(study: Study, head: Row) -> None:
    step = cells(Bench(study))[0].steps[-1]
    arrays = {name: np.array([1, 2, 3]) for name in ("ranks", "texts")}
    arrays |= {"candidates": np.array([9, 9, 9]), "prior": np.array([1, 1, 5])}
    whole = replace(step, count=step.size)
    rows = {r.measure: r for r in measured(head, whole, Result(arrays, {"unit": "query"}))}
    assert rows["lazy"].chance == rows["queries"].chance == pytest.approx(2 / 3)


def test_a_query_that_cannot_be_judged_is_left_out(head: Row) -> None:
    found = Result({"nDCG@10": np.array([0.5, math.nan, 1.0]), "other": np.full(3, math.nan)})
    (row,) = utility(head, found)
    assert (row.measure, row.score, row.n) == ("nDCG@10", 0.75, 2)


def test_every_cell_has_randomness_of_its_own(study: Study, folder: Path) -> None:
    """Two configurations whose laws are all but the same do not share their draws."""
    file = folder / "tiny.toml"
    file.write_text(STUDY.replace("values = [2]", "values = [2, 2.000001]"))
    close = load_study(file)
    made = [compute(close, cell.protect).data["variants"] for cell in cells(Bench(close))]
    one, two = made[2:]
    assert sum(a != b for a, b in zip(one, two, strict=True)) >= len(one) - 1
    again = [compute(study, cell.protect).data["variants"] for cell in cells(Bench(study))]
    assert again == made[:3]  # whatever else is in the study


def test_nothing_is_sent_of_a_query_that_is_not_protected(study: Study, folder: Path) -> None:
    file = folder / "tiny" / "queries.jsonl"
    file.write_text(file.read_text().replace('"text": "bababa bebaba bibaba"', '"text": "!? ..."'))
    renamed = study.model_copy(update={"name": "punctuation"})
    first = compute(renamed, cells(Bench(renamed))[0].protect)
    assert first.data["variants"][0] == []
    assert first.arrays["protected"].tolist() == [0, 3, 3, 3, 3, 3]
    searched = compute(renamed, cells(Bench(renamed))[0].steps[0], first.data["variants"])
    assert searched.arrays["nDCG@10"][0] == 0.0


def test_a_row_knows_its_place_on_the_curve(head: Row) -> None:
    assert (head.mechanism, head.spec) == ("cmp", "cmp(epsilon=1.0)")
    assert (head.parameter, head.value, head.size) == ("epsilon", 1.0, 4)
    assert replace(head, score=0.0).collection == "tiny"


def test_a_query_among_its_own_variants_is_in_clear(head: Row) -> None:
    made = Result(data={"variants": [["Skin  cancer", "x"], ["bone", "y"], []]})
    (row,) = in_clear(head, ["skin cancer", "bones", "nothing sent"], made)
    assert (row.kind, row.measure, row.score, row.n) == ("similarity", "in clear", 0.5, 2)
