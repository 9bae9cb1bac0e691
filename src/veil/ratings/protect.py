"""The one door from ratings to a release."""

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
    """Release other ratings, or a private model, or nothing at all.

    Every released user has a fresh id of 128 random bits, whatever the protection, and users are
    in the order of these: neither says who was who, and no list of both is made. A protection of
    values alone (krr, dlaplace) gives them, too; it still says which items somebody rated.

    Parameters
    ----------
    train
        What to protect.
    protection
        A protection or private recommender, or its spec, as ``krr(epsilon=1)``.
    rng
        None for fresh randomness of the operating system. A seed or a generator makes the release
        repeatable, which is for experiments: it is marked as seeded and **not private**.
    """
    if not isinstance(train, Ratings):
        raise InputError("What is protected are ratings of ratings.load.")
    chosen = MECHANISMS.parse(protection) if isinstance(protection, str) else protection
    seeded = rng is not None
    warned = (SEEDED,) if seeded else ()
    if isinstance(chosen, Recommender):
        return _model(train, chosen, rng, warned)
    if not isinstance(chosen, Mechanism):
        raise ParameterError("A mechanism must be one of MECHANISMS or its spec.")
    chosen.check(train)
    cost, notes = chosen.cost(train), chosen.notes(train)
    draws = generator(rng)
    made = chosen.apply(train, draws)
    data, rows = rename_users(made.data, made.rows, draws)
    return Release(data, str(chosen), cost, seeded, (*notes, *warned), rows=tuple(rows.tolist()))


def _model(
    train: Ratings, chosen: Recommender, rng: Randomness, warned: tuple[str, ...]
) -> Release:
    """Learn a model of which something is proved; one without privacy is no release."""
    if chosen.name not in MECHANISMS.names():
        raise ParameterError(
            f"{chosen.name} learns without privacy, and is no protection; fit it, and keep it."
        )
    model = chosen.fit(train, rng=rng)
    notes = (*model.notes, *warned)
    return Release(None, str(chosen), model.guarantee, model.seeded, notes, model)


def rename_users(data: Ratings, rows: Ids, rng: Generator) -> tuple[Ratings, Ids]:
    """Give users fresh ids and the order of these; return also `rows` in that order."""
    drawn = random_words(2 * data.n, rng).reshape(data.n, 2)
    ids = [f"{high:016x}{low:016x}" for high, low in drawn.tolist()]
    place = {one: position for position, one in enumerate(in_order(ids))}
    if len(place) < data.n:  # one in 2^128 for any two users
        raise InputError("Two random ids are the same; protect the ratings again.")
    to = np.array([place[one] for one in ids], dtype=np.int32)
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
