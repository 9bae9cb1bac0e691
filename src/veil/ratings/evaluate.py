"""Quality of a model on held-out ratings, and the utility of a release."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from veil.core.errors import InputError, ParameterError
from veil.core.estimate import Estimate, interval, resamples
from veil.core.registry import read_spec
from veil.core.rng import Randomness
from veil.core.types import Floats, Ids
from veil.ratings.measures import COVERAGE, ERRORS, MEASURES, Block, TrainStats
from veil.ratings.measures import names as known_measures
from veil.ratings.ratings import Likes, Ratings, spread, top
from veil.ratings.recommender import BLOCK, Model, Recommender, check_k
from veil.ratings.recommenders import recommender as recommender_of
from veil.ratings.recommenders.neighbours import ItemLists
from veil.ratings.release import Release
from veil.ratings.split import align, widen


def estimates(values: Mapping[str, Floats], sizes: Floats | None = None) -> dict[str, Estimate]:
    """Return the means of columns (n,) with 95 % bootstrap intervals over the n users.

    With `sizes` (n,) the columns are sums over that many cases of each user, and the result is
    the mean over cases. Like `veil.core.estimate.bootstrap`, with the same draws for all columns.
    """
    if not values:
        return {}
    columns = np.stack(list(values.values()), axis=1)
    weights = np.ones(len(columns)) if sizes is None else sizes
    table = np.column_stack([columns, weights])
    means = []
    for draws in resamples(len(table)):
        rows, n = draws.shape
        flat = (draws + np.arange(rows)[:, None] * n).ravel()
        times = np.bincount(flat, minlength=rows * n).reshape(rows, n)
        sums = times.astype(np.float64) @ table
        means.append(sums[:, :-1] / sums[:, -1:])
    resampled, whole = np.concatenate(means), columns.sum(axis=0) / weights.sum()
    return {
        name: interval(float(whole[at]), resampled[:, at], len(table))
        for at, name in enumerate(values)
    }


_JOBS = 8  # parts of the users for an executor; any number gives the same result
_ALL_PAIRS = "Coverage belongs to all lists together. Choose a measure that has a value per user."


@dataclass(frozen=True, eq=False, repr=False)
class Scores:
    """Measures of a model, each with its interval over users.

    Attributes
    ----------
    names
        Measures, in order.
    k
        Depth of the lists.
    users
        Ids of the users whose lists were measured.
    left_out
        Users of the test who have no relevant item, or whom the model does not know. No measure
        of lists includes them.
    pairs
        Number of predicted test ratings.
    """

    names: tuple[str, ...]
    k: int
    users: tuple[str, ...]
    left_out: int
    pairs: int
    _means: dict[str, Estimate]
    _values: dict[str, Floats]

    def __getitem__(self, name: str) -> Estimate:
        self._require(name)
        return self._means[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name} {float(self._means[name]):.4f}" for name in self.names)
        return f"Scores({shown}; {len(self.users):,} users)"

    def per_user(self, name: str) -> Floats:
        """Return the values (n,) of the users, in the order of `users`.

        For `rmse` and `mae` these are all users with a test rating, in the order of the test.
        """
        self._require(name)
        if name not in self._values:
            raise InputError(_ALL_PAIRS)
        return self._values[name]

    def _require(self, name: str) -> None:
        if name not in self.names:
            raise ParameterError(f"The measure must be one of: {', '.join(self.names)}.")


def evaluate(
    model: Model,
    test: Ratings,
    k: int = 10,
    measures: Sequence[str] | None = None,
    executor: Executor | None = None,
) -> Scores:
    """Measure predictions and lists of a model against held-out ratings.

    Every item is a candidate for every user, except those she rated in training. There are no
    sampled negatives, which change the order of systems [1]_. Test items with a rating that the
    model counts as a like are relevant. Users without a relevant item are left out and counted.

    Parameters
    ----------
    model
        Result of `fit`.
    test
        Held-out ratings; a pair of user and item that is also in the training part raises. Users
        and items may differ: items that the model does not know stay candidates.
    k
        Depth of the lists.
    measures
        Some of ``rmse mae precision recall f1 ndcg ap auc coverage novelty diversity
        serendipity``, or specs of registered measures; all by default.
    executor
        Processes or a cluster that measure parts of the users. The result is the same with any
        executor.

    References
    ----------
    .. [1] Krichene, Rendle. On sampled metrics for item recommendation. KDD 2020.
    """
    names = _names(measures)
    train, test = align(model.train, test)
    check_k(k, train.m)
    _refuse_common(train, test)
    serving = widen(model, train)
    values: dict[str, Floats] = {}
    means: dict[str, Estimate] = {}
    if set(names) & set(ERRORS):
        _errors(model, train, test, names, means, values)
    subjects: Ids = np.empty(0, dtype=np.int64)
    excluded = 0
    if set(names) - set(ERRORS):
        subjects, excluded = _subjects(model, train, test)
        listed = tuple(name for name in names if name not in (*ERRORS, COVERAGE))
        columns, index = _listed(serving, test, subjects, k, listed, executor)
        values.update(columns)
        means.update(estimates(columns))
        share = len(np.unique(index[index >= 0])) / train.m
        means[COVERAGE] = Estimate(share, share, share, len(subjects))
    people = tuple(train.users[user] for user in subjects.tolist())
    shown = {name: means[name] for name in names}
    return Scores(names, k, people, excluded, len(test), shown, values)


def _names(measures: Sequence[str] | None) -> tuple[str, ...]:
    available = known_measures()
    names = available if measures is None else tuple(measures)
    heads = set() if isinstance(measures, str) else {read_spec(name)[0] for name in names}
    if not heads or heads - set(available):
        raise ParameterError(f"The 'measures' argument must be some of: {', '.join(available)}.")
    for name in names:
        if name not in (*ERRORS, COVERAGE):
            MEASURES.parse(name)
    return names


def _refuse_common(train: Ratings, test: Ratings) -> None:
    if not len(test):
        raise InputError("The test has no rating. Pass at least one.")
    m = np.int64(train.m)
    trained, tested = train.user * m + train.item, test.user * m + test.item  # both sorted
    place = np.minimum(np.searchsorted(trained, tested), len(trained) - 1)
    common = (trained[place] == tested).sum()
    if common:
        raise InputError(
            f"Train and test must not share ratings. Got {int(common):,} common pairs of user and"
            " item. Remove them from one part."
        )


def _subjects(model: Model, train: Ratings, test: Ratings) -> tuple[Ids, int]:
    """Return the known users with a relevant item, and the number of the others."""
    everybody = np.unique(test.user).astype(np.int64)
    judged = np.unique(test.user[test.value >= model.positive]).astype(np.int64)
    if train.users != model.train.users:
        positions = model.train.user_positions
        judged = judged[[train.users[user] in positions for user in judged.tolist()]]
    if not len(judged):
        raise InputError("No test user has a relevant item. Use a lower 'positive'.")
    return judged, len(everybody) - len(judged)


def _errors(
    model: Model,
    train: Ratings,
    test: Ratings,
    names: Sequence[str],
    means: dict[str, Estimate],
    values: dict[str, Floats],
) -> None:
    users = np.asarray(train.users, dtype=object)[test.user].tolist()
    items = np.asarray(train.items, dtype=object)[test.item].tolist()
    off = np.abs(model.predict(users, items) - test.value)
    counts = np.bincount(test.user)
    rated = counts > 0
    sizes = counts[rated].astype(np.float64)
    sums = {"mae": off, "rmse": off**2}
    totals = {
        name: np.asarray(np.bincount(test.user, sums[name])[rated], dtype=np.float64)
        for name in ERRORS
        if name in names
    }
    for name, mean in estimates(totals, sizes).items():
        errors = totals[name] / sizes
        values[name] = np.sqrt(errors) if name == "rmse" else errors
        means[name] = _root(mean) if name == "rmse" else mean


def _root(square: Estimate) -> Estimate:
    return Estimate(sqrt(float(square)), sqrt(square.low), sqrt(square.high), square.n)


def _listed(
    model: Model,
    test: Ratings,
    subjects: Ids,
    k: int,
    names: tuple[str, ...],
    executor: Executor | None,
) -> tuple[dict[str, Floats], Ids]:
    if executor is None:
        shares = [_share(model, test, subjects, k, names)]
    else:
        step = _step(model.train.m)
        blocks = -(-len(subjects) // step)
        cuts = step * np.linspace(0, blocks, min(_JOBS, blocks) + 1).astype(int)
        parts = [subjects[a:b] for a, b in pairwise(cuts)]
        jobs = [executor.submit(_share, model, test, part, k, names) for part in parts]
        shares = [job.result() for job in jobs]  # in the order of users
    columns = {name: np.concatenate([values[name] for values, _ in shares]) for name in names}
    return columns, np.concatenate([index for _, index in shares])


def _share(
    model: Model, test: Ratings, subjects: Ids, k: int, names: tuple[str, ...]
) -> tuple[dict[str, Floats], Ids]:
    ground = TrainStats.of(model.train, model.positive)
    values: dict[str, list[Floats]] = {name: [] for name in names}
    measures = {name: MEASURES.parse(name) for name in names}
    lists = []
    for start in range(0, len(subjects), step := _step(model.train.m)):
        users = subjects[start : start + step]
        scores = model.candidates(users)
        index, _ = top(scores, k)
        relevant = _relevant(test, users, model.positive)
        block = Block(ground, users, index, scores, relevant)
        for name, measure in measures.items():
            values[name].append(measure.values(block))
        lists.append(index)
    return {name: np.concatenate(rows) for name, rows in values.items()}, np.concatenate(lists)


def _step(m: int) -> int:
    """Return the number of users in a block of bounded memory."""
    return max(1, BLOCK // (8 * m))


def _relevant(test: Ratings, users: Ids, positive: float) -> NDArray[np.bool_]:
    """Return a mask (b, m) of the items that each user likes in the test."""
    rows, owner = spread(test.starts[users], test.starts[users + 1])
    liked = test.value[rows] >= positive
    relevant = np.zeros((len(users), test.m), dtype=bool)
    relevant[owner[liked], test.item[rows[liked]]] = True
    return relevant


class Served(Model):
    """A model of released ratings that serves the users of the originals.

    Neighbour lists are applied to the profile that the user kept. Any other model knows only her
    released profile, which `rows` identifies (for experiments). Items that she rated are never
    recommended to her.
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
                f"The release lacks {int((self._place < 0).sum()):,} of the users. Use lists of"
                " neighbours, such as itemknn(k=20)."
            )

    @override
    def scores(self, users: Ids) -> Floats:
        if self._lists is not None:
            return self._lists.scores(self._likes, users)
        return self._learnt.scores(self._place[users])

    @override
    def ratings(self, users: Ids, items: Ids) -> Floats:
        place = np.where(users >= 0, self._place[users], -1)
        return self._learnt.ratings(place, items)


