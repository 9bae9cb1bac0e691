"""What a release is still worth: how well one recommends with it."""

from typing import Literal, NamedTuple

import numpy as np

from veil.core.errors import InputError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.measures.estimate import Estimate
from veil.ratings.evaluate import evaluate
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model, Recommender
from veil.ratings.recommenders import recommender as recommender_of
from veil.ratings.release import Release
from veil.ratings.served import Served

Measure = Literal["ndcg", "rmse"]


class Worth(NamedTuple):
    """The utility, from 0 to 1, and (n,) that of users by position where it is a mean of them."""

    score: Estimate
    values: Floats | None = None
    users: Ids | None = None


def learnt_of(
    release: Release,
    train: Ratings,
    recommender: str | Recommender,
    positive: float,
    rng: Randomness = None,
) -> Model:
    """Return what is learnt of released ratings, for the users of `train`; or a released model."""
    if release.model is not None:
        return release.model
    if release.data is None or release.rows is None:
        raise InputError("Utility needs a release of ratings as protect returned it, or a model.")
    if not (release.data.value >= positive).any():
        raise InputError(
            "No released rating is as high as 'positive', so that nothing is liked; give a lower"
            " one, or protect what is liked from there on (the 'positive' of bits)."
        )
    model = recommender_of(recommender).fit(release.data, positive, rng)
    return Served(model, train, release.rows)


def utility(model: Model, test: Ratings, measure: Measure = "ndcg", k: int = 10) -> Worth:
    r"""Measure a model on held-out ratings.

    ``ndcg`` is nDCG@k over all items. ``rmse`` is :math:`\max(0, 1 - RMSE / RMSE_{mean})`, where
    the second predicts the mean of all ratings: 0 is worth nothing.
    """
    if measure == "ndcg":
        scores = evaluate(model, test, k, ("ndcg",))
        at = test.user_positions
        users = np.array([at[one] for one in scores.users], dtype=np.int64)
        return Worth(scores["ndcg"], scores.per_user("ndcg"), users)
    error = evaluate(model, test, k, ("rmse",))["rmse"]
    middle = float(np.mean(model.train.value, dtype=np.float64))
    blind = float(np.sqrt(np.mean(np.square(np.asarray(test.value, dtype=np.float64) - middle))))
    if not blind:
        raise InputError("All test ratings are alike; nothing can be predicted of them.")
    kept, low, high = (max(0.0, 1 - one / blind) for one in (float(error), error.high, error.low))
    return Worth(Estimate(kept, low, high, error.n))
