"""Release ratings: mechanisms, fresh ids, and private models."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator

from veil.core.errors import InputError, ParameterError
from veil.core.rng import Randomness, generator
from veil.core.types import Ids
from veil.dp.exact.coins import random_words
from veil.ratings.mechanism import Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.ratings import Ratings, in_order
from veil.ratings.recommender import Recommender
from veil.ratings.release import SEEDED, Release


def protect(
    train: Ratings, protection: str | Mechanism | Recommender, rng: Randomness = None
) -> Release:
    """Release protected ratings or a private model, or raise.

    Every released user gets a fresh id of 128 random bits, and these ids determine the order of
    users: neither identifies a user, and nothing links old and new ids. Mechanisms for values
    (krr, dlaplace) still reveal which items a user rated.

    Parameters
    ----------
    train
        Ratings to protect.
    protection
        A mechanism or private recommender, or its spec, such as ``krr(epsilon=1)``.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        reproducible, for experiments: it is marked as seeded and **not private**.
    """
    if not isinstance(train, Ratings):
        raise InputError(
            "The ratings to protect must come from ratings.load or ratings.of_arrays."
        )
    parsed = MECHANISMS.parse(protection) if isinstance(protection, str) else protection
    seeded = rng is not None
    warned = (SEEDED,) if seeded else ()
    if isinstance(parsed, Recommender):
        return _model(train, parsed, rng, warned)
    if not isinstance(parsed, Mechanism):
        raise ParameterError("A mechanism must be one of MECHANISMS or its spec.")
    parsed.check(train)
    cost, notes = parsed.cost(train), parsed.notes(train)
    draws = generator(rng)
    protected = parsed.apply(train, draws)
    data, rows = rename_users(protected.data, protected.rows, draws)
    return Release(data, str(parsed), cost, seeded, (*notes, *warned), rows=tuple(rows.tolist()))


def _model(
    train: Ratings, learner: Recommender, rng: Randomness, warned: tuple[str, ...]
) -> Release:
    """Fit a private model; models without a guarantee are not released."""
    if learner.name not in MECHANISMS.names():
        raise ParameterError(
            f"{learner.name} has no privacy guarantee, so its model cannot be released. Fit it"
            " without releasing it."
        )
    model = learner.fit(train, rng=rng)
    notes = (*model.notes, *warned)
    return Release(None, str(learner), model.guarantee, model.seeded, notes, model)


def rename_users(data: Ratings, rows: Ids, rng: Generator) -> tuple[Ratings, Ids]:
    """Return `data` and `rows` with fresh user ids, in the order of these ids."""
    words = random_words(2 * data.n, rng).reshape(data.n, 2)
    ids = [f"{high:016x}{low:016x}" for high, low in words.tolist()]
    place = {name: position for position, name in enumerate(in_order(ids))}
    if len(place) < data.n:  # one in 2^128 for any two users
        raise InputError("Two random ids are the same. Protect the ratings again.")
    to = np.array([place[name] for name in ids], dtype=np.int32)
    user = to[data.user]
    order = np.lexsort((data.item, user))
    moved = np.empty(data.n, dtype=np.int64)
    moved[to] = rows
    time = None if data.time is None else data.time[order]
    return (
        replace(
            data,
            users=tuple(place),
            user=user[order],
            item=data.item[order],
            value=data.value[order],
            time=time,
        ),
        moved,
    )
