"""Measures of lists and predictions, against ir_measures, by hand, and what is refused."""

import numpy as np
import pytest
from tests.ratings.golden import made

from veil import ratings
from veil.core.errors import InputError, ParameterError
from veil.core.estimate import bootstrap
from veil.core.types import Floats, Ids
from veil.ratings.evaluate import Scores
from veil.ratings.measures import NAMES
from veil.ratings.ratings import Ratings, of_arrays
from veil.ratings.recommender import NOTHING, Model
from veil.studies.pool import processes


class Fixed(Model):
    """Scores that a test chooses."""

    def __init__(self, train: Ratings, scores: Floats, positive: float = 4) -> None:
        super().__init__("fixed", train, positive, NOTHING, seeded=False)
        self._scores = scores

    def scores(self, users: Ids) -> Floats:
        return self._scores[users]

    def ratings(self, users: Ids, items: Ids) -> Floats:
        return np.full(len(users), 3.0)


def world(scores: list[float], relevant: str, rated: str = "z") -> tuple[Model, Ratings]:
    """One user who rated one item, and likes others of the test."""
    items = [*"abcdxyz"]
    train = of_arrays(["u"], items, np.zeros(1, int), np.array([items.index(rated)]), np.ones(1),
                      scale=(1, 5))  # fmt: skip
    places = np.array([items.index(entry) for entry in relevant])
    test = of_arrays(
        ["u"], items, np.zeros(len(places), int), places, np.full(len(places), 5.0), scale=(1, 5)
    )
    return Fixed(train, np.array([scores])), test


def test_examples_by_hand() -> None:
    model, test = world([9, 8, 7, 6, 1, 0, 5], "bdx")
    actual = ratings.evaluate(model, test, k=4)
    expected = {"precision": 0.5, "recall": 2 / 3, "f1": 4 / 7, "ap": 1 / 3}
    assert {name: float(actual[name]) for name in expected} == pytest.approx(expected)
    assert actual["ndcg"] == pytest.approx(0.49818925746641285)


def test_auc_counts_ties_by_half_and_leaves_out_what_was_rated() -> None:
    model, test = world([3, 2, 2, 1, -5, -5, 100], "b")
    # b (2) is above d, x and y, equal to c, below a; z was rated
    assert ratings.evaluate(model, test, k=2, measures=["auc"])["auc"] == pytest.approx(3.5 / 5)


def test_many_liked_items_have_the_same_auc() -> None:
    rng = np.random.default_rng(1)
    m = 90
    names = [str(entry) for entry in range(m)]
    train = of_arrays(["u"], names, np.zeros(1, int), np.zeros(1, int), np.ones(1), scale=(1, 5))
    liked = np.arange(1, 50)
    test = of_arrays(["u"], names, np.zeros(49, int), liked, np.full(49, 5.0), scale=(1, 5))
    scores = rng.integers(0, 20, m).astype(float)
    own, others = scores[liked][:, None], scores[50:]
    expected = ((own > others) + 0.5 * (own == others)).mean()
    actual = ratings.evaluate(Fixed(train, scores[None]), test, measures=["auc"])
    assert actual["auc"] == pytest.approx(expected)


@pytest.fixture(scope="module")
def parts() -> tuple[Ratings, Ratings]:
    return ratings.split(made(), fraction=0.3)


@pytest.fixture(scope="module")
def scores(parts: tuple[Ratings, Ratings]) -> Scores:
    model = ratings.recommender("itemknn(k=10)").fit(parts[0], positive=4)
    return ratings.evaluate(model, parts[1], k=5)


def test_as_ir_measures(parts: tuple[Ratings, Ratings], scores: Scores) -> None:
    library = pytest.importorskip("ir_measures", reason="the extra 'measure' is not installed")
    train, test = parts
    lists = ratings.recommender("itemknn(k=10)").fit(train, positive=4).recommend(scores.users, 5)
    run = {
        user: {item: 10.0 - rank for rank, item in enumerate(lists.list(row))}
        for row, user in enumerate(scores.users)
    }
    judged: dict[str, dict[str, int]] = {}
    for user, item, value in zip(test.user, test.item, test.value, strict=True):
        if test.users[user] in run:
            judged.setdefault(test.users[user], {})[test.items[item]] = int(value >= 4)
    labels = {"precision": library.P @ 5, "recall": library.R @ 5, "ndcg": library.nDCG @ 5}
    labels["ap"] = library.AP @ 5
    for name, measure in labels.items():
        rows = {entry.query_id: entry.value for entry in library.iter_calc([measure], judged, run)}
        expected = [rows[user] for user in scores.users]
        assert scores.per_user(name) == pytest.approx(expected), name


def test_every_mean_has_the_interval_of_the_bootstrap(scores: Scores) -> None:
    assert scores.names == NAMES
    for name in ("ndcg", "novelty", "serendipity"):
        expected = bootstrap(scores.per_user(name))
        assert (scores[name], scores[name].low, scores[name].high) == pytest.approx(
            (expected, expected.low, expected.high)
        )
    assert scores["rmse"].low < scores["rmse"] < scores["rmse"].high


