"""Every recommender: laws, both engines, bad input."""

import numpy as np
import pytest
from tests.ratings.golden import made
from tests.ratings.recommenders.fitting import fitted

from veil import ratings
from veil.core import parallel
from veil.core.errors import InputError, ParameterError
from veil.core.types import Floats, Ids
from veil.ratings.ratings import Likes, Ratings, of_arrays
from veil.ratings.recommender import Model
from veil.ratings.recommenders import als, ials, kernels, neighbours, sgd
from veil.ratings.recommenders.sgd import waves

SPECS = ["popularity", "mean", "bias", "userknn(k=5)", "itemknn(k=5)", "als(factors=4)",
         "sgd(factors=4, epochs=5)", "ials(factors=4)", "ease(reg=10)", "content"]  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Ratings:
    return ratings.split(made(), fraction=0.2)[0]


def everything(model: Model) -> tuple[Ids, Ids]:
    n, m = model.train.n, model.train.m
    return np.repeat(np.arange(n), m), np.tile(np.arange(m), n)


@pytest.fixture
def numpy_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (als, ials, neighbours, sgd):
        monkeypatch.setattr(module, "compiled_at_hand", lambda: False)
    monkeypatch.setattr("veil.ratings.recommenders.neighbours.compiled_at_hand", lambda: False)


@pytest.fixture(params=["numba", "numpy"])
def either(request: pytest.FixtureRequest) -> None:
    """Use compiled kernels, where there are any, and do without."""
    if request.param == "numpy":
        request.getfixturevalue("numpy_alone")


@pytest.mark.parametrize("spec", SPECS)
def test_lists_hold_no_item_of_the_user_and_fall(spec: str, train: Ratings) -> None:
    model = fitted(spec, train)
    actual = model.recommend(train.users, 10)
    assert actual.index.shape == (train.n, 10)
    for user in range(train.n):
        assert not set(actual.index[user]) & set(train.item[train.rows(user)].tolist())
    assert (np.diff(actual.scores, axis=1) <= 0).all()
    assert model.guarantee.kind == "none"


@pytest.mark.parametrize("spec", SPECS)
def test_predictions_are_within_the_scale_and_known_for_everybody(
    spec: str, train: Ratings
) -> None:
    model = fitted(spec, train)
    actual = model.predict(["1", "nobody", "1", "nobody"], ["1", "1", "nothing", "nothing"])
    assert ((actual >= 1) & (actual <= 5)).all()
    own = train.value[train.rows(0)].mean()
    of_item = train.value[train.item == 0].mean()
    if spec != "mean":
        assert actual[1:] == pytest.approx([of_item, own, train.value.mean()])
    with pytest.raises(InputError, match="1 of the users") as refused:
        model.recommend(["1", "nobody"])
    assert "nobody" not in str(refused.value)
    with pytest.raises(InputError, match="a list of ids"):
        model.recommend("13")  # two users, letter by letter
    with pytest.raises(InputError, match="Pass as many users as items"):
        model.predict("13", ["1", "1"])


@pytest.mark.parametrize("spec", ["als(factors=4)", "ials(factors=4)", "sgd(factors=4)"])
def test_a_seed_repeats_and_says_so(spec: str, train: Ratings) -> None:
    first, second, fresh = fitted(spec, train), fitted(spec, train), fitted(spec, train, rng=None)
    users = np.arange(train.n)
    assert (first.scores(users) == second.scores(users)).all()
    assert (first.scores(users) != fresh.scores(users)).any()
    assert first.seeded
    assert not fresh.seeded


def by_hand(train: Ratings, u: int, i: int, k: int, shrinkage: float, least: int) -> float:
    """Predict one rating as the formula of userknn says, with Pearson and centred."""
    full = np.full((train.n, train.m), np.nan)
    full[train.user, train.item] = train.value
    means = np.nanmean(full, axis=1)
    near = []
    for v in range(train.n):
        total = ~np.isnan(full[u]) & ~np.isnan(full[v])
        x, y = full[u, total] - means[u], full[v, total] - means[v]
        c, lengths = total.sum(), (x**2).sum() * (y**2).sum()
        if v != u and not np.isnan(full[v, i]) and c >= least and lengths > 0:
            near.append(((x * y).sum() / np.sqrt(lengths) * c / (c + shrinkage), v))
    best = sorted((-sim, v) for sim, v in near if sim > 0)[:k]
    if not best:
        return float(means[u])
    below = sum(-sim for sim, _ in best)
    return float(means[u] + sum(-sim * (full[v, i] - means[v]) for sim, v in best) / below)


@pytest.mark.usefixtures("either")
def test_userknn_is_its_formula(train: Ratings) -> None:
    model = fitted("userknn(k=3, similarity='pearson', shrinkage=5, min_common=4)", train)
    users, items = everything(model)
    actual = model.ratings(users, items).reshape(train.n, train.m)
    queries = [(u, i) for u in range(train.n) for i in range(u % 4, train.m, 4)]
    hand = [by_hand(train, u, i, 3, 5, 4) for u, i in queries]
    assert [actual[u, i] for u, i in queries] == pytest.approx(hand)


def test_itemknn_predicts_as_userknn_of_the_transposed(train: Ratings) -> None:
    turned = of_arrays(
        train.items, train.users, train.item, train.user, train.value, scale=train.scale
    )
    users, items = everything(fitted("mean", train))
    first = fitted("itemknn(k=4)", train).ratings(users, items)
    second = fitted("userknn(k=4)", turned).ratings(items, users)
    assert first == pytest.approx(second)


