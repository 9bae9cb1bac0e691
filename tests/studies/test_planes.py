"""The scores of a study: whose queries they are of, and which of them can be told apart."""

import math
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator
from tests.search.study.material import STUDY

from veil.core.estimate import Estimate, compare
from veil.core.outcome import Outcome
from veil.core.types import Floats
from veil.measures.quipu import quipu, quipu_difference, quipu_interval
from veil.search.study.experiment import WORDS
from veil.studies.domains import load_study
from veil.studies.figures import Samples, _by_subject, ranked, results
from veil.studies.panels import compared, key, panels, scores
from veil.studies.results import Results, Row, Score
from veil.studies.store import FILE, Store
from veil.studies.sweep import sweep

NAN = math.nan


def points(
    mechanism: str,
    risks: Floats,
    utilities: Floats,
    measure: str = "active",
    parameter: str = "epsilon",
) -> tuple[list[Row], Samples]:
    """Rows of a curve by its parameter, with the values (points, n) behind them."""
    rows: Samples = {}
    for i, (risk, utility) in enumerate(zip(risks, utilities, strict=True)):
        spec = f"{mechanism}({parameter}={float(i)})"
        head = (mechanism, spec, parameter, float(i), 5)
        for engine, kind, named, attacker, values in (
            ("", "risk", measure, "bayes", risk), ("bm25", "utility", "nDCG@10", "", utility),
        ):  # fmt: skip
            mean = float(np.nanmean(values))
            row = Row("c", engine, *head, kind, named, attacker, mean, mean, mean, len(values))  # type: ignore[arg-type]
            rows[row] = values
    return list(rows), rows


def of(*curves: tuple[list[Row], Samples]) -> dict[str, Score]:
    rows = [row for made, _ in curves for row in made]
    values = {row: value for _, made in curves for row, value in made.items()}
    return {score.curve: score for score in scores(rows, values)}


def near(wanted: Estimate) -> Any:  # noqa: ANN401 - of pytest
    return pytest.approx((float(wanted), wanted.low, wanted.high), abs=1e-12)


def test_a_score_is_that_of_the_mean_curve_with_its_interval(rng: Generator) -> None:
    risks, utilities = rng.random((2, 4, 30))
    score = of(points("cmp", risks, utilities))["cmp"]
    wanted = quipu_interval(risks, utilities)
    assert (score.score, score.low, score.high) == near(wanted)
    assert score.n == 30
    assert (score.points, score.missing, score.size) == (4, 0, 5)
    assert (score.mechanism, score.parameter, score.task) == ("cmp", "epsilon", "bm25")


@pytest.mark.parametrize(
    ("mechanism", "parameter"), [("aea", "level"), ("custext", "k"), ("tem", "beta")]
)
def test_the_direction_of_a_parameter_does_not_change_the_score(
    rng: Generator, mechanism: str, parameter: str
) -> None:
    """The same points, by epsilon and by what runs against it."""
    risks, utilities = np.sort(rng.random((2, 4, 30)), axis=1)
    by_epsilon = of(points("cmp", risks, utilities))["cmp"]
    turned = points(mechanism, risks[::-1], utilities[::-1], parameter=parameter)
    against = of(turned)[mechanism]
    assert (against.score, against.low, against.high) == pytest.approx(
        (by_epsilon.score, by_epsilon.low, by_epsilon.high)
    )
    other = of(points("a plugin that is gone", risks, utilities, parameter="k"))
    assert other["a plugin that is gone"].score == pytest.approx(by_epsilon.score)


def test_a_query_unknown_at_one_point_is_dropped_at_all(rng: Generator) -> None:
    risks, utilities = rng.random((2, 3, 20))
    utilities[1, 4] = NAN
    risks[2, 11] = NAN
    score = of(points("cmp", risks, utilities))["cmp"]
    rest = np.delete(np.arange(20), [4, 11])
    wanted = quipu_interval(risks[:, rest], utilities[:, rest])
    assert (score.score, score.low, score.high) == near(wanted)
    assert score.n == 18


def test_a_comparison_is_of_the_queries_that_both_know(rng: Generator) -> None:
    good, bad = rng.random((2, 3, 20)), rng.random((2, 2, 20))
    good[1].sort(axis=0)
    good[0] *= 0.1
    good[1, 0, 3] = bad[0, 1, 8] = NAN
    found = of(points("good", *good), points("bad", *bad))
    assert (found["good"].n, found["bad"].n) == (19, 19)
    both = np.delete(np.arange(20), [3, 8])
    wanted = quipu_difference(*good[:, :, both], *bad[:, :, both])
    behind = found["bad"]
    assert (behind.behind, behind.behind_low, behind.behind_high) == near(wanted)


def test_no_query_in_common_leaves_no_score() -> None:
    risks, utilities = np.full((2, 2), 0.5), np.array([[0.1, NAN], [NAN, 0.2]])
    score = of(points("cmp", risks, utilities))["cmp"]
    assert math.isnan(score.score)
    assert (score.n, score.behind, score.best, score.alike) == (0, None, False, False)


def test_a_single_point_scores_nothing_and_is_not_compared(rng: Generator) -> None:
    bad = np.stack([np.zeros(20), np.ones(20)]), np.zeros((2, 20))  # risk without any utility
    found = of(points("aea", *rng.random((2, 1, 20))), points("bad", *bad))
    single = found["aea"]
    assert (single.score, single.low, single.high, single.points) == (0, 0, 0, 1)
    assert (single.best, single.alike, single.behind) == (False, False, None)
    assert found["bad"].score < 0
    assert found["bad"].best  # the only one with an area


