"""Place one protection on the risk-utility plane: protect, attack, learn, measure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.core.errors import ParameterError
from veil.core.estimate import Estimate
from veil.core.rng import Randomness, generator
from veil.measures.quipu import quipu
from veil.ratings.attack import Attack
from veil.ratings.attack import attack as attacked
from veil.ratings.attacks import ATTACKS
from veil.ratings.evaluate import Measure, fit_release, utility
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender, positive_of


class PlanePoint(NamedTuple):
    """One configuration on the plane."""

    spec: str
    value: float
    risk: Estimate
    utility: Estimate
    guarantee: str


@dataclass(frozen=True)
class Plane:
    """Configurations in the order in which their values were named.

    `quipu` is the score of the curve from the most private value to the most useful one, whichever
    way the values were named.
    """

    rows: tuple[PlanePoint, ...]
    quipu: float
    attacker: str
    recommender: str

    @property
    def risk(self) -> tuple[Estimate, ...]:
        """Risk of each value."""
        return tuple(row.risk for row in self.rows)

    @property
    def utility(self) -> tuple[Estimate, ...]:
        """Utility of each value."""
        return tuple(row.utility for row in self.rows)

    def __iter__(self) -> Iterator[PlanePoint]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, number: int) -> PlanePoint:
        return self.rows[number]


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
    """Protect ratings with each value of a parameter, attack what leaves, and measure its worth.

    Parameters
    ----------
    train, test
        What is protected, and held-out ratings of the same users. People keep their own ratings
        at home: what is learnt of the release meets them there.
    name, sweep
        A protection, with its fixed parameters if any, and the values of one, as ``{"k": [20, 10,
        5, 2]}``.
    attack, recommender
        Who attacks; what is learnt of released ratings. A private recommender is measured itself.
    positive, measure, k
        From which rating on an item is liked; nDCG@k, or 1 - RMSE/RMSE of the mean.
    """
    if len(sweep) != 1 or not len(next(iter(sweep.values()), ())):
        raise ParameterError("A plane needs one parameter and its values, as {'k': [20, 10, 5]}.")
    (parameter, values), draws = next(iter(sweep.items())), generator(rng)
    by = ATTACKS.parse(attack) if isinstance(attack, str) else attack
    liked = positive_of(train, positive)
    cls, fixed = MECHANISMS.read(name)
    rows = []
    for value in values:
        made = cls.load({**fixed, parameter: value})
        release = protect(train, made, rng=draws)
        target = made if by.fits else release
        found = attacked(target, train, by, draws, positive=liked)
        model = fit_release(release, train, recommender, liked, draws)
        worth = utility(model, test, measure, k).score
        rows.append(PlanePoint(made.brief, float(value), found.risk, worth, str(release.cost)))
    order = np.argsort([row.value for row in rows], kind="stable")
    if cls.direction(parameter) == "private":
        order = order[::-1]
    score = quipu([float(rows[i].risk) for i in order], [float(rows[i].utility) for i in order])
    learner = recommender if isinstance(recommender, str) else recommender.brief
    return Plane(tuple(rows), score, by.brief, learner)
