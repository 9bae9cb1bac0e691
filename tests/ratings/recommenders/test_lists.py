"""Recommenders of likes and of descriptions: item lists, ease, content."""

import sys
from types import ModuleType

import numpy as np
import pytest
from tests.ratings.golden import made
from tests.ratings.recommenders.fitting import TABLE, fitted

from veil import ratings
from veil.core.errors import InputError
from veil.ratings.ratings import Likes, Ratings
from veil.ratings.recommenders import ease, kernels
from veil.ratings.recommenders.content import Content
from veil.ratings.recommenders.neighbours import ItemLists


@pytest.fixture(scope="module")
def train() -> Ratings:
    return ratings.split(made(), fraction=0.2)[0]


@pytest.fixture(params=["numba", "numpy"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use compiled kernels, where there are any, and do without."""
    if request.param == "numpy":
        monkeypatch.setattr("veil.ratings.recommenders.neighbours.compiled_at_hand", lambda: False)


def test_kernels_are_at_hand_only_with_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)  # as if it were not installed
    for name in ("factors", "lists", "neighbours"):  # what a failed import can leave behind
        residual = f"veil.ratings.recommenders._fused_{name}"
        monkeypatch.setitem(sys.modules, residual, ModuleType(residual))
    assert not kernels.compiled_at_hand.__wrapped__()


@pytest.mark.usefixtures("either")
def test_lists_are_the_cosines(train: Ratings) -> None:
    likes = np.zeros((train.n, train.m))
    likes[train.user[train.value >= 4], train.item[train.value >= 4]] = 1
    sizes = likes.sum(axis=0)
    cosines = likes.T @ likes / np.sqrt(np.outer(sizes, sizes))
    np.fill_diagonal(cosines, 0)
    lists = ItemLists.of(Likes.of(train, 4), 6)
    for item in range(train.m):
        order = np.lexsort((np.arange(train.m), -cosines[item].round(12)))[:6]
        order = order[cosines[item, order] > 0]
        pad = [-1] * (6 - len(order))
        assert lists.index[item].tolist() == [*order.tolist(), *pad]
        assert lists.sims[item, : len(order)] == pytest.approx(cosines[item, order])
    retained = np.zeros_like(cosines)
    for item, (row, sims) in enumerate(zip(lists.index, lists.sims, strict=True)):
        retained[item, row[row >= 0]] = sims[row >= 0]
    assert lists.scores(Likes.of(train, 4), np.arange(train.n)) == pytest.approx(
        likes @ retained.T
    )


def test_lists_of_some_items_are_those_of_all(train: Ratings) -> None:
    likes = Likes.of(train, 4)
    whole, part = ItemLists.of(likes, 6), ItemLists.of(likes, 6, 10, 17)
    assert (whole.index[10:17] == part.index).all()


def test_very_long_profiles_are_cut_and_counted(
    train: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    likes = Likes.of(train, 1)
    monkeypatch.setattr("veil.ratings.recommenders.neighbours.MOST", 10)
    actual = ItemLists.of(likes, 6)
    assert actual.capped == (likes.per_user > 10).sum() > 0


def test_ease_is_its_formula(train: Ratings) -> None:
    model = fitted("ease(reg=7)", train)
    likes = np.zeros((train.n, train.m))
    likes[train.user[train.value >= 4], train.item[train.value >= 4]] = 1
    inverse = np.linalg.inv(likes.T @ likes + 7 * np.eye(train.m))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    assert model.scores(np.arange(train.n)) == pytest.approx(likes @ weights, abs=1e-4)


def test_ease_refuses_what_does_not_fit(train: Ratings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ease, "free_memory", lambda: 1_000)
    with pytest.raises(InputError, match="more than is free"):
        fitted("ease", train)
    monkeypatch.setattr(ease, "MOST", 10)
    with pytest.raises(InputError, match="at most 10 items"):
        fitted("ease", train)


def test_content_finds_what_is_described_alike(train: Ratings) -> None:
    model = Content().fit(train, positive=4, items=TABLE, columns=["title:words"])
    likes = Likes.of(train, 4)
    words = [set(text.lower().split()) for text in TABLE["title"]]
    terms = sorted(set.union(*words))
    matrix = np.array([[entry in own for entry in terms] for own in words], dtype=float)
    matrix *= np.log(train.m / matrix.sum(axis=0))
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1), 1e-9)[:, None]
    profile = matrix[likes.liked[likes.by_user[4] : likes.by_user[5]]].sum(axis=0)
    expected = matrix @ (profile / np.linalg.norm(profile))
    assert model.scores(np.array([4]))[0] == pytest.approx(expected)


def test_content_takes_no_count_of_what_users_did_unless_told(train: Ratings) -> None:
    counted = {**TABLE, "language": ["en", "it"] * 15, "ratings_count": ["7", "8", "9"] * 10}
    users = np.arange(train.n)
    usual = Content().fit(train, positive=4, items=counted).scores(users)
    labels = ["title", "authors", "language"]
    expected = Content().fit(train, positive=4, items=counted, columns=labels).scores(users)
    assert np.array_equal(usual, expected)
    text = Content().fit(train, positive=4, items=counted, columns=[*labels, "ratings_count"])
    assert not np.array_equal(usual, text.scores(users))


def test_a_table_of_items_may_be_rows(train: Ratings) -> None:
    rows = [
        {"item": item, "title": title}
        for item, title in zip(TABLE["item"], TABLE["title"], strict=True)
    ]
    values = (rows, {"item": TABLE["item"], "title": TABLE["title"]})
    scores = [
        Content().fit(train, positive=4, items=entry).scores(np.arange(train.n))
        for entry in values
    ]
    assert np.array_equal(scores[0], scores[1])


def test_a_value_that_is_missing_describes_an_item(train: Ratings) -> None:
    text = {**TABLE, "language": ["", "en", "it"] * 10}
    labels = {**TABLE, "language": ["none", "en", "it"] * 10}
    scores = [
        Content()
        .fit(train, positive=4, items=entry, columns=["language"])
        .scores(np.arange(train.n))
        for entry in (text, labels)
    ]
    assert np.array_equal(scores[0], scores[1])


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        (None, None),
        ({"item": ["1"], "ratings_count": ["9"]}, None),
        ({"title": ["a"]}, None),
        ({"item": ["1"], "title": ["a", "b"]}, None),
        ({"item": ["1"]}, None),
        (TABLE, ["nothing"]),
        (TABLE, ["title:odd"]),
    ],
)
def test_tables_that_describe_nothing_are_refused(
    train: Ratings, table: dict[str, list[str]] | None, columns: list[str] | None
) -> None:
    with pytest.raises(InputError):
        Content().fit(train, items=table, columns=columns)
