"""Popular items, with noise."""

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from veil.core.guarantee import Guarantee
from veil.core.rng import Randomness, generator
from veil.core.types import Floats, Ids
from veil.dp.exact.samplers import discrete_laplace
from veil.ratings.catalogue import (
    ASSUMED,
    NEIGHBOURS,
    bounded_counts,
    require_catalogue,
)
from veil.ratings.mechanism import declared_scale
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Recommender, State, positive_of
from veil.ratings.recommenders._private import TUNED, PrivateModel


class DPPopularity(Recommender):
    r"""Count at most `items` likes of each user, chosen at random, and add integer noise.

    .. math:: \tilde c_i = c_i + z_i, \qquad \Pr[z] \propto e^{-|z| \varepsilon / items}

    for every item of the catalogue, liked or not. Proved: epsilon-DP when a user is added or
    removed, since she changes the counts by at most `items` (L1). Draws are exact.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. SIAM J.
    Comput. 41(6), 2012. doi:10.1137/09076828X
    """

    name: ClassVar[str] = "dppopularity"
    implicit: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of a user", examples=[1.0])]
    items: Annotated[int, Field(ge=1, description="maximum number of counted likes of a user")] = (
        40
    )

    @property
    @override
    def guarantee(self) -> Guarantee:
        return Guarantee(
            "dp",
            self.epsilon,
            unit="user",
            neighbours=NEIGHBOURS,
            caveat=f"The counts are public; a user's own items are removed from her list at home."
            f" {ASSUMED} {TUNED}",
        )

    @override
    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "DPPopularityModel":
        declared_scale(train, self.name)
        require_catalogue(train, self.name)
        limit, draws = positive_of(train, positive), generator(rng)
        counts = bounded_counts(train, np.flatnonzero(train.value >= limit), self.items, draws)
        noise = discrete_laplace(self.items / Fraction(self.epsilon), train.m, draws)
        noisy = (counts + noise).astype(np.float64)
        public = {"likes": noisy}
        return DPPopularityModel(
            str(self), train, limit, self.guarantee, public, seeded=rng is not None
        )

    def restore(self, train: Ratings, positive: float, state: State) -> "DPPopularityModel":
        """Return the model of released counts: fitting again would be another release."""
        public = {"likes": np.asarray(state["likes"], dtype=np.float64)}
        return DPPopularityModel(str(self), train, positive, self.guarantee, public, seeded=False)


class DPPopularityModel(PrivateModel):
    """Noisy counts (m,) of likes, the same for every user."""

    @property
    def likes(self) -> Floats:
        """Noisy counts (m,)."""
        return self.public["likes"]

    @override
    def scores(self, users: Ids) -> Floats:
        return np.broadcast_to(self.likes, (len(users), len(self.likes)))

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        del items
        train = self.train
        total = np.bincount(train.user, train.value, train.n)
        middle = sum(train.scale) / 2
        means = np.where(train.per_user > 0, total / np.maximum(train.per_user, 1), middle)
        return np.where(users >= 0, np.append(means, middle)[users], middle)