def test_the_signed_formula_takes_all_raters(train: Ratings) -> None:
    with pytest.raises(ParameterError, match="signed"):
        fitted("userknn(signed=True)", train)
    spec = "userknn(k=0, similarity='pearson', centre='none', signed=True)"
    users, items = everything(fitted("mean", train))
    actual = fitted(spec, train).ratings(users, items)
    assert (actual > 5).any()
    assert (actual < 1).any()


@pytest.mark.parametrize(
    "spec", ["userknn(k=3)", "userknn(k=0)", "itemknn(k=4)", "als(factors=4)", "ials(factors=4)"]
)
def test_both_engines_agree(spec: str, train: Ratings, request: pytest.FixtureRequest) -> None:
    def told() -> tuple[Floats, Floats]:
        model = fitted(spec, train)
        return model.scores(np.arange(train.n)), model.ratings(*everything(model))

    fast = told()
    request.getfixturevalue("numpy_alone")
    for first, second in zip(fast, told(), strict=True):
        assert first == pytest.approx(second, abs=1e-3 if "als" in spec else 1e-9)


def test_sgd_without_numba_learns_as_much(train: Ratings, request: pytest.FixtureRequest) -> None:
    spec = "sgd(factors=4, epochs=30, rate=0.03)"
    test = ratings.split(made(), fraction=0.2)[1]
    fast = ratings.evaluate(fitted(spec, train), test, measures=["rmse"])["rmse"]
    request.getfixturevalue("numpy_alone")
    slow = ratings.evaluate(fitted(spec, train), test, measures=["rmse"])["rmse"]
    unprotected = ratings.evaluate(fitted("mean", train), test, measures=["rmse"])["rmse"]
    assert abs(fast - slow) < 0.05
    assert max(fast, slow) < unprotected - 0.05


def test_waves_share_no_user_and_no_item() -> None:
    rng = np.random.default_rng(1)
    user, item = np.unique(rng.integers(0, 12, (60, 2)), axis=0).T.astype(np.int32)
    actual = waves(user, item, 5)
    assert sorted(np.concatenate(actual)) == list(range(5, 5 + len(user)))
    for rows in actual:
        assert len(set(user[rows - 5])) == len(rows) == len(set(item[rows - 5]))


@pytest.mark.parametrize("spec", ["sgd(factors=4, epochs=3)", "userknn(k=5)", "itemknn(k=5)",
                                  "als(factors=4)", "ials(factors=4)"])  # fmt: skip
def test_any_number_of_threads_gives_the_same(
    spec: str, train: Ratings, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = fitted(spec, train)
    monkeypatch.setattr(kernels, "cores", lambda: 3)
    monkeypatch.setattr(parallel, "cores", lambda: 3)
    monkeypatch.setattr(kernels, "LITTLE", 0)
    monkeypatch.setattr(sgd, "LITTLE", 0)
    shared = fitted(spec, train)
    users = np.arange(train.n)
    assert (single.scores(users) == shared.scores(users)).all()
    assert (single.ratings(*everything(single)) == shared.ratings(*everything(shared))).all()


@pytest.mark.usefixtures("either")
def test_als_solves_the_ridge(train: Ratings) -> None:
    fixed = np.random.default_rng(1).normal(size=(train.m, 3))
    residual = train.value.astype(np.float64) - 3
    actual = als.solve(train.starts, train.item, residual, fixed, 0.5)
    for u in (0, 7):
        rows = train.rows(u)
        q = fixed[train.item[rows]]
        expected = np.linalg.solve(q.T @ q + 0.5 * len(q) * np.eye(3), q.T @ residual[rows])
        assert actual[u] == pytest.approx(expected)


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("width", [3, 21])  # kernels take rows by four and eight, and a rest
def test_ials_steps_reach_the_exact_solution(width: int, train: Ratings) -> None:
    likes = Likes.of(train, 2)
    fixed = np.random.default_rng(1).normal(size=(train.m, width)).astype(np.float32)
    x = np.zeros((train.n, width), dtype=np.float32)
    for _ in range(80):
        ials.step(likes.by_user, likes.liked, fixed, 0.1, 2.0, x)
    user = int(likes.per_user.argmax())
    q = fixed[likes.liked[likes.by_user[user] : likes.by_user[user + 1]]].astype(np.float64)
    gram = fixed.T.astype(np.float64) @ fixed + 0.1 * np.eye(width) + 2.0 * q.T @ q
    assert len(q) > 8
    assert x[user] == pytest.approx(np.linalg.solve(gram, 3.0 * q.sum(axis=0)), abs=1e-4)


@pytest.mark.parametrize("spec", [entry for entry in SPECS if entry != "content"])
def test_one_user_and_one_item_are_enough(spec: str) -> None:
    entry = of_arrays(
        ["u"], ["i"], np.zeros(1, int), np.zeros(1, int), np.array([5.0]), scale=(1, 5)
    )
    model = fitted(spec, entry)
    assert 1 <= float(model.predict(["u"], ["i"])[0]) <= 5
    assert model.recommend(["u"], 1).list(0) == ()
    with pytest.raises(ParameterError, match="from 1 to the 1 items"):
        model.recommend(["u"], 2)


@pytest.mark.parametrize(
    "spec", ["als(factors=0)", "sgd(rate=0)", "ials(reg=0)", "itemknn(k=0)", "userknn(k=-1)",
             "ease(reg=0)", "userknn(similarity='odd')", "bias(reg_user=-1)"]
)  # fmt: skip
def test_parameters_out_of_range_are_refused(spec: str) -> None:
    with pytest.raises(ParameterError, match="parameter"):
        ratings.recommender(spec)


def test_a_like_outside_the_scale_is_refused(train: Ratings) -> None:
    with pytest.raises(ParameterError, match="positive"):
        ratings.recommender("popularity").fit(train, positive=6)
