"""What people with the same taste gave."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from veil.core.errors import ParameterError
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.fallback import Fallback
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import NOTHING, RatingModel, positive_of
from veil.ratings.recommenders.neighbours import Neighbours, Rows


class UserKNN(Neighbours):
    r"""Predict from the k raters of an item who are most like the user.

    :math:`\hat r_{ui} = \bar r_u + \sum_v s_{uv} (r_{vi} - \bar r_v) / \sum_v s_{uv}` over the k
    raters with the largest positive similarity, ties to the smaller position. Without any, the
    mean of the user (centred) or of all ratings. One row of similarities is held at a time.

    Notes
    -----
    Textbooks also print a sum over all raters, divided by the signed sum of their similarities:
    ``userknn(k=0, centre='none', signed=True)``. Where similarities of both signs nearly cancel,
    the quotient leaves the scale by any amount: it is here to show that, and for nothing else.
    """

    name: ClassVar[str] = "userknn"
    signed: Annotated[bool, Field(description="sum over all raters, also unlike ones")] = False

    def fit(
        self, train: Ratings, positive: float | None = None, rng: Randomness = None
    ) -> "UserKNNModel":
        """Keep the ratings by user and by item."""
        del rng  # nothing is drawn
        if self.signed and self.k:
            raise ParameterError("The 'signed' parameter of userknn needs k=0: all raters.")
        rows = Rows(train, self, transposed=False, signed=self.signed)
        return UserKNNModel(str(self), train, positive_of(train, positive), rows)


class UserKNNModel(RatingModel):
    """Ratings by user and by item."""

    def __init__(self, spec: str, train: Ratings, positive: float, rows: Rows) -> None:
        super().__init__(spec, train, positive, NOTHING, seeded=False)
        self._rows, self._fallback = rows, Fallback.of(train)

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return the weighted means; the fallback for who or what is not known."""
        found = self._fallback.ratings(users, items)
        known = np.flatnonzero((users >= 0) & (items >= 0))
        found[known] = self._rows.predict(users[known], items[known])
        return found
