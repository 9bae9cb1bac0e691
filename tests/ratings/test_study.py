"""Ratings as an experiment: the contract of domains, figures, what is kept, and the report."""

import re
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.ratings.taste import parts, people, written

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import bootstrap
from veil.ratings.pictures import favourites
from veil.ratings.study import ABOVE, WORTH, RatingsExperiment, RatingsStudy, by_user, most
from veil.studies.choose import choose
from veil.studies.domains import make_study
from veil.studies.report.report import render
from veil.studies.results import PLAIN, Results
from veil.studies.sweep import sweep
from veil.testing import check_domain

ROOT = Path(__file__).resolve().parents[2]
PROFILES = {"spec": "kprofiles(factors=4)", "parameter": "k", "values": [2.0, 8.0]}


def keys(folder: Path, **given: Any) -> dict[str, Any]:  # noqa: ANN401 - keys of any kind
    """Write ratings, and return the keys of a small study of them."""
    train, test = parts()
    paths = {
        "train": str(written(folder, train, "train.csv")),
        "test": str(written(folder, test, "test.csv")),
    }
    output = {"name": "t", "domain": "ratings", "scale": [1, 5], "recommender": "itemknn(k=8)"}
    return {**output, **paths, "mechanism": [PROFILES], **given}


def opened(folder: Path, **given: Any) -> RatingsExperiment:  # noqa: ANN401 - keys of any kind
    """Open a study."""
    study = make_study(keys(folder, **given), "the test", folder)
    assert isinstance(study, RatingsStudy)
    return RatingsExperiment(study)


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> tuple[RatingsExperiment, Results, Path]:
    """Sweep one study for several tests."""
    place = tmp_path_factory.mktemp("swept")
    titles = "\n".join(f"{item},Book {item} & Co" for item in range(60))
    (place / "items.csv").write_text(f"item,title\n{titles}\n")
    mechanism = [
        PROFILES,
        {"spec": "krr(epsilon=1)", "attackers": ["bayes(known=4)"]},
        {"spec": "dppopularity(epsilon=1)", "attackers": ["membership", "scoreboard"]},
    ]
    output = opened(
        place,
        mechanism=mechanism,
        items=str(place / "items.csv"),
        attackers=["scoreboard(known=4)"],
    )
    return output, sweep(output.study, place / "out", workers=0), place / "out"


def test_ratings_are_a_domain(tmp_path: Path) -> None:
    path = written(tmp_path, people(60, 30, 10))
    output = {"train": str(path), "scale": [1, 5], "recommender": "popularity"}
    check_domain(
        "ratings", {**output, "mechanism": [PROFILES], "attackers": ["scoreboard(known=2)"]}
    )


def test_figures_are_those_of_the_verbs(swept: tuple[RatingsExperiment, Results, Path]) -> None:
    output, actual, _ = swept
    rows = {(row.spec.partition("(")[0], row.kind, row.attacker): row for row in actual.rows}
    unprotected = ratings.recommender("itemknn(k=8)").fit(output.train, output.positive)
    best = ratings.evaluate(unprotected, output.test, measures=["ndcg"])["ndcg"]
    assert rows[PLAIN, "utility", ""].score == pytest.approx(float(best))
    bare = ratings.attack(output.train, output.train, "scoreboard(known=4)", rng=0)
    risk = rows[PLAIN, "risk", "scoreboard(known=4)"]
    assert risk.score == pytest.approx(float(bare.risk), abs=0.1)
    assert risk.n == len(bare.per_record)
    assert rows["kprofiles", "risk", "scoreboard(known=4)"].score < risk.score
    assert rows["krr", "risk", "bayes(known=4)"].score > 0.5
    assert {row.measure for row in actual.rows if row.kind == "risk"} == {ABOVE}
    assert {row.measure for row in actual.rows if row.kind == "utility"} == {WORTH}
    assert ("dppopularity", "risk", "membership") in rows
    assert ("dppopularity", "risk", "scoreboard") not in rows  # nothing to look for in a model


def test_risks_of_users_have_the_mean_of_the_attack() -> None:
    data = people()
    actual = ratings.attack(data, data, "scoreboard(known=2)", rng=0)
    rng = np.random.default_rng(0)
    values, users = by_user(actual, data.n, rng)
    assert values.mean() == pytest.approx(float(actual.risk))
    interval = bootstrap(values, users)
    assert (interval.low, interval.high) == pytest.approx((actual.risk.low, actual.risk.high))
    assert actual.subjects is not None
    assert np.array_equal(users, actual.subjects)
    whole = ratings.attack("popularity", data, "membership", rng=0)
    values, users = by_user(whole, data.n, rng)
    assert values.mean() == pytest.approx(float(whole.risk))
    half = (whole.risk.high - whole.risk.low) / 2
    assert 1.96 * values.std() / np.sqrt(data.n) == pytest.approx(half, rel=0.02)
    assert float(whole.risk) <= most(whole) <= 1


def test_cards_say_what_is_proved(swept: tuple[RatingsExperiment, Results, Path]) -> None:
    cards = {card.spec.partition("(")[0]: card for card in swept[1].cards}
    assert cards["kprofiles"].kind == "k-anonymity"
    assert cards["dppopularity"].kind == "dp"
    assert cards["krr"].kind == "local-dp"


