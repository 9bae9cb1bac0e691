"""What was learnt of a release, for people who kept their own ratings at home."""

import numpy as np

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.ratings.likes import Likes
from veil.ratings.ratings import Ratings
from veil.ratings.recommender import Model
from veil.ratings.recommenders.lists import ItemLists


class Served(Model):
    """A model of released ratings, among the users of the originals.

    Lists of neighbours meet the profile that a user kept. Any other model knows of her only what
    was released: it scores the released profile behind which she is (`rows`, for experiments).
    Items that she rated are never listed to her, whatever the release says.
    """

    def __init__(self, learnt: Model, train: Ratings, rows: tuple[int, ...]) -> None:
        super().__init__(
            learnt.spec, train, learnt.positive, learnt.guarantee, seeded=learnt.seeded
        )
        self._learnt = learnt
        self._place = np.full(train.n, -1, dtype=np.int64)
        self._place[np.asarray(rows, dtype=np.int64)] = np.arange(len(rows))
        lists = getattr(learnt, "neighbours", None)
        self._lists = lists if isinstance(lists, ItemLists) else None
        self._likes = Likes.of(train, learnt.positive)
        if self._lists is None and (self._place < 0).any():
            raise InputError(
                f"The release lacks {int((self._place < 0).sum()):,} of the users; learn lists of"
                " neighbours from it, as itemknn(k=20)."
            )

    def scores(self, users: Ids) -> Floats:
        """Return how well each item fits (b, m) users (b,)."""
        if self._lists is not None:
            return self._lists.scores(self._likes, users)
        return self._learnt.scores(self._place[users])

    def ratings(self, users: Ids, items: Ids) -> Floats:
        """Return predicted ratings (n,) of pairs of positions."""
        place = np.where(users >= 0, self._place[users], -1)
        return self._learnt.ratings(place, items)