def test_what_is_clearly_better_stands_alone_and_what_is_not_is_marked(rng: Generator) -> None:
    none = np.zeros((3, 60))
    level = rng.random(60)
    good = np.stack([0 * level, 0.7 * level, level])
    close = np.clip(good + rng.normal(0, 0.05, good.shape), 0, 1)
    found = of(
        points("close", none, close), points("good", none, good), points("poor", good, 0.5 * good)
    )
    first = max(found.values(), key=lambda one: one.score)
    other = {"good", "close"} - {first.curve}
    assert first.curve != "poor"
    assert (first.best, first.behind, first.behind_low, first.behind_high) == (True, 0, 0, 0)
    assert [name for name, one in found.items() if one.best] == [first.curve]
    assert {name for name, one in found.items() if one.alike} == other
    assert (found["poor"].behind_low or 0) > 0.1


def test_the_order_of_points_is_that_of_the_plane(rng: Generator) -> None:
    risks, utilities = rng.random((2, 4, 9))
    rows, values = points("cmp", risks, utilities)
    (score,) = scores(rows[::-1], values)
    curve = panels(rows)[0].curves[0]
    drawn = (
        [point.risk.score for point in curve.points],
        [point.utility.score for point in curve.points],
    )
    assert score.score == pytest.approx(quipu(*drawn), abs=1e-12)


def test_persistent_success_has_no_score(rng: Generator) -> None:
    risks, utilities = rng.random((2, 2, 9))
    rows, values = points("cmp", risks, utilities, "persistent")
    assert len(panels(rows)) == 1
    assert scores(rows, values) == ()


def test_points_that_are_missing_are_counted(rng: Generator) -> None:
    rows, values = points("cmp", *rng.random((2, 3, 9)))
    planned = Counter({(key(rows[0]), 5, "bayes"): 5})
    assert [score.missing for score in scores(rows, values, planned)] == [2]


def test_ranks_come_to_their_queries() -> None:
    ranks, texts = np.array([1, 50, 11, 2]), np.array([3, 0, 2, 2])
    found = Outcome(ranks, np.full(4, 40), texts)
    (figure,) = (one for one in ranked(found, "bayes", WORDS) if one.measure == "active")
    values = _by_subject(figure, figure.values, 4)
    assert values.tolist()[0] == 0  # beyond the candidates
    assert math.isnan(values[1])  # no rank at all
    assert values.tolist()[2:] == [0.5, 1.0]  # two ranks of one query are their mean


def test_utilities_are_compared_with_plain_search(rng: Generator) -> None:
    rows, values = points("cmp", *rng.random((2, 2, 12)))
    plain = Row("c", "bm25", "plain", "plain", "", 0.0, 1, "utility", "nDCG@10", "", 0.5, 0, 1, 12)
    values[plain] = rng.random(12)
    found = compared([plain, *rows], values)
    for before, after in zip([plain, *rows], found, strict=True):
        if before.kind == "utility" and before is not plain:
            assert after.p_value == compare(values[before], values[plain]).p_value
        else:
            assert after == before
    assert compared(rows, values) == tuple(rows)  # nothing to compare with


def gathered(folder: Path, text: str) -> Results:
    (folder / "tiny.toml").write_text(text)
    return sweep(load_study(folder / "tiny.toml"), folder / "out", workers=0)


def test_a_study_is_scored_from_what_it_measured(folder: Path) -> None:
    found = gathered(folder, STUDY)
    risks = {row.spec: row.score for row in found.rows if row.measure == "motivated"}
    gains = {row.spec: row.score for row in found.rows if row.measure == "nDCG@10"}
    names = ["cmp(epsilon=1.0)", "cmp(epsilon=5.0)"]
    wanted = quipu([risks[name] for name in names], [gains[name] for name in names])
    scored = {(score.curve, score.measure): score for score in found.scores}
    assert set(scored) == {
        (curve, measure)
        for curve in ("cmp", "custext")
        for measure in ("lazy", "active", "motivated")
    }
    score = scored["cmp", "motivated"]
    assert score.score == pytest.approx(wanted, abs=1e-12)
    assert (score.n, score.points, score.missing) == (6, 2, 0)
    tested = {row.spec for row in found.rows if row.p_value is not None}
    assert tested == {*names, *(name for name in gains if name.startswith("custext"))}
    assert not any("Points are missing" in note for note in found.notes)


def test_a_step_that_is_missing_is_told_and_the_rest_is_scored(folder: Path) -> None:
    gathered(folder, STUDY.replace("values = [1, 5]", "values = [1, 5, 9]"))
    with sqlite3.connect(folder / "out" / FILE) as db:
        db.execute("DELETE FROM steps WHERE kind = 'attack' AND spec = 'cmp(epsilon=5.0)'")
    db.close()
    with Store(folder / "out") as store:
        found = results(load_study(folder / "tiny.toml"), store)
    cmp = [score for score in found.scores if score.curve == "cmp"]
    assert [(score.points, score.missing, score.n) for score in cmp] == [(2, 1, 6)] * 3
    assert any("cmp has missing points: the QuIPU score" in note for note in found.notes)