Measure = Literal["ndcg", "rmse"] | str


class Worth(NamedTuple):
    """A utility from 0 to 1, with values (n,) and positions (n,) of users if it is their mean."""

    score: Estimate
    values: Floats | None = None
    users: Ids | None = None


def fit_release(
    release: Release,
    train: Ratings,
    recommender: str | Recommender,
    positive: float,
    rng: Randomness = None,
) -> Model:
    """Return a model trained on released ratings for the users of `train`, or a released model."""
    if release.model is not None:
        return release.model
    if release.data is None or release.rows is None:
        raise InputError("Utility needs a model, or a release of ratings from protect.")
    if not (release.data.value >= positive).any():
        raise InputError(
            "No released rating is a like. Use a lower 'positive', or the same 'positive' in the"
            " mechanism bits."
        )
    model = recommender_of(recommender).fit(release.data, positive, rng)
    return Served(model, train, release.rows)


def check_utility(measure: str) -> str:
    """Return `measure` if it can be a utility: rmse, or a measure of lists from 0 to 1."""
    if measure == "rmse":
        return measure
    if measure in (*ERRORS, COVERAGE):
        raise ParameterError("The 'measure' argument must be rmse or a measure of lists.")
    parsed = MEASURES.parse(measure)
    if (parsed.lowest, parsed.highest) != (0.0, 1.0):
        raise ParameterError(
            f"The utility of a plane must be a measure from 0 to 1. Got {parsed.name} instead."
        )
    return measure


def utility(model: Model, test: Ratings, measure: Measure = "ndcg", k: int = 10) -> Worth:
    r"""Return the utility of a model on held-out ratings.

    ``ndcg`` is nDCG@k over all items, and any other measure of lists from 0 to 1 can replace it.
    ``rmse`` is :math:`\max(0, 1 - RMSE / RMSE_{mean})`, where the second model predicts the mean
    of all ratings.
    """
    if measure != "rmse":
        check_utility(measure)
        scores = evaluate(model, test, k, (measure,))
        at = test.user_positions
        users = np.array([at[bound] for bound in scores.users], dtype=np.int64)
        return Worth(scores[measure], scores.per_user(measure), users)
    error = evaluate(model, test, k, ("rmse",))["rmse"]
    middle = float(np.mean(model.train.value, dtype=np.float64))
    blind = float(np.sqrt(np.mean(np.square(np.asarray(test.value, dtype=np.float64) - middle))))
    if not blind:
        raise InputError("All test ratings are equal. Use a test part with different ratings.")
    score, low, high = (
        max(0.0, 1 - bound / blind) for bound in (float(error), error.high, error.low)
    )
    return Worth(Estimate(score, low, high, error.n))
