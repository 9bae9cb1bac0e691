"""What most people like, with noise."""

from fractions import Fraction
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

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
    r"""Count at most `items` likes of each user, chosen at random, and add whole noise.

    .. math:: \tilde c_i = c_i + z_i, \qquad \Pr[z] \propto e^{-|z| \varepsilon / items}

    for every item of the catalogue, liked or not. Proved: epsilon-DP when a user comes or goes,
    since she changes the counts by at most `items` (L1). Draws are exact.

    References
    ----------
    Ghosh, Roughgarden, Sundararajan. Universally Utility-Maximizing Privacy Mechanisms. SIAM J.
    Comput. 41(6), 2012. doi:10.1137/09076828X
    """

    name: ClassVar[str] = "dppopularity"
    implicit: ClassVar[bool] = True
    epsilon: Annotated[float, Field(gt=0, description="budget of a user", examples=[1.0])]
    items: Annotated[int, Field(ge=1, description="likes of a user that are counted")] = 40

    @property
    def guarantee(self) -> Guarantee:
        """DP of a user."""
        return Guarantee(
            "dp",
            self.epsilon,
            unit="user",
            neighbours=NEIGHBOURS,
            caveat=f"The counts are public; a user's own items are taken off her list at home."
            f" {ASSUMED} {TUNED}",
        )

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "DPPopularityModel":
        """Count, and add noise."""
        declared_scale(train, self.name)
        require_catalogue(train, self.name)
        chosen, draws = positive_of(train, positive), generator(rng)
        counts = bounded_counts(train, np.flatnonzero(train.value >= chosen), self.items, draws)
        noise = discrete_laplace(self.items / Fraction(self.epsilon), train.m, draws)
        noisy = (counts + noise).astype(np.float64)
        public = {"likes": noisy}
        return DPPopularityModel(
            str(self), train, chosen, self.guarantee, public, seeded=rng is not None
        )

    def restore(self, train: Ratings, positive: float, state: State) -> "DPPopularityModel":
        """Make a model again of its counts: to count again would be another release."""
        public = {"likes": np.asarray(state["likes"], dtype=np.float64)}
        return DPPopularityModel(str(self), train, positive, self.guarantee, public, seeded=False)


class DPPopularityModel(PrivateModel):
    """Noisy counts (m,) of likes, the same for everybody."""

    @property
    def likes(self) -> Floats:
        """Noisy counts (m,)."""
        return self.public["likes"]

    def scores(self, users: Ids) -> Floats:
        """Return the same counts for every user."""
        return np.broadcast_to(self.likes, (len(users), len(self.likes)))

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the user's own mean, else the middle of the scale: counts are no ratings."""
        del items
        train = self.train
        total = np.bincount(train.user, train.value, train.n)
        middle = sum(train.scale) / 2
        means = np.where(train.per_user > 0, total / np.maximum(train.per_user, 1), middle)
        return np.where(users >= 0, np.append(means, middle)[users], middle)
