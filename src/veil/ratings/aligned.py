"""Ratings of two files on the same users and items."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from veil.core.types import Floats, Ids
from veil.ratings.order import in_order
from veil.ratings.ratings import Positions, Ratings
from veil.ratings.recommender import Model


def aligned(train: Ratings, test: Ratings) -> tuple[Ratings, Ratings]:
    """Return both with the users and items of either, in order; as they are where these agree."""
    if train.users == test.users and train.items == test.items:
        return train, test
    users = tuple(in_order([*train.users, *test.users]))
    items = tuple(in_order([*train.items, *test.items]))
    return _on(train, users, items), _on(test, users, items)


def _on(data: Ratings, users: tuple[str, ...], items: tuple[str, ...]) -> Ratings:
    of_user, of_item = _places(data.users, users), _places(data.items, items)
    wide = replace(data, users=users, items=items)
    user, item = of_user[data.user], of_item[data.item]
    order = np.lexsort((item, user))
    return replace(
        wide,
        user=user[order],
        item=item[order],
        value=data.value[order],
        time=None if data.time is None else data.time[order],
    )


def _places(ids: tuple[str, ...], among: tuple[str, ...]) -> Positions:
    """Return where each id stands among others."""
    place = {one: position for position, one in enumerate(among)}
    return np.array([place[one] for one in ids], dtype=np.int32)


class _Wide(Model):
    """A model among more items than it knows: the others have its score of an unknown one."""

    def __init__(self, model: Model, train: Ratings) -> None:
        super().__init__(model.spec, train, model.positive, model.guarantee, seeded=model.seeded)
        self._model = model
        self._items = _places(model.train.items, train.items)
        known = model.train.user_positions
        self._users: NDArray[np.int64] = np.array(
            [known.get(one, -1) for one in train.users], dtype=np.int64
        )

    def scores(self, users: Ids) -> Floats:
        own = self._users[users]
        scores = np.repeat(self._model.unknown(own)[:, None], self.train.m, axis=1)
        scores[:, self._items] = self._model.scores(own)
        return scores

    def ratings(self, users: Ids, items: Ids) -> Floats:
        place = np.full(self.train.m, -1, dtype=np.int64)
        place[self._items] = np.arange(len(self._items))
        return self._model.ratings(self._users[users], place[items])


def widened(model: Model, train: Ratings) -> Model:
    """Return a model that serves the users and items of `train`, which holds all of its own."""
    same = train.users == model.train.users and train.items == model.train.items
    return model if same else _Wide(model, train)
