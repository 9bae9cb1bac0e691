"""Who was in it: statistics, thresholds, the bound of differential privacy, what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.ratings.taste import parts, people

from veil import ratings
from veil.core.errors import InputError
from veil.core.guarantee import Guarantee
from veil.core.types import Floats
from veil.ratings.attacks.membership import (
    Suspects,
    decide_by_threshold,
    dp_bound,
    quantile,
    statistics,
    threshold,
)
from veil.ratings.recommender import NOTHING, Model

DATA = people(400, 150, 14)


@pytest.mark.parametrize("spec", ["itemknn(k=10)", "popularity", "ease(reg=2)"])
def test_models_without_privacy_tell_who_was_in_them(spec: str) -> None:
    actual = ratings.attack(spec, DATA, "membership", rng=3)
    assert actual.success.low > 0.15
    assert actual.baseline == 0
    assert actual.details["auc"] > 0.6
    assert actual.details["at least"] < float(actual.success)
    assert "proved bound" not in actual.details
    rates = actual.details["true positives"] - actual.details["false positives"]
    assert float(actual.success) == pytest.approx(rates)


def test_a_private_model_keeps_within_its_bound() -> None:
    actual = ratings.attack("dppopularity(epsilon=0.5)", DATA, "membership", rng=3)
    assert actual.details["proved bound"] == pytest.approx(math.tanh(0.25))
    assert actual.details["at least"] <= actual.details["proved bound"]
    assert actual.details["exceeds it"] == 0
    loose = ratings.attack("dppopularity(epsilon=40, items=14)", DATA, "membership", rng=3)
    assert loose.success > actual.success + 0.1


def test_a_model_that_breaks_its_promise_is_caught() -> None:
    rng = np.random.default_rng(0)
    members, others = rng.normal(3, 1, 200), rng.normal(0, 1, 200)
    claim = Guarantee("dp", 0.1, unit="user")
    actual = decide_by_threshold(members, others, rng, claim, "user")
    assert actual.details["exceeds it"] == 1
    assert decide_by_threshold(others, others, rng, claim, "user").details["exceeds it"] == 0
    for weaker in (None, NOTHING, Guarantee("dp", 0.1, unit="rating"), Guarantee("dp", math.inf)):
        assert dp_bound(weaker) is None


def test_the_bound_is_that_of_the_formula() -> None:
    for epsilon, delta in ((0.0, 0.0), (1.0, 1e-3), (3.0, 0.1)):
        want = (math.exp(epsilon) - 1 + 2 * delta) / (math.exp(epsilon) + 1)
        claim = Guarantee("dp", epsilon, unit="user", delta=delta)
        assert dp_bound(claim) == pytest.approx(want)
    assert dp_bound(Guarantee("dp", 900.0, unit="user")) == 1


def test_thresholds_are_chosen_on_people_who_do_not_count() -> None:
    rng = np.random.default_rng(1)
    noise = [
        decide_by_threshold(rng.normal(size=80), rng.normal(size=80), rng, None, "user")
        for _ in range(60)
    ]
    mean = np.mean([float(entry.success) for entry in noise])
    assert abs(mean) < 0.05  # on the same people it would be about 0.15
    members, others = np.array([5.0, 6.0, 1.0]), np.array([1.0, 2.0, 3.0])
    cut = threshold(members, others)
    assert (members > cut).tolist() == [True, True, False]
    assert not (others > cut).any()
    assert (np.arange(1000.0) > quantile(np.arange(1000.0))).sum() <= 10


def shown(**arrays: object) -> Model:
    """Return a model that shows nothing but some arrays."""

    class Bare(Model):
        def scores(self, users: np.ndarray) -> Floats:
            raise NotImplementedError

        def ratings(self, users: np.ndarray, items: np.ndarray) -> Floats:
            raise NotImplementedError

    output = Bare("bare", SMALL, 4.0, NOTHING, seeded=False)
    vars(output).update(arrays)
    return output


SMALL = people(30, 20, 8)


def rows_of(means: Floats) -> Floats:
    """Return what is left of all ratings (n, m), 0 where there is none."""
    residual = np.zeros((SMALL.n, SMALL.m))
    residual[SMALL.user, SMALL.item] = SMALL.value - means[SMALL.item]
    rated = np.zeros_like(residual)
    rated[SMALL.user, SMALL.item] = 1
    own = residual.sum(axis=1) / (rated.sum(axis=1) + 5)
    return np.asarray(residual - rated * own[:, None], dtype=np.float64)


def test_statistics_are_those_of_the_formulas() -> None:
    suspects = Suspects(SMALL, 4.0)
    rng = np.random.default_rng(0)
    likes = np.zeros((SMALL.n, SMALL.m))
    liked = SMALL.value >= 4
    likes[SMALL.user[liked], SMALL.item[liked]] = 1
    model = ratings.recommender("itemknn(k=5)").fit(SMALL, 4.0)
    sims = np.zeros((SMALL.m, SMALL.m))
    for item, (near, size) in enumerate(
        zip(model.neighbours.index, model.neighbours.sims, strict=True)  # type: ignore[attr-defined]
    ):
        sims[item, near[near >= 0]] = size[near >= 0]
    mean = np.einsum("ui,ij,uj->u", likes, sims, likes) / np.maximum(likes.sum(axis=1), 1)
    assert statistics(model, suspects) == pytest.approx(mean)
    weights = rng.normal(size=(SMALL.m, SMALL.m))
    mean = np.einsum("ui,ij,uj->u", likes, weights, likes) / np.maximum(likes.sum(axis=1), 1)
    assert statistics(shown(weights=weights), suspects) == pytest.approx(mean)
    means = rng.uniform(2, 4, SMALL.m)
    rows = rows_of(means)
    subset = rows[::2].T @ rows[::2]
    distance = subset / np.trace(subset) - rows.T @ rows / np.trace(rows.T @ rows)
    want = np.einsum("ui,ij,uj->u", rows, distance, rows) / np.square(rows).sum(axis=1)
    assert statistics(shown(gram=subset, means=means), suspects) == pytest.approx(want)
    factors = rng.normal(size=(SMALL.m, 3))
    for user, entry in enumerate(statistics(shown(factors=factors, means=means), suspects)):
        items = SMALL.item[SMALL.rows(user)]
        own, residual = factors[items], rows[user, items]
        p = np.linalg.solve(own.T @ own + 0.2 * np.eye(3), own.T @ residual)
        assert entry == pytest.approx(-np.mean((residual - own @ p) ** 2))


def test_a_covariance_tells_who_was_in_it() -> None:
    data = people(200, 40, 15)
    means = np.full(data.m, 3.0)
    rows = [Suspects(data, 4.0).residual(user, means) for user in range(data.n)]
    gram = np.zeros((data.m, data.m))
    for items, residual in rows[:100]:
        gram[np.ix_(items, items)] += np.outer(residual, residual)
    model = shown(gram=gram, means=means)
    actual = statistics(model, Suspects(data, 4.0))
    assert actual[:100].mean() > actual[100:].mean()
    assert (actual[:100] > np.median(actual)).mean() > 0.6


def test_a_rating_that_was_trained_on_scores_higher() -> None:
    actual = ratings.attack("itemknn(k=10)", DATA, "membership(of='rating')", rng=1)
    assert actual.success.low > 0
    assert actual.unit == "rating"
    train, _ = ratings.split(DATA)
    model = ratings.recommender("itemknn(k=10)").fit(train, 4.0)
    again = ratings.attack(model, DATA, "membership(of='rating')", rng=1)
    assert float(again.success) == float(actual.success)
    with pytest.raises(InputError, match="no held-out like"):
        ratings.attack(model, train, "membership(of='rating')", rng=1)


def test_a_given_release_or_model_needs_people_who_are_not_in_it() -> None:
    train, _ = parts()
    with pytest.raises(InputError, match="Pass the spec"):
        ratings.attack(ratings.protect(train, "pseudonyms", rng=0), train, "membership", rng=0)
    inside = np.arange(0, DATA.n, 2)
    part = DATA.of_users(inside)
    model = ratings.recommender("popularity").fit(part, 4.0)
    actual = ratings.attack(model, DATA, "membership", rng=0)
    assert actual.success.low > 0.15
    release = ratings.protect(part, "pseudonyms", rng=0)
    assert release.rows is not None
    moved = replace(release, rows=tuple(int(inside[entry]) for entry in release.rows))
    actual = ratings.attack(moved, DATA, "membership(learner='itemknn(k=10)')", rng=0)
    assert actual.success.low > 0.1


def test_what_cannot_be_read_is_refused() -> None:
    with pytest.raises(InputError, match="needs a model with"):
        statistics(shown(), Suspects(SMALL, 4.0))
    with pytest.raises(InputError, match="a recommender or a model"):
        ratings.attack("pseudonyms", DATA, "membership(of='rating')", rng=0)
    with pytest.raises(InputError, match="at least four members"):
        ratings.attack("popularity", people(6, 20, 5), "membership", rng=0)
