"""Checks of ratings: mechanisms, recommenders, attacks and measures of lists."""

from inspect import signature
from typing import Any

import numpy as np

from veil import ratings
from veil.core.errors import LawError, VeilError
from veil.ratings.measures import Block, Measure, TrainStats
from veil.ratings.mechanism import Mechanism
from veil.ratings.mechanisms import MECHANISMS
from veil.ratings.protect import protect
from veil.ratings.ratings import Ratings, of_arrays
from veil.ratings.recommender import Model, Recommender
from veil.ratings.recommenders import RECOMMENDERS
from veil.ratings.release import Release
from veil.ratings.split import split
from veil.testing.contract import (
    CANARY,
    SEED,
    Attacking,
    Check,
    Part,
    Protection,
    declarations,
    fingerprint,
    parameters,
    refusal,
    require,
)

USERS, ITEMS, EACH, TASTES = 120, 60, 20, 4


def tastes(seed: int = 0) -> Ratings:
    """Return the ratings of users with four tastes."""
    rng = np.random.default_rng(seed)
    user, item, value = [], [], []
    likes = np.arange(USERS) % TASTES
    for number, taste in enumerate((rng.permutation(likes) if seed else likes).tolist()):
        near = (np.arange(ITEMS) % TASTES) == taste
        weights = np.where(near, 6.0, 1.0) / (1 + np.arange(ITEMS) % 17)
        rated = rng.choice(ITEMS, EACH, replace=False, p=weights / weights.sum())
        user += [number] * EACH
        item += rated.tolist()
        value += np.clip(rng.normal(np.where(near[rated], 4.4, 2.6), 0.8).round(), 1, 5).tolist()
    users = [f"user-{number:04d}" for number in range(USERS)]
    items = [str(number) for number in range(ITEMS)]
    return of_arrays(
        users, items, np.array(user), np.array(item), np.array(value), scale=(1, 5), public=True
    )


def _content(release: Release) -> object:
    """Return the released ratings, or the lists of a released model."""
    if release.model is None:
        return release.data
    return release.model.lists(np.arange(20), 10).scores


_PROTECTING = Protection(
    lambda _: tastes(),
    lambda mechanism, data, rng: protect(data, mechanism, rng=rng),
    lambda: [CANARY, None, [CANARY]],
    _content,
)


def renames_users(mechanism: Mechanism | Recommender) -> None:
    """Check that no released user has an original id, and that values are on the scale."""
    original = tastes()
    release = protect(original, mechanism, rng=SEED)
    data = release.data
    require(
        data is None or not set(data.users) & set(original.users),
        "a release must not have the id of an original user",
    )
    require(
        data is None or not len(data) or original.scale[0] <= data.value.min(),
        "released ratings must be on the scale",
    )


def law_of_ratings(mechanism: Mechanism) -> None:
    """Check the law of one rating against its guarantee."""
    guarantee, data = mechanism.guarantee, tastes()
    if guarantee.kind != "local-dp":
        return
    try:
        logs = mechanism.log_likelihood(data)
    except LawError:
        return
    require(bool(np.allclose(np.exp(logs).sum(axis=1), 1)), "probabilities must add up to 1")
    lost = float((logs.max(axis=0) - logs.min(axis=0)).max())
    require(lost <= guarantee.epsilon + 1e-6, "the law must keep the guarantee for two ratings")


def _fit(recommender: Recommender, train: Ratings) -> Model:
    """Fit a recommender, with a table of the items if it takes one."""
    if "items" in signature(recommender.fit).parameters:
        genres = [f"genre{number % TASTES}" for number in range(ITEMS)]
        fit: Any = recommender.fit
        model: Model = fit(train, rng=SEED, items={"item": list(train.items), "genre": genres})
        return model
    return recommender.fit(train, rng=SEED)


