"""What a linking attacker is said to know: a few items of each target, and about how they rated.

This is the one place where an attacker's knowledge is made of the originals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError
from veil.core.types import Floats, Ids
from veil.ratings.hashing import id_hashes, mix, pair_hashes
from veil.ratings.ratings import Ratings

_DAY = 86_400.0
_SALT = 1  # of the hashes that choose knowledge


@dataclass(frozen=True, eq=False, repr=False)
class Knowledge:
    """Targets (t,), and items, values and times (t, known) that are known of each.

    Users and items are positions in the truth; who attacks is not shown `users`.
    """

    users: Ids
    items: Ids
    values: Floats
    times: Floats | None


def drawn(
    truth: Ratings, known: int, wrong: int, targets: int, days: float, rng: Generator
) -> Knowledge:
    """Draw targets, `known` - `wrong` items of each, and `wrong` items that they did not rate.

    Values are off by -1, 0 or 1, times by up to `days`, both uniformly; the value and the time of
    a wrong item are any that there can be.
    """
    right = known - wrong
    able = np.flatnonzero((truth.per_user >= max(right, 1)) & (truth.per_user <= truth.m - wrong))
    if not len(able):
        raise InputError(
            f"Nobody has {right:,} ratings that could be known; let the attacker know fewer."
        )
    users = np.sort(rng.choice(able, size=min(targets, len(able)), replace=False))
    items = np.empty((len(users), known), dtype=np.int64)
    values = np.empty((len(users), known))
    times = None if truth.time is None else np.empty((len(users), known))
    low, high = truth.scale
    for row, user in enumerate(users.tolist()):
        own = truth.rows(user)
        picked = own.start + rng.choice(own.stop - own.start, size=right, replace=False)
        others = np.setdiff1d(np.arange(truth.m), truth.item[own], assume_unique=True)
        items[row, :right] = truth.item[picked]
        items[row, right:] = rng.choice(others, size=wrong, replace=False)
        off = rng.integers(-1, 2, size=right)
        values[row, :right] = np.clip(truth.value[picked] + off, low, high)
        values[row, right:] = rng.integers(int(np.ceil(low)), int(np.floor(high)) + 1, size=wrong)
        if times is not None and truth.time is not None:
            shifts = rng.uniform(-days, days, size=right) * _DAY
            times[row, :right] = truth.time[picked] + shifts
            times[row, right:] = rng.choice(truth.time, size=wrong)
    return Knowledge(users.astype(np.int64), items, values, times)


def hashed(truth: Ratings, known: int, targets: int) -> Knowledge:
    """Choose by hash, the same whoever computes it: no generator, no wrong item.

    Targets are the first users, of one in four by hash, who have enough ratings; known are the
    items with the smallest hash of user and item; another part of it moves the values.
    """
    hashes = id_hashes(truth.users)
    able = np.flatnonzero((mix(hashes) % np.uint64(4) == 0) & (truth.per_user >= known))
    if not len(able):
        raise InputError(
            f"Nobody has {known:,} ratings that could be known; let the attacker know fewer."
        )
    users = able[:targets].astype(np.int64)
    of_items = id_hashes(truth.items)
    items, values, times = [], [], []
    for user in users.tolist():
        own = truth.rows(user)
        mixed = pair_hashes(hashes[user], of_items[truth.item[own]], _SALT)
        picked = np.lexsort((truth.item[own], mixed))[:known]
        off = (mixed[picked] >> np.uint64(8)) % np.uint64(3)
        items.append(truth.item[own][picked])
        values.append(np.clip(truth.value[own][picked] + off.astype(np.float64) - 1, *truth.scale))
        if truth.time is not None:
            times.append(truth.time[own][picked])
    at = np.stack(times) if times else None
    return Knowledge(users, np.stack(items).astype(np.int64), np.stack(values), at)