def test_nothing_that_is_kept_says_who_is_who(
    swept: tuple[RatingsExperiment, Results, Path],
) -> None:
    output, actual, out = swept
    retained = (out / "study.sqlite").read_bytes()
    assert b"user-" not in retained
    assert b"rows" not in retained
    step = next(entry for entry in output.plain() if entry.kind == "attack")
    arrays = output.compute(step, None).arrays
    assert sorted(arrays) == ["risks", "users"]
    assert not np.array_equal(arrays["users"], np.arange(output.n))
    assert np.array_equal(arrays["users"], output.compute(step, None).arrays["users"])
    assert "user-" not in render(actual)


def test_likes_that_tell_users_apart_are_named_besides_those_that_all_have() -> None:
    train, _ = parts()
    for user in range(5):
        mine = train.rows(user)
        likes = train.item[mine][train.value[mine] >= 4]
        text = favourites(train, user, 4)
        raters = train.per_item[text].tolist()
        assert set(text.tolist()) <= set(likes.tolist())
        assert raters == sorted(raters, reverse=True)
        assert raters[0] == train.per_item[likes].max()
        assert len(text) < 4 or raters[-1] <= np.median(train.per_item[likes])


def test_the_report_shows_lists_by_title_and_who_could_be_found(
    swept: tuple[RatingsExperiment, Results, Path],
) -> None:
    output, actual, _ = swept
    lists, could = actual.sections
    assert (lists.identity, lists.private) == ("lists", True)
    assert (could.identity, could.private) == ("found", False)
    text = "".join(lists.content)
    assert text.count("Somebody who likes Book") == 3
    assert "Book 3 &amp; Co" in text or "Book 4 &amp; Co" in text
    assert "✓" in text
    assert re.search(r"kprofiles\(k=2, factors=4\) \(\d+ of 10 kept\)", text)
    message = "".join(could.content)
    assert "no protection" in message
    assert "8 known" in message
    assert "<svg" in message
    for user in output.examples_of.tolist():
        likes = output.train.item[output.train.rows(user)]
        assert f"Book {likes[0]} " in text or len(likes) > 4
    assert "Keep this report private" in render(actual)


def test_a_few_targets_are_the_same_at_every_point_so_that_curves_have_scores(
    tmp_path: Path,
) -> None:
    output = opened(tmp_path, attackers=["scoreboard(known=3, targets=9)"])
    cells = output.cells()
    attacks = [step for cell in cells for step in cell.steps if step.kind == "attack"]
    users = [output.compute(step, None).arrays["users"].tolist() for step in attacks]
    assert len(users) == 2
    assert users[0] == users[1]
    actual = sweep(output.study, tmp_path / "out", workers=0)
    assert [3 <= entry.n <= 9 for entry in actual.scores] == [True]  # those who can be measured
    assert np.isfinite(actual.scores[0].score)


def test_a_choice_is_made_of_a_study(swept: tuple[RatingsExperiment, Results, Path]) -> None:
    choice = choose(swept[1].rows, max_risk=0.9, attacker=ABOVE, cautious=False)
    assert choice.best.spec
    with pytest.raises(InputError, match="No configuration (keeps|is certified)"):
        choose(swept[1].rows, max_risk=0.0001, attacker=ABOVE)


def test_a_release_of_which_nothing_is_learnt_is_a_gap_of_its_own(tmp_path: Path) -> None:
    output = opened(tmp_path, positive=5, mechanism=[{"spec": "bits(epsilon=1)"}])
    cell = output.cells()[0]
    measure = next(step for step in cell.steps if step.kind == "measure")
    gap = output.compute(measure, output.compute(cell.release, None))
    assert "No released rating is a like" in str(gap.data["gap"])
    assert not list(output.figures(cell, measure, gap))


def test_what_cannot_be_done_is_a_gap_and_a_test_part_is_made(tmp_path: Path) -> None:
    output = opened(tmp_path, test="", scale=[], mechanism=[{"spec": "krr(epsilon=1)"}])
    cell = output.cells()[0]
    refused = output.compute(cell.release, None)
    assert "declared scale" in refused.data["refused"]
    gap = output.compute(cell.steps[0], refused)
    assert not list(output.figures(cell, cell.steps[0], gap))
    assert output.claim(cell, refused).kind == "none"
    assert len(output.test) > 100
    assert ("scale", "1 to 5, as observed") in output.facts()
    values = opened(tmp_path, utility="rmse", recommender="bias")
    score = values.compute(values.plain()[0], None).arrays["values"]
    assert len(set(score.tolist())) == 1
    with pytest.raises(ParameterError, match="sizes"):
        opened(tmp_path, sizes=[2])
    with pytest.raises(InputError, match="lowest and a highest"):
        opened(tmp_path, scale=[1])
    with pytest.raises(InputError, match="does not exist"):
        opened(tmp_path, test=str(tmp_path / "nosuch.csv"))


def test_the_shipped_study_can_be_read() -> None:
    path = ROOT / "studies" / "ratings" / "goodbooks.toml"
    study = make_study(tomllib.loads(path.read_text()), "the file", path.parent)
    assert isinstance(study, RatingsStudy)
    assert "goodbooks" in path.read_text().splitlines()[0]
    assert len(study.mechanism) >= 4