def learns_and_recommends(recommender: Recommender) -> None:
    """Check a fitted model: its lists, its predictions, and that a seed repeats them."""
    train = tastes()
    before = fingerprint(train)
    model = _fit(recommender, train)
    require(fingerprint(train) == before, "a recommender must not modify its input")
    users, k = np.arange(12), 5
    scores = np.asarray(model.scores(users))
    require(scores.shape == (12, ITEMS), "scores(users) must be (b, items)")
    require(not bool(np.isnan(scores).any()), "scores must be numbers")
    lists = model.lists(users, k)
    for row, user in enumerate(users.tolist()):
        own = set(train.item[train.rows(user)].tolist())
        require(
            not own & set(lists.index[row].tolist()), "no list may show an item of the user's own"
        )
    again = _fit(recommender, train).scores(users)
    require(bool(np.array_equal(scores, again)), "the same seed must give the same model")
    predicted = model.predict([train.users[0], "nobody"], [train.items[0], train.items[1]])
    require(
        predicted.shape == (2,) and bool(((predicted >= 1) & (predicted <= 5)).all()),
        "predictions must be on the scale, also for a user whom nobody knows",
    )
    require(
        refusal(lambda: model.recommend([CANARY], 3)) is not None,
        "a list for an unknown user must be refused",
    )


def measures_lists(measure: Measure) -> None:
    """Check the values of a measure: their shape and limits, and that they can be repeated."""
    train, test = split(tastes())
    model = RECOMMENDERS.parse("popularity").fit(train)
    users = np.arange(30, dtype=np.int64)
    relevant = np.zeros((30, ITEMS), dtype=np.bool_)
    for user in users.tolist():
        relevant[user, test.item[test.rows(user)][:2]] = True
    lists = model.lists(users, 5).index
    stats = TrainStats.of(train, model.positive)
    block = Block(stats, users, lists, model.candidates(users), relevant)
    before = fingerprint(block)
    values = measure.values(block)
    require(values.shape == (30,), "values(block) must be (b,): one for each user")
    require(
        bool(((values >= measure.lowest - 1e-9) & (values <= measure.highest + 1e-9)).all()),
        "values must be between `lowest` and `highest`",
    )
    require(
        bool(np.array_equal(values, measure.values(block))),
        "the same lists must have the same values",
    )
    require(fingerprint(block) == before, "a measure must not modify its input")


MEASURE: tuple[Check, ...] = (declarations, parameters, measures_lists)
MECHANISM: tuple[Check, ...] = (*_PROTECTING.checks, renames_users, law_of_ratings)


def protects_as_a_mechanism(recommender: Recommender) -> None:
    """Make the checks of a mechanism, too, if the recommender is registered as one."""
    if recommender.name in MECHANISMS.names():
        for check in (*_PROTECTING.checks, renames_users):
            check(recommender)


RECOMMENDER: tuple[Check, ...] = (
    declarations,
    parameters,
    learns_and_recommends,
    protects_as_a_mechanism,
)


def _columns() -> dict[str, list[str]]:
    return {"smoker": ["yes" if number % TASTES < 2 else "no" for number in range(USERS)]}


def _attack(attack: Part, original: Ratings, released: Any) -> Any:  # noqa: ANN401
    return ratings.attack(released, original, attack, SEED, people=_columns())


TRAINED = (  # recommenders that attacks train, and one that reveals nothing ("" if none exists)
    ("itemknn(k=5)", ""),
    ("als(factors=8)", "dppopularity(epsilon=0.01)"),
    ("als(factors=8)", "federated"),
)


def _accepts(attack: Part, target: str) -> bool:
    try:
        _attack(attack, tastes(), target)
    except VeilError:
        return False
    return True


def _target(attack: Part) -> tuple[Ratings, Any]:
    """Return what is attacked: a recommender by an attack that trains it itself, else ratings."""
    original = tastes()
    if not attack.fits:
        return original, original
    return original, _trained(attack)[0]


def _trained(attack: Part) -> tuple[str, str]:
    for target, other in TRAINED:
        if _accepts(attack, target) and (not other or _accepts(attack, other)):
            return target, other
    return TRAINED[0]


def _unrelated(attack: Part) -> Any:  # noqa: ANN401
    if attack.fits:
        return _trained(attack)[1] or None
    return tastes(23)


_LINKING = Attacking(_target, _attack, _unrelated)
ATTACK: tuple[Check, ...] = _LINKING.checks
