"""Place one mechanism for ratings on the risk-utility plane."""

from collections.abc import Mapping, Sequence

from veil import studies
from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.measures.plane import Plane as Plane
from veil.measures.plane import PlanePoint as PlanePoint
from veil.ratings.attack import Attack
from veil.ratings.evaluate import Measure
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender
from veil.ratings.recommenders import recommender as recommender_of
from veil.ratings.study import RatingsExperiment, RatingsMaterial


def plane(
    train: Ratings,
    test: Ratings,
    name: str,
    sweep: Mapping[str, Sequence[float]],
    attack: str | Attack = "scoreboard(known=8)",
    recommender: str | Recommender = "itemknn(k=20)",
    rng: Randomness = None,
    *,
    positive: float | None = None,
    measure: Measure = "ndcg",
    k: int = 10,
) -> Plane:
    """Protect ratings with each value of a parameter, then measure risk and utility.

    Parameters
    ----------
    train, test
        Ratings to protect, and held-out ratings of the same users. Users keep their own ratings,
        and models from the release are applied to these.
    name, sweep
        A mechanism with its fixed parameters, and the values of another one, such as ``{"k": [20,
        10, 5, 2]}``.
    attack, recommender
        The attack, and the recommender for released ratings. A private recommender is measured
        directly.
    positive, measure, k
        Lowest rating of a like; the utility: nDCG@k, or 1 - RMSE/RMSE of the mean.
    """
    if len(sweep) != 1 or not len(next(iter(sweep.values()), ())):
        raise ParameterError("'sweep' must be one parameter with values. Try {'k': [20, 10, 5]}.")
    parameter, values = next(iter(sweep.items()))
    cls, fixed = MECHANISMS.read(name)
    mechanisms = [cls.load({**fixed, parameter: value}) for value in values]
    learner = recommender_of(recommender) if isinstance(recommender, str) else recommender
    material = RatingsMaterial("ratings", train, test, learner)
    experiment = RatingsExperiment.of(
        material, rng, positive=positive, utility=measure, depth=k, people=""
    )
    return studies.plane(
        experiment, mechanisms, [attack], parameter=parameter, spec=lambda made: made.brief,
        utility=measure, recommender=learner.brief,
    )  # fmt: skip
