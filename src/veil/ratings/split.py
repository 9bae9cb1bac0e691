"""Ratings for training and for testing, on the same users and items."""

from concurrent.futures import Executor
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Positions, Ratings, id_hashes, in_order, pair_hashes
from veil.ratings.recommender import Model
from veil.ratings.shards import gather_shards, shard_rows


def split(
    data: Ratings,
    fraction: float = 0.2,
    salt: int = 0,
    by: Literal["hash", "time"] = "hash",
    executor: Executor | None = None,
) -> tuple[Ratings, Ratings]:
    r"""Split ratings into train and test; both keep the users and items of the whole.

    By hash, the test items of a user are the :math:`\lfloor fraction \cdot |I_u| \rfloor` with the
    smallest hash of user and item. By time, the test is everything at or after one instant for all
    users; with the last item of each user instead, a model would see the future of others. An
    executor hashes shards of users, with the same result.
    """
    if isinstance(fraction, bool) or not 0 < fraction < 1:
        raise ParameterError("The 'fraction' argument must be a number > 0 and < 1.")
    if isinstance(salt, bool) or not isinstance(salt, int | np.integer) or not 0 <= salt < 2**64:
        raise ParameterError("The 'salt' argument must be an integer >= 0 and below 2^64.")
    if by not in ("hash", "time"):
        raise ParameterError("The 'by' argument must be 'hash' or 'time'.")
    if by == "time":
        test = _later(data, fraction)
    else:
        test = gather_shards(executor, _hashed, data.starts, data, fraction, int(salt))
    if not test.any() or test.all():
        raise InputError("One part of the split would be empty. Choose another fraction.")
    return data.take(~test), data.take(test)


def _hashed(part: slice, data: Ratings, fraction: float, salt: int) -> NDArray[np.bool_]:
    """Return a mask of the test ratings of some users."""
    rows, starts = shard_rows(data, part)
    users, items = id_hashes(data.users[part]), id_hashes(data.items)
    user, item = data.user[rows] - np.int32(part.start), data.item[rows]
    hashes = pair_hashes(users[user], items[item], salt)
    order = np.lexsort((item, hashes, user))  # users stay in order
    place = np.empty(len(user), dtype=np.int64)
    place[order] = np.arange(len(user)) - starts[user]
    sizes = np.floor(fraction * np.diff(starts)).astype(np.int64)
    return np.asarray(place < sizes[user])


def _later(data: Ratings, fraction: float) -> NDArray[np.bool_]:
    if data.time is None:
        raise InputError("These ratings have no times. Split them by hash.")
    instant = np.quantile(data.time, 1 - fraction, method="higher")
    return np.asarray(data.time >= instant)


def align(train: Ratings, test: Ratings) -> tuple[Ratings, Ratings]:
    """Return both parts on the sorted union of their users and items; unchanged if these agree."""
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
    """Return the position of each id in `among`."""
    positions = {name: position for position, name in enumerate(among)}
    return np.array([positions[name] for name in ids], dtype=np.int32)


class _Wide(Model):
    """A model on more items than it knows; the others get its score for unknown items."""

    def __init__(self, model: Model, train: Ratings) -> None:
        super().__init__(model.spec, train, model.positive, model.guarantee, seeded=model.seeded)
        self._model = model
        self._items = _places(model.train.items, train.items)
        positions = model.train.user_positions
        self._users: NDArray[np.int64] = np.array(
            [positions.get(name, -1) for name in train.users], dtype=np.int64
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


def widen(model: Model, train: Ratings) -> Model:
    """Return a model for the users and items of `train`, a superset of the model's own."""
    same = train.users == model.train.users and train.items == model.train.items
    return model if same else _Wide(model, train)
