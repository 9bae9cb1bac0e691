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
    chosen = ratings.recommender(spec)
    model = chosen.fit(train, positive=POSITIVE[name], **given)  # type: ignore[arg-type]
    return ratings.evaluate(model, test, measures=measures or None)


@pytest.mark.parametrize("name", POSITIVE)
@pytest.mark.parametrize("spec", ["mean", "bias"])
def test_mean_and_bias(name: str, spec: str) -> None:
    found = measured(name, spec, "rmse", "mae")
    wanted = golden("sets", f"{name}/salt=0", spec)
    assert [float(found[one]) for one in ("rmse", "mae")] == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("kind", ["userknn", "itemknn"])
@pytest.mark.parametrize(
    ("name", "variant"),
    [*(("restaurants", one) for one in KNN), ("goodbooks", "cosine"),
     ("goodbooks", "pearson_mean_s20")],
)  # fmt: skip
def test_neighbourhoods(name: str, kind: str, variant: str) -> None:
    found = measured(name, f"{kind}(k=40, {KNN[variant]})", "rmse", "mae")
    wanted = golden("sets", f"{name}/salt=0", f"{kind}_{variant}")
    assert [float(found[one]) for one in ("rmse", "mae")] == pytest.approx(wanted, abs=2e-4)


@pytest.mark.parametrize("name", ["restaurants", "goodbooks"])
@pytest.mark.parametrize(("spec", "within"), [("popularity", 1e-6), ("itemknn(k=20)", 1e-3)])
def test_lists(name: str, spec: str, within: float) -> None:
    wanted = golden("sets", f"{name}/salt=0", "ranking", spec)
    found = measured(name, spec, *(one for one in wanted if one != "users"))
    assert len(found.users) == wanted.pop("users")
    assert {one: float(found[one]) for one in wanted} == pytest.approx(wanted, abs=within)


def test_content() -> None:
    wanted = golden("sets", "goodbooks/salt=0", "ranking", "content")
    names = [one for one in wanted if one != "users"]
    columns = ["authors", "title", "language"]
    found = measured("goodbooks", "content", *names, items=ITEMS, columns=columns)
    assert len(names) == 10
    assert {one: float(found[one]) for one in names} == pytest.approx(
        {one: wanted[one] for one in names}, abs=1e-3
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
    wanted = golden("sets", f"{name}/salt=0", spec)
    assert measured(name, spec, "rmse", rng=1)["rmse"] <= max(wanted) + 0.003


def test_factors_of_likes() -> None:
    spec = "ials(factors=64, reg=0.01, alpha=1, iterations=15)"
    wanted = golden("sets", "goodbooks/salt=0", "ranking", f"{spec} ndcg")
    assert measured("goodbooks", spec, "ndcg", rng=1)["ndcg"] >= min(wanted) - 0.006


def test_the_printed_formula_leaves_the_scale() -> None:
    train, test = parts("goodbooks")
    spec = "userknn(k=0, similarity='pearson', centre='none', signed=True)"
    model = ratings.recommender(spec).fit(train)
    found = model.ratings(test.user.astype("int64"), test.item.astype("int64"))
    outside = ((found < 1) | (found > 5)).mean()
    assert 0.1 < outside < 0.3
    assert abs(found).max() > 1_000
