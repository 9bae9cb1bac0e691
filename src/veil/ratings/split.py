"""A part for training and a part for testing, by hash: no generator, no order of rows."""

from concurrent.futures import Executor
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.core.errors import InputError, ParameterError
from veil.ratings.hashing import id_hashes, pair_hashes
from veil.ratings.ratings import Ratings
from veil.ratings.shards import gathered, shard_rows


def split(
    data: Ratings,
    fraction: float = 0.2,
    salt: int = 0,
    by: Literal["hash", "time"] = "hash",
    executor: Executor | None = None,
) -> tuple[Ratings, Ratings]:
    r"""Part ratings into train and test; both keep the users and items of the whole.

    By hash, the test of a user are the :math:`\lfloor fraction \cdot |I_u| \rfloor` items with the
    smallest hash of user and item. By time, everything at or after one instant, the same for all
    users, is the test: the last item of each user would let a model see the future of others.
    An executor hashes shards of users; the parts are the same.
    """
    if isinstance(fraction, bool) or not 0 < fraction < 1:
        raise ParameterError("The 'fraction' argument must be a number > 0 and < 1.")
    if isinstance(salt, bool) or not isinstance(salt, int | np.integer) or not 0 <= salt < 2**64:
        raise ParameterError("The 'salt' argument must be a whole number >= 0, below 2^64.")
    if by not in ("hash", "time"):
        raise ParameterError("The 'by' argument must be 'hash' or 'time'.")
    if by == "time":
        test = _later(data, fraction)
    else:
        test = gathered(executor, _hashed, data.starts, data, fraction, int(salt))
    if not test.any() or test.all():
        raise InputError("One part of the split would be empty; choose another fraction.")
    return data.take(~test), data.take(test)


def _hashed(part: slice, data: Ratings, fraction: float, salt: int) -> NDArray[np.bool_]:
    """Return which ratings of some users are the test."""
    rows, starts = shard_rows(data, part)
    users, items = id_hashes(data.users[part]), id_hashes(data.items)
    user, item = data.user[rows] - np.int32(part.start), data.item[rows]
    hashes = pair_hashes(users[user], items[item], salt)
    order = np.lexsort((item, hashes, user))  # users stay where they are
    place = np.empty(len(user), dtype=np.int64)
    place[order] = np.arange(len(user)) - starts[user]
    wanted = np.floor(fraction * np.diff(starts)).astype(np.int64)
    return np.asarray(place < wanted[user])


def _later(data: Ratings, fraction: float) -> NDArray[np.bool_]:
    if data.time is None:
        raise InputError("These ratings have no times; split them by hash.")
    instant = np.quantile(data.time, 1 - fraction, method="higher")
    return np.asarray(data.time >= instant)
