"""Private recommenders: what they promise, what they refuse, and how good they are."""

import numpy as np
import pytest
from tests.ratings.people import golden, needs_golden, real, town

from veil.core.errors import InputError, ParameterError
from veil.core.rng import generator
from veil.ratings import Model, Ratings, recommender
from veil.ratings.catalogue import bounded_counts
from veil.ratings.recommenders.dppopularity import DPPopularity

SPECS = (
    "dppopularity(epsilon=2)",
    "dpcovariance(epsilon=2, delta=1e-3, factors=3)",
    "dpals(epsilon=2, delta=1e-3, factors=3, iterations=2)",
)


def rmse(model: Model, test: Ratings) -> float:
    users, items = test.user.astype(np.int64), test.item.astype(np.int64)
    actual = np.clip(model.ratings(users, items), *model.train.scale)
    return float(np.sqrt(np.mean(np.square(actual - test.value))))


@pytest.mark.parametrize("spec", SPECS)
def test_the_guarantee_is_known_before_the_data_is(spec: str) -> None:
    entry = recommender(spec)
    before, model = entry.guarantee, entry.fit(town(), rng=1)
    assert before == model.guarantee
    assert (before.kind, before.unit, before.epsilon) == ("dp", "user", 2.0)
    assert "add or remove one user" in before.neighbours
    assert before.delta == (0.0 if "popularity" in spec else 1e-3)
    assert ("joint" in before.caveat) == ("popularity" not in spec)


def test_delta_is_a_tenth_of_a_user_by_default_and_below_one() -> None:
    data = town()
    for name in ("dpcovariance", "dpals"):
        entry = recommender(f"{name}(epsilon=1)")
        assert entry.guarantee.kind == "none"
        assert entry.fit(data, rng=1).guarantee.delta == 1 / (10 * data.n)
        with pytest.raises(ParameterError, match="below 1/n"):
            recommender(f"{name}(epsilon=1, delta=0.025)").fit(data)


@pytest.mark.parametrize("spec", SPECS)
def test_fresh_noise_in_every_fit_and_the_same_by_a_seed(spec: str) -> None:
    data = town()
    entry = recommender(spec)
    first, again, other, fresh = (entry.fit(data, rng=seed) for seed in (1, 1, 2, None))
    users = np.arange(data.n)
    assert np.array_equal(first.scores(users), again.scores(users))
    assert not np.array_equal(first.scores(users), other.scores(users))
    assert not np.array_equal(first.scores(users), fresh.scores(users))
    assert (first.seeded, fresh.seeded) == (True, False)


@pytest.mark.parametrize("spec", SPECS)
def test_lists_leave_out_what_is_rated_and_strangers_have_a_fallback(spec: str) -> None:
    data = town()
    model = recommender(spec).fit(data, rng=1)
    assert sum(len(array) == data.m for array in model.public.values()) == len(model.public)  # type: ignore[attr-defined]
    lists = model.recommend(data.users[:3], k=3)
    for row, user in enumerate(range(3)):
        assert not set(lists.index[row]) & set(data.item[data.rows(user)])
    pairs = model.predict([data.users[0], "nobody", "nobody"], ["nothing", data.items[0], "x"])
    assert np.isfinite(pairs).all()
    assert ((pairs >= 1) & (pairs <= 5)).all()


@pytest.mark.parametrize("spec", SPECS[1:])
def test_scores_and_ratings_are_the_same_prediction(spec: str) -> None:
    data = town()
    model = recommender(spec).fit(data, rng=1)
    scores = model.scores(np.array([4, 9]))
    users, items = np.repeat([4, 9], data.m), np.tile(np.arange(data.m), 2)
    assert model.ratings(users, items) == pytest.approx(scores.ravel())


def test_no_more_likes_of_a_user_are_counted_than_is_said() -> None:
    data = town(60, 30, 0.9)
    liked = np.flatnonzero(data.value >= 4)
    per_user = np.bincount(data.user[liked], minlength=data.n)
    for most in (1, 5, 100):
        counts = bounded_counts(data, liked, most, generator(1))
        assert counts.sum() == np.minimum(per_user, most).sum()
    assert np.array_equal(counts, np.bincount(data.item[liked], minlength=data.m))
    first, second = (bounded_counts(data, liked, 3, generator(seed)) for seed in (1, 2))
    assert not np.array_equal(first, second), "which likes count is drawn"


def test_counts_have_laplace_noise_of_their_sensitivity() -> None:
    data = town(50, 4000, 0.01)
    noisy = DPPopularity(epsilon=2.0, items=6).fit(data, rng=3).likes
    noise = noisy - np.bincount(data.item[data.value >= 4], minlength=data.m)
    alpha = np.exp(-2 / 6)
    assert np.var(noise) == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=0.15)


def test_models_that_are_too_large_are_refused() -> None:
    with pytest.raises(ParameterError, match="at most the 12 items"):
        recommender("dpcovariance(epsilon=1, factors=13)").fit(town())
    with pytest.raises(InputError, match="at most 5,000 items"):
        recommender("dpcovariance(epsilon=1)").fit(town(4, 5001, 0.01))


@needs_golden
@pytest.mark.parametrize(
    ("spec", "key"),
    [
        ("dpcovariance(epsilon={}, delta=1e-5, factors=8, clip=30)",
         "dpcovariance(factors=8, clip=30, delta=1e-5)"),
        ("dpals(epsilon={}, delta=1e-5, factors=6, iterations=4)",
         "dpals(factors=6, iterations=4, delta=1e-5)"),
    ],
)  # fmt: skip
def test_jester_is_predicted_as_well_as_the_prototype(spec: str, key: str) -> None:
    train, test = real("jester", -10.0, 10.0)
    for epsilon in ("1", "10"):
        model = recommender(spec.format(epsilon)).fit(train, rng=7)
        worst = golden("jester_rmse_three_seeds_min_max")[key][epsilon][1]
        assert rmse(model, test) <= worst + 0.02
