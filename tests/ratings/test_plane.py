"""Points of the plane, their order and score, and what a release is worth."""

import numpy as np
import pytest
from tests.ratings.taste import parts

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.measures.quipu import quipu
from veil.ratings.attack import unprotected_release
from veil.ratings.evaluate import Served, fit_release, utility

TRAIN, TEST = parts()


def test_points_are_in_the_order_of_the_values_and_the_score_in_that_of_privacy() -> None:
    down, up = (
        ratings.plane(
            TRAIN, TEST, "kprofiles(factors=4)", {"k": values}, "scoreboard(known=4)",
            "itemknn(k=8)", rng=0,
        )
        for values in ([12, 5, 2], [2, 5, 12])
    )  # fmt: skip
    risks, worths = [float(entry) for entry in down.risk], [float(entry) for entry in down.utility]
    assert risks == sorted(risks)
    assert down.quipu == pytest.approx(quipu(risks, worths))
    assert [row.value for row in up] == [2, 5, 12]
    turned = quipu(
        [float(entry) for entry in up.risk][::-1], [float(entry) for entry in up.utility][::-1]
    )
    assert up.quipu == pytest.approx(turned)
    assert len(down) == 3
    assert down[0].guarantee.startswith("k-anonymity: k = 12")


def test_more_epsilon_is_more_useful_and_models_are_measured_themselves() -> None:
    actual = ratings.plane(
        TRAIN, TEST, "dppopularity", {"epsilon": [50.0, 0.01]}, "membership", rng=1
    )
    assert actual.utility[0] > actual.utility[1]
    ordered = (
        [float(entry) for entry in actual.risk][::-1],
        [float(entry) for entry in actual.utility][::-1],
    )
    assert actual.quipu == pytest.approx(quipu(*ordered))


def test_lists_meet_the_profile_that_was_kept() -> None:
    unprotected = ratings.recommender("itemknn(k=8)").fit(TRAIN, 4.0)
    served = fit_release(unprotected_release(TRAIN), TRAIN, "itemknn(k=8)", 4.0)
    users = np.arange(TRAIN.n)
    assert np.allclose(served.scores(users), unprotected.scores(users))
    release = ratings.protect(TRAIN, "pseudonyms", rng=3)
    for spec in ("itemknn(k=8)", "bias", "ease(reg=10)"):
        want = ratings.recommender(spec).fit(TRAIN, 4.0)
        output = fit_release(release, TRAIN, spec, 4.0)
        assert np.allclose(output.scores(users), want.scores(users), atol=1e-5)
        assert np.allclose(output.ratings(users, users % 60), want.ratings(users, users % 60))
    own = output.lists(users, 10).index
    for user in users.tolist():
        assert not set(own[user]) & set(TRAIN.item[TRAIN.rows(user)].tolist())
    part = ratings.recommender("bias").fit(TRAIN.of_users(np.arange(9)), 4.0)
    with pytest.raises(InputError, match="lacks 111"):
        Served(part, TRAIN, tuple(range(9)))


def test_utility_is_that_of_evaluation() -> None:
    model = ratings.recommender("itemknn(k=8)").fit(TRAIN, 4.0)
    worth = utility(model, TEST)
    assert worth.score == ratings.evaluate(model, TEST, measures=["ndcg"])["ndcg"]
    assert worth.values is not None
    assert worth.users is not None
    assert worth.values.mean() == pytest.approx(float(worth.score))
    knn = ratings.recommender("userknn(k=20, centre='none')").fit(TRAIN, 4.0)
    error = ratings.evaluate(knn, TEST, measures=["rmse"])["rmse"]
    blind = ratings.evaluate(ratings.recommender("mean").fit(TRAIN, 4.0), TEST, measures=["rmse"])[
        "rmse"
    ]
    retained = utility(knn, TEST, "rmse").score
    assert float(retained) == pytest.approx(max(0.0, 1 - float(error) / float(blind)))
    assert retained.low <= float(retained) <= retained.high
    assert float(retained) > 0


def test_a_release_without_a_like_is_refused() -> None:
    release = ratings.protect(TRAIN, "bits(epsilon=3, positive=3)", rng=1)
    assert fit_release(release, TRAIN, "popularity", 3.0).scores(np.arange(2)).any()
    with pytest.raises(InputError, match="is a like"):
        fit_release(release, TRAIN, "popularity", 4.0)


def test_bad_sweeps_are_refused() -> None:
    sweeps: list[dict[str, list[float]]] = [{}, {"k": []}, {"k": [3], "factors": [2]}]
    for sweep in sweeps:
        with pytest.raises(ParameterError, match="one parameter"):
            ratings.plane(TRAIN, TEST, "kprofiles", sweep)
    with pytest.raises(ParameterError, match="no parameter 'q'"):
        ratings.plane(TRAIN, TEST, "kprofiles(k=3)", {"q": [1.0]})
