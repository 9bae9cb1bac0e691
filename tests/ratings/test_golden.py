"""Recommenders and evaluation against values of an independent program on real ratings."""

import pytest
from tests.ratings.golden import ITEMS, golden, needs_golden, parts

from veil import ratings
from veil.ratings.evaluate import Scores

pytestmark = needs_golden
POSITIVE = {"goodbooks": 4, "jester": 5, "restaurants": 2}
KNN = {
    "cosine": "centre='none'",
    "cosine_mean": "centre='mean'",
    "cosine_mean_s20": "shrinkage=20",
    "pearson_mean_s20": "similarity='pearson', shrinkage=20",
}


def measured(name: str, spec: str, *measures: str, **given: object) -> Scores:
    train, test = parts(name)
    selection = ratings.recommender(spec)
    model = selection.fit(train, positive=POSITIVE[name], **given)  # type: ignore[arg-type]
    return ratings.evaluate(model, test, measures=measures or None)


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("spec", ["mean", "bias"])
def test_mean_and_bias(name: str, spec: str) -> None:
    actual = measured(name, spec, "rmse", "mae")
    expected = golden("sets", f"{name}/salt=0", spec)
    assert [float(actual[entry]) for entry in ("rmse", "mae")] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", ["userknn", "itemknn"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [*(("restaurants", entry) for entry in KNN), ("goodbooks", "cosine"),
     ("goodbooks", "pearson_mean_s20")],
)  # fmt: skip
def test_neighbourhoods(name: str, kind: str, variant: str) -> None:
    actual = measured(name, f"{kind}(k=40, {KNN[variant]})", "rmse", "mae")
    expected = golden("sets", f"{name}/salt=0", f"{kind}_{variant}")
    assert [float(actual[entry]) for entry in ("rmse", "mae")] == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("name", ["restaurants", "goodbooks"])
@pytest.mark.parametrize(("spec", "within"), [("popularity", 1e-6), ("itemknn(k=20)", 1e-3)])
def test_lists(name: str, spec: str, within: float) -> None:
    expected = golden("sets", f"{name}/salt=0", "ranking", spec)
    actual = measured(name, spec, *(entry for entry in expected if entry != "users"))
    assert len(actual.users) == expected.pop("users")
    assert {entry: float(actual[entry]) for entry in expected} == pytest.approx(
        expected, abs=within
    )


def test_content() -> None:
    expected = golden("sets", "goodbooks/salt=0", "ranking", "content")
    names = [entry for entry in expected if entry != "users"]
    columns = ["authors", "title", "language"]
    actual = measured("goodbooks", "content", *names, items=ITEMS, columns=columns)
    assert len(names) == 10
    assert {entry: float(actual[entry]) for entry in names} == pytest.approx(
        {entry: expected[entry] for entry in names}, abs=1e-3
    )


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("goodbooks", "sgd(factors=50, rate=0.01, reg=0.1, epochs=20)"),
        ("goodbooks", "als(factors=32, reg=0.15, iterations=10)"),
        ("jester", "als(factors=8, reg=0.08, iterations=10)"),
    ],
)
def test_factors_of_ratings(name: str, spec: str) -> None:
    expected = golden("sets", f"{name}/salt=0", spec)
    assert measured(name, spec, "rmse", rng=1)["rmse"] <= max(expected) + 0.003


def test_factors_of_likes() -> None:
    spec = "ials(factors=64, reg=0.01, alpha=1, iterations=15)"
    expected = golden("sets", "goodbooks/salt=0", "ranking", f"{spec} ndcg")
    assert measured("goodbooks", spec, "ndcg", rng=1)["ndcg"] >= min(expected) - 0.006


def test_the_printed_formula_leaves_the_scale() -> None:
    train, test = parts("goodbooks")
    spec = "userknn(k=0, similarity='pearson', centre='none', signed=True)"
    model = ratings.recommender(spec).fit(train)
    actual = model.ratings(test.user.astype("int64"), test.item.astype("int64"))
    outside = ((actual < 1) | (actual > 5)).mean()
    assert 0.1 < outside < 0.3
    assert abs(actual).max() > 1_000
