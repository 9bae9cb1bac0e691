"""Masking methods: what each does exactly, what is proved, and what is refused."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tables.golden import ADULT, SDC, golden, needs_golden

from veil import tables
from veil.core.errors import InputError, ParameterError, VeilError
from veil.core.rng import generator
from veil.core.types import Floats
from veil.tables.mechanisms.microaggregation import groups, standardise
from veil.tables.mechanisms.swap import partners
from veil.tables.table import Table

pytestmark = pytest.mark.filterwarnings("ignore:Nearly all values")
LEVELS = [["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]]


def people(n: int = 60, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    return tables.load(
        {
            "id": [f"p{i}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "pay": rng.normal(3000, 800, n),
            "town": rng.choice(["a", "b", "c"], n),
            "ill": rng.choice(["flu", "gout"], n),
        },
        identifiers=["id"],
        qi=["age", "pay", "town"],
        confidential=["ill"],
        hierarchies={"town": LEVELS},
    )


def matrix(t: Table, names: list[str]) -> Floats:
    return np.stack([t[name] for name in names], axis=1)


def correlation(x: Floats) -> float:
    return float(np.asarray(np.corrcoef(x.T))[0, 1])


def sse(x: Floats, y: Floats) -> float:
    whole = (((x - y) / x.std(axis=0, ddof=1)) ** 2).sum()
    return float(100 * whole / ((len(x) - 1) * x.shape[1]))


@needs_golden
@pytest.mark.parametrize("name", ["Tarragona", "CASCrefmicrodata", "EIA"])
@pytest.mark.parametrize("k", [3, 10])
def test_mdav_is_the_published_one(name: str, k: int) -> None:
    t = tables.load(SDC / f"{name}.csv")
    columns = [*t.columns[5:15]] if name == "EIA" else [*t.columns]
    r = tables.protect(t, f"mdav(k={k})", columns=columns)
    expected = golden("mdav")[name][str(k)]
    assert r.groups is not None
    sizes = np.bincount(r.groups)
    assert (len(sizes), sizes.min(), sizes.max()) == (
        expected["groups"],
        expected["smallest"],
        expected["largest"],
    )
    error = sse(matrix(t, columns), matrix(r.table, columns))
    assert error == pytest.approx(expected["sse_percent"], rel=1e-6)


@needs_golden
def test_univariate_and_suppression_are_the_golden_ones() -> None:
    expected = golden("univariate")
    t = tables.load(SDC / "Tarragona.csv")
    r = tables.protect(t, "univariate(k=5)", columns=expected["columns"])
    error = sse(matrix(t, expected["columns"]), matrix(r.table, expected["columns"]))
    assert error == pytest.approx(expected["sse_percent"], rel=1e-9)
    qi = golden("weighted_risk")["cases"][0]["qi"]
    test = tables.load(SDC / "testdata.csv", qi=qi)
    for k, blanked in ((2, 120), (3, 212), (5, 345)):
        assert tables.protect(test, f"suppress(k={k})").kept["blanked"] == blanked


@settings(max_examples=30)
@given(st.integers(4, 40), st.integers(2, 5), st.integers(0, 10**6))
def test_mdav_groups_are_those_of_the_definition(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = standardise(rng.integers(0, 4, (n, 2)).astype(float))  # many ties
    assert groups(points, k).tolist() == _slow_groups(points.T, k)


def _slow_groups(points: Floats, k: int) -> list[int]:
    """Follow the definition word by word."""

    def distance(a: Floats, b: Floats) -> float:
        return float(sum((x - y) * (x - y) for x, y in zip(a, b, strict=True)))

    def nearest(i: int, left: list[int]) -> list[int]:
        return sorted(left, key=lambda j: (distance(points[j], points[i]), j))[:k]

    def farthest(c: Floats, left: list[int]) -> int:
        return max(left, key=lambda j: (distance(points[j], c), -j))

    def middle(left: list[int]) -> Floats:  # added up in the same order: ties are of sums, too
        centre: Floats = np.ascontiguousarray(points[left].T).mean(axis=1)
        return centre

    label, left, count = [0] * len(points), list(range(len(points))), 0
    while len(left) >= 3 * k:
        r = farthest(middle(left), left)
        s = farthest(points[r], left)
        for centre in (r, s):
            point = centre if centre in left else farthest(points[r], left)
            for j in nearest(point, left):
                label[j] = count
                left.remove(j)
            count += 1
    if len(left) >= 2 * k:
        r = farthest(middle(left), left)
        for j in nearest(r, left):
            label[j] = count
            left.remove(j)
        count += 1
    for j in left:
        label[j] = count
    return label


def test_mdav_releases_no_value_of_a_row_with_a_gap() -> None:
    rng = np.random.default_rng(4)
    whole = {name: rng.normal(10, 3, 40) for name in "abc"}
    gaps = {name: np.append(values, 20.0) for name, values in whole.items()}
    gaps["b"][-1] = np.nan
    t = tables.load(gaps, qi=[*gaps])
    r = tables.protect(t, "mdav(k=4)")
    release = tables.protect(tables.load(whole, qi=[*whole]), "mdav(k=4)")
    masked = matrix(r.table, [*gaps])
    assert np.array_equal(masked[:-1], matrix(release.table, [*gaps]))  # it takes no part
    assert np.isnan(masked[-1, 1])
    means = np.unique(masked[:-1], axis=0)
    scale = matrix(t, [*gaps])[:-1].std(axis=0)
    near = (np.square((means - 20.0) / scale)[:, [0, 2]]).sum(axis=1).argmin()
    assert masked[-1, [0, 2]].tolist() == means[near, [0, 2]].tolist()
    assert r.guarantee.kind == "none"


def test_mdav_promises_k_only_where_all_that_is_known_is_grouped() -> None:
    t = people()
    numeric = tables.load({"a": [1.0, 2, 3, 4], "b": [1.0, 1, 2, 2]}, qi=["a", "b"])
    r = tables.protect(numeric, "mdav(k=2)")
    assert (r.guarantee.kind, r.guarantee.k) == ("k-anonymity", 2)
    assert np.bincount(r.table.classes).min() >= 2
    assert tables.protect(t, "mdav(k=3)").guarantee.kind == "none"  # the town is known, too
    gap = tables.load({"a": [1.0, 2, 3, 4, None]}, qi=["a"])
    assert tables.protect(gap, "mdav(k=2)").guarantee.kind == "none"
    assert tables.protect(numeric, "univariate(k=2)").guarantee.kind == "none"
    single = tables.load({"a": [1.0, 2, 3, 4]}, qi=["a"])
    assert tables.protect(single, "univariate(k=2)").guarantee.kind == "k-anonymity"


def test_no_release_has_an_identifier_or_tells_rows_in_its_table() -> None:
    for spec in ("mdav(k=3)", "noise()", "swap(rate=0.5)", "sample(rate=0.5)"):
        r = tables.protect(people(), spec, rng=1)
        assert "id" not in r.table
        assert r.rows is not None


def test_recoding_is_closed_for_whole_numbers_and_half_open_for_reals() -> None:
    t = tables.load({"n": [0, 9, 10, -1], "x": [0.5, 9.99, 10.0, -0.1]}, qi=["n", "x"])
    r = tables.protect(t, "recode(width=10)")
    assert r.table["n"].tolist() == ["[0-9]", "[0-9]", "[10-19]", "[-10--1]"]
    assert r.table["x"].tolist() == ["[0-10]", "[0-10]", "[10-20]", "[-10-0]"]


def test_top_and_bottom_coding() -> None:
    t = tables.load({"n": [1, 2, 3, 100]}, qi=["n"])
    assert tables.protect(t, "top(value=3)").table["n"].tolist() == ["1", "2", "3", ">3"]
    mean = tables.protect(t, "top(value=2, replace=mean)").table["n"].tolist()
    assert mean == [1.0, 2.0, 51.5, 51.5]
    assert tables.protect(t, "bottom(value=2)").table["n"].tolist() == ["<2", "2", "3", "100"]
    share = tables.protect(t, "top(share=0.25)").table["n"].tolist()
    assert share == ["1", "2", "3", ">27.25"]
    with pytest.raises(ParameterError, match="either a value or a share"):
        tables.protect(t, "top(value=1, share=0.1)")


def test_generalising_looks_levels_up() -> None:
    t = people()
    r = tables.protect(t, "generalise(level=1)", columns=["town"])
    assert set(r.table["town"]) == {"A", "C"}
    assert dict(r.levels) == {"town": 1}
    assert set(tables.protect(t, "generalise(levels='town=2')").table["town"]) == {"*"}
    with pytest.raises(InputError, match="levels 0 to 2"):
        tables.protect(t, "generalise(level=3)", columns=["town"])
    with pytest.raises(InputError, match="no hierarchy"):
        tables.protect(t, "generalise(level=1)", columns=["age"])


def test_rounding_to_even_multiples_or_without_bias() -> None:
    t = tables.load({"n": [2.5, 7.5, 4.9, None]}, qi=["n"])
    assert tables.protect(t, "rounding(base=5)").table["n"].tolist()[:3] == [0.0, 10.0, 5.0]
    many = tables.load({"n": np.full(20_000, 1.5)}, qi=["n"])
    sample = tables.protect(many, "rounding(base=5, how=random)", rng=2).table["n"]
    assert set(sample.tolist()) == {0.0, 5.0}
    assert abs(sample.mean() - 1.5) < 0.1


def test_resampling_keeps_ranks() -> None:
    t = people(200)
    r = tables.protect(t, "resample()", columns=["pay"], rng=3)
    order = np.argsort(t["pay"])
    assert (np.diff(r.table["pay"][order]) >= 0).all()
    assert abs(r.table["pay"].mean() / t["pay"].mean() - 1) < 0.05


def test_lossy_compression_keeps_all_when_it_keeps_all() -> None:
    t = people(100)
    same = tables.protect(t, "lossy(keep=1)", columns=["age", "pay"]).table["pay"]
    np.testing.assert_allclose(same, t["pay"], rtol=1e-9)
    less = tables.protect(t, "lossy(keep=0.2)", columns=["age", "pay"]).table["pay"]
    assert np.abs(less - t["pay"]).mean() > 10


def test_noise_has_the_size_it_says() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20_000, 2)) @ np.array([[2.0, 1.0], [0.0, 1.0]])
    t = tables.load({"a": x[:, 0], "b": x[:, 1]}, qi=["a", "b"])
    for spec, ratio in (("noise(scale=0.5)", 1.25), ("noise(scale=0.5, restore=true)", 1.0)):
        y = matrix(tables.protect(t, spec, rng=5).table, ["a", "b"])
        np.testing.assert_allclose(y.var(axis=0) / x.var(axis=0), ratio, rtol=0.04)
    y = matrix(tables.protect(t, "noise(scale=0.5, correlated=true)", rng=6).table, ["a", "b"])
    assert correlation(y) == pytest.approx(correlation(x), abs=0.01)
    baseline = matrix(tables.protect(t, "noise(scale=0.5)", rng=6).table, ["a", "b"])
    assert correlation(baseline) < correlation(x) - 0.05


def test_cholesky_is_nobody_and_keeps_covariances() -> None:
    t = people(3_000)
    r = tables.protect(t, "cholesky()", rng=7)
    assert r.rows is None
    assert r.table.columns == ("age", "pay")
    np.testing.assert_allclose(np.cov(r.table["age"], r.table["pay"]),
                               np.cov(t["age"], t["pay"]), rtol=0.1, atol=900)  # fmt: skip


def test_swapping_exchanges_confidential_values_within_strata() -> None:
    t = people(400)
    r = tables.protect(t, "swap(rate=0.5, within='town')", rng=8)
    assert (r.table["town"] == t["town"]).all()
    for town in "abc":
        mine = t["town"] == town
        assert sorted(r.table["ill"][mine]) == sorted(t["ill"][mine])
    assert 0 < (r.table["ill"] != t["ill"]).sum() < 200


@settings(max_examples=40)
@given(st.integers(1, 60), st.integers(0, 10), st.integers(0, 10**6))
def test_rank_swapping_exchanges_near_ranks(n: int, reach: int, seed: int) -> None:
    swaps = partners(n, reach, generator(seed))
    assert (swaps[swaps] == np.arange(n)).all()  # pairs
    assert (np.abs(swaps - np.arange(n)) <= reach).all()
    single = np.flatnonzero(swaps == np.arange(n))
    assert reach == 0 or (np.diff(single) > reach).all()  # nobody stays who had a partner


def test_pram_changes_as_often_as_it_says_and_can_be_inverted() -> None:
    shares = {"a": 0.6, "b": 0.3, "c": 0.1}
    rng = np.random.default_rng(9)
    t = tables.load({"town": rng.choice([*"abc"], 30_000, p=[*shares.values()])}, qi=["town"],
                    hierarchies={"town": LEVELS})  # fmt: skip
    r = tables.protect(t, "pram(p=0.7)", rng=10)
    assert (r.table["town"] == t["town"]).mean() == pytest.approx(0.7, abs=0.01)
    back = tables.invert(r, "town")
    for label, share in shares.items():
        assert back[label] == pytest.approx(share, abs=0.02)
    assert r.guarantee.kind == "local-dp"
    assert r.guarantee.epsilon == pytest.approx(math.log(0.7 * 2 / 0.3))
    release = tables.protect(t, "pram(p=0.7, invariant=true)", rng=11)
    assert release.guarantee.kind == "none"
    for label, share in shares.items():
        assert (release.table["town"] == label).mean() == pytest.approx(share, abs=0.015)


def test_local_dp_is_promised_for_declared_categories_alone() -> None:
    columns = {"town": ["a", "b", "a"]}
    for spec in ("pram(p=0.8)", "random_response(epsilon=1)"):
        assert tables.protect(tables.load(columns, qi=["town"]), spec).guarantee.kind == "none"
    parameters = tables.load(columns, qi=["town"])
    r = tables.protect(parameters, "random_response(epsilon=1, domain='town=a|b|c')")
    assert (r.guarantee.kind, r.guarantee.epsilon) == ("local-dp", 1.0)
    with pytest.raises(InputError, match="lack 1 of its values"):
        tables.protect(parameters, "pram(domain='town=a|c')")
    gap = tables.load({"town": ["a", None]}, qi=["town"])
    release = tables.protect(gap, "pram(domain='town=a|b')")
    assert release.guarantee.kind == "none"
    assert release.table["town"][1] is None


def test_random_response_has_its_law() -> None:
    t = tables.load({"town": ["a"] * 30_000}, qi=["town"], hierarchies={"town": LEVELS})
    sample = tables.protect(t, "random_response(epsilon=1)", rng=12).table["town"]
    truth = math.e / (math.e + 2)
    assert (sample == "a").mean() == pytest.approx(truth, abs=0.01)
    assert (sample == "b").mean() == pytest.approx((1 - truth) / 2, abs=0.01)


def test_blanks_are_filled_from_the_other_columns() -> None:
    rng = np.random.default_rng(13)
    a = rng.normal(size=500)
    t = tables.load({"a": a, "b": 3 * a + 1, "c": np.where(a > 0, "x", "y")}, qi=["a", "b", "c"])
    r = tables.protect(t, "blank_impute(share=0.4)", columns=["b"], rng=14)
    np.testing.assert_allclose(r.table["b"], t["b"], atol=1e-6)
    changed = tables.protect(t, "blank_impute(share=0.4)", columns=["c"], rng=15)
    assert set(changed.table["c"]) == {"x", "y"}


def test_sampling_keeps_order_and_counts() -> None:
    r = tables.protect(people(100), "sample(rate=0.25)", rng=16)
    assert r.rows is not None
    assert len(r) == 25
    assert (np.diff(r.rows) > 0).all()


def test_methods_in_order_follow_the_rows() -> None:
    t = people(100)
    r = tables.protect(t, ["sample(rate=0.5)", "rounding(base=10)", "generalise(levels='town=1')"],
                       columns=None, rng=17)  # fmt: skip
    assert r.rows is not None
    np.testing.assert_allclose(r.table["pay"], np.rint(t["pay"][r.rows] / 10) * 10)
    assert r.seeded
    assert "|" in r.method
    after = tables.protect(
        tables.load({"a": [1.0, 2, 3, 4]}, qi=["a"]), ["mdav(k=2)", "noise()"], rng=1
    )
    assert after.guarantee.kind == "none"


def test_what_draws_nothing_is_not_seeded() -> None:
    assert not tables.protect(people(), "mdav(k=3)", rng=1).seeded
    assert tables.protect(people(), "noise()", rng=1).seeded
    assert not tables.protect(people(), "noise()").seeded


@needs_golden
def test_the_tree_is_nearly_the_table_at_a_large_epsilon() -> None:
    names = ["sex", "age", "race", "marital-status", "salary-class"]
    levels = {name: ADULT / f"adult_hierarchy_{name}.csv" for name in names}
    t = tables.load(ADULT / "adult.csv", qi=names, hierarchies=levels)
    r = tables.protect(t, "tree(epsilon=100)", columns=names, rng=18)
    boot = t.take(np.random.default_rng(1).integers(0, len(t), len(t)))
    pairs: Any = r.kept["edges"]
    ours = np.mean([_distance(t, r.table, a, b) for a, b in pairs])
    assert ours < 1.5 * np.mean([_distance(t, boot, a, b) for a, b in pairs])
    assert (r.guarantee.kind, r.guarantee.delta, r.rows) == ("dp", 1e-9, None)


def _distance(one: Table, other: Table, a: str, b: str) -> float:
    counts = []
    for t in (one, other):
        pairs = zip(t[a].tolist(), t[b].tolist(), strict=True)
        result: dict[Any, float] = {}
        for pair in pairs:
            result[pair] = result.get(pair, 0) + 1 / len(t)
        counts.append(result)
    keys = {*counts[0], *counts[1]}
    return sum(abs(counts[0].get(key, 0) - counts[1].get(key, 0)) for key in keys) / 2


def test_a_tree_of_what_was_read_off_the_data_promises_nothing() -> None:
    t = people(300)
    r = tables.protect(t, "tree(epsilon=1)", columns=["town", "ill"], rng=19)
    assert r.guarantee.kind == "none"
    parameters = tables.protect(
        t,
        "tree(epsilon=1, bins='age=0|40|80', domain='ill=flu|gout')",
        columns=["town", "ill", "age"],
    )
    assert parameters.guarantee.kind == "dp"
    assert parameters.table["age"].max() < 80
    gap = tables.load({"a": ["x", "y", None], "b": ["x", "y", "x"]}, qi=["a", "b"])
    with pytest.raises(InputError, match="missing=true"):
        tables.protect(gap, "tree(epsilon=1)", columns=["a", "b"])
    assert len(tables.protect(gap, "tree(epsilon=50, missing=true)", columns=["a", "b"])) >= 1


@pytest.mark.parametrize(
    ("spec", "columns"),
    [
        ("mdav(k=1)", None),
        ("mdav(k=61)", None),
        ("mdav(k=3)", ["town"]),
        ("mdav(k=3)", ["nowhere"]),
        ("mdav(k=3)", []),
        ("mdav(k=3)", ["age", "age"]),
        ("noise(scale=0)", None),
        ("sample(rate=1)", None),
        ("sample(rate=0)", None),
        ("suppress(k=61)", None),
        ("suppress(k=2, importance='x')", None),
        ("pram(p=0)", None),
        ("swap(rate=1)", None),
        ("swap(within='x')", None),
        ("tree(epsilon=0)", None),
        ("tree(epsilon=1)", ["town"]),
        ("tree(epsilon=1, bins='age=3|2')", None),
        ("tree(epsilon=1, bins='town=1|2')", None),
        ("lossy(keep=0)", None),
        ("nothing()", None),
        ([], None),
    ],
)
def test_what_cannot_be_masked_is_refused(spec: Any, columns: Any) -> None:  # noqa: ANN401
    with pytest.raises(VeilError):
        tables.protect(people(), spec, columns=columns)


@pytest.mark.parametrize(
    "spec",
    ["noise()", "noise(correlated=true)", "cholesky()", "recode(width=1)", "rounding(base=2)",
     "rank_swap()", "resample()", "sample(rate=0.5)"],
)  # fmt: skip
def test_a_mask_takes_little_more_than_twice_the_table_besides_it(spec: str) -> None:
    rows = 2_000 if spec == "rank_swap()" else 60_000
    rng = np.random.default_rng(1)
    columns = {f"x{i}": rng.normal(size=rows) for i in range(8)}
    t = tables.load(columns, qi=[*columns], quiet=True)
    tables.protect(t.take(np.arange(9)), spec, rng=1)  # all is loaded
    tracemalloc.start()
    tables.protect(t, spec, rng=1)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= 2.5 * sum(values.nbytes for values in columns.values())


def test_lossy_takes_columns_that_do_not_vary() -> None:
    t = tables.load({"a": [1.0, 1, 1, 1], "b": [1.0, 2, None, 4]}, qi=["a", "b"])
    release = matrix(tables.protect(t, "lossy(keep=1)").table, ["a", "b"])
    assert np.allclose(release, matrix(t, ["a", "b"]), equal_nan=True)


@pytest.mark.parametrize("before", ["recode(width=10)", "mdav(k=3)", "generalise(level=1)"])
@pytest.mark.parametrize("then", ["generalise(level=1)", "ola(k=2)", "mondrian(k=2)"])
def test_values_that_a_method_made_are_in_no_hierarchy(before: str, then: str) -> None:
    ages = np.random.default_rng(2).integers(20, 60, 30).tolist()
    tree = [[str(age), f"{age // 7}!", "*"] for age in range(20, 60)]
    t = tables.load({"age": ages}, qi=["age"], hierarchies={"age": tree})
    if (before, then) == ("mdav(k=3)", "mondrian(k=2)"):
        assert tables.protect(t, [before, then]).guarantee.k == 2  # numbers need no hierarchy
        return
    with pytest.raises(InputError, match=r"lacks \d+ values of its column"):
        tables.protect(t, [before, then])


def test_a_text_is_no_list_of_columns() -> None:
    t = tables.load({"a": [1.0, 2, 3, 4], "b": [1.0, 1, 2, 2]}, qi=["a", "b"])
    with pytest.raises(InputError, match="not a single string"):
        tables.protect(t, "mdav(k=2)", columns="ab")


def test_no_quasi_identifier_of_the_kind_is_said() -> None:
    texts = tables.load({"town": ["a", "b"]}, qi=["town"])
    with pytest.raises(InputError, match="numeric"):
        tables.protect(texts, "mdav(k=2)")
    with pytest.raises(InputError, match="No quasi-identifier is declared"):
        tables.protect(tables.load({"town": ["a", "a"]}), "pram()")
    with pytest.raises(InputError, match="confidential"):
        tables.protect(texts, "swap()")


def test_columns_that_were_not_randomised_cannot_be_inverted() -> None:
    with pytest.raises(InputError, match="not randomised"):
        tables.invert(tables.protect(people(), "noise()"), "age")
    with pytest.raises(InputError, match="invert needs a release"):
        tables.invert(people(), "age")  # type: ignore[arg-type]