def test_diversity_is_one_minus_the_mean_cosine(parts: tuple[Ratings, Ratings]) -> None:
    train, test = parts
    model = ratings.recommender("popularity").fit(train, positive=4)
    actual = ratings.evaluate(model, test, k=5, measures=["diversity"])
    likes = np.zeros((train.n, train.m))
    likes[train.user[train.value >= 4], train.item[train.value >= 4]] = 1
    unit = likes / np.maximum(np.linalg.norm(likes, axis=0), 1e-9)
    expected = []
    for row in model.recommend(actual.users, 5).index:
        cosines = unit[:, row].T @ unit[:, row]
        expected.append(1 - cosines[~np.eye(5, dtype=bool)].mean())
    assert actual.per_user("diversity") == pytest.approx(expected)


def test_serendipity_of_what_everybody_likes_is_none(parts: tuple[Ratings, Ratings]) -> None:
    model = ratings.recommender("popularity").fit(parts[0], positive=4)
    actual = ratings.evaluate(model, parts[1], measures=["serendipity"])
    assert float(actual["serendipity"]) == 0.0


def test_users_without_a_relevant_item_are_left_out_and_counted() -> None:
    names = ["1", "2"]
    train = of_arrays(
        names, [*"abc"], np.array([0, 1]), np.array([0, 0]), np.ones(2), scale=(1, 5)
    )
    test = of_arrays(names, [*"abc"], np.array([0, 1]), np.array([1, 1]), np.array([5.0, 1.0]),
                     scale=(1, 5))  # fmt: skip
    actual = ratings.evaluate(ratings.recommender("mean").fit(train, positive=4), test, k=1)
    assert (actual.users, actual.left_out, actual.pairs) == (("1",), 1, 2)
    assert len(actual.per_user("ndcg")) == 1
    assert len(actual.per_user("rmse")) == 2


def test_a_pair_in_both_parts_is_refused(parts: tuple[Ratings, Ratings]) -> None:
    train, _ = parts
    model = ratings.recommender("mean").fit(train)
    with pytest.raises(InputError, match=f"Got {len(train):,} common pairs"):
        ratings.evaluate(model, train)


@pytest.mark.parametrize("names", [[], ["nothing"], "ndcg", ["ndcg", "p"]])
def test_unknown_measures_are_refused(parts: tuple[Ratings, Ratings], names: list[str]) -> None:
    model = ratings.recommender("mean").fit(parts[0])
    with pytest.raises(ParameterError, match="measures"):
        ratings.evaluate(model, parts[1], measures=names)


@pytest.mark.parametrize("k", [0, 31, True, 2.0])
def test_depths_that_there_cannot_be(parts: tuple[Ratings, Ratings], k: int) -> None:
    with pytest.raises(ParameterError, match="'k'"):
        ratings.evaluate(ratings.recommender("mean").fit(parts[0]), parts[1], k=k)


def test_no_relevant_item_at_all_is_one_sentence(parts: tuple[Ratings, Ratings]) -> None:
    train, test = parts
    low = test.take(test.value < 4)
    with pytest.raises(InputError, match="No test user"):
        ratings.evaluate(ratings.recommender("mean").fit(train, positive=4), low)


def test_what_was_not_measured_is_not_told(scores: Scores, parts: tuple[Ratings, Ratings]) -> None:
    model = ratings.recommender("mean").fit(parts[0])
    few = ratings.evaluate(model, parts[1], measures=["rmse"])
    with pytest.raises(ParameterError, match="rmse"):
        few["ndcg"]
    with pytest.raises(InputError, match="Coverage"):
        scores.per_user("coverage")
    assert "rmse" in repr(few)


@pytest.mark.parametrize("spec", ["itemknn(k=10)", "bias"])
def test_parts_from_files_are_measured_as_parts_of_a_whole(spec: str) -> None:
    train, test = ratings.split(made(n=12, m=60, share=0.1, seed=3), fraction=0.4)
    observed = np.unique(train.item)
    assert len(observed) < train.m  # or nothing is shown
    place = np.full(train.m, -1, dtype=np.int32)
    place[observed] = np.arange(len(observed))
    single = of_arrays(
        train.users,
        [train.items[entry] for entry in observed],
        train.user,
        place[train.item],
        train.value,
        scale=(1, 5),
    )
    whole, parted = (
        ratings.evaluate(ratings.recommender(spec).fit(entry, positive=4), test, k=5)
        for entry in (train, single)
    )
    lists = ["ndcg", "auc", "coverage", "diversity", "novelty", "serendipity"]
    if spec == "bias":
        lists = ["coverage"]  # an unknown item has the fallback, an unrated one no bias
    for name in lists:
        assert float(whole[name]) == pytest.approx(
            float(parted[name]), abs=0.2 * (spec == "bias") + 1e-9
        )


@pytest.mark.slow
def test_workers_change_nothing(parts: tuple[Ratings, Ratings], scores: Scores) -> None:
    model = ratings.recommender("itemknn(k=10)").fit(parts[0], positive=4)
    with processes(2) as pool:
        actual = ratings.evaluate(model, parts[1], k=5, executor=pool)
    for name in NAMES:
        assert (actual[name], actual[name].low) == (scores[name], scores[name].low)
