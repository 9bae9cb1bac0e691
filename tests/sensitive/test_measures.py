"""Measures: as enumeration has them, in their range, never without the empty list, or refused."""

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sensitive.golden import golden

from veil import sensitive
from veil.core.errors import InputError, ParameterError, UnknownNameError, VeilError
from veil.sensitive.inputs import read_lists
from veil.sensitive.measures import Prices, tern_documents

LABELS = {"a": 0, "b": 1, "c": 0, "d": 1, "e": 0}
QRELS = {"q": {"a": 2, "b": 1, "c": 0, "e": 1}}
MEASURES = ("CS-DCG", "nCS-DCG", "TERN", "SENS")


def value(run: list[str], name: str, **options: Any) -> float:  # noqa: ANN401
    return sensitive.evaluate({"q": run}, QRELS, LABELS, [name], **options)[name]["q"]


def enumerated(
    grades: dict[str, int], labels: dict[str, int], k: int, cost: float, decay: float = 1.0
) -> tuple[float, float]:
    """Return the best and worst CS-DCG by going through every list."""
    values = []
    for size in range(min(k, len(labels)) + 1):
        for shown in permutations(labels, size):
            gain = sum(
                (2 ** grades.get(name, 0) - 1) / math.log2(rank + 2)
                for rank, name in enumerate(shown)
            )
            hot = sum(labels[name] for name in shown)
            values.append(gain - sum(cost * decay**j for j in range(hot)))
    return max(values), min(values)


@pytest.mark.parametrize("case", golden("cases"))
def test_values_are_those_of_enumeration(case: dict[str, Any]) -> None:
    k, labels = case["k"], case["sensitive"]
    names = {f"{name}@{k}": name.replace("-", "_") for name in MEASURES}
    scores = sensitive.evaluate(
        {"q": case["ranking"]}, {"q": case["grades"]}, labels, list(names), case["cost"],
        case["penalty"],
    )  # fmt: skip
    for name, key in names.items():
        assert scores[name]["q"] == pytest.approx(case[key], abs=1e-9)
    total = [
        sensitive.bounds(case["grades"], labels, k, case["cost"], pool=pool)
        for pool in ("collection", "judged")
    ]
    assert total[0] == pytest.approx((case["best"], case["worst"]), abs=1e-9)
    assert total[1] == pytest.approx((case["best_judged"], case["worst_judged"]), abs=1e-9)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), min_size=1, max_size=5),
    st.integers(1, 4),
    st.sampled_from([0.0, 0.5, 3.0, 12.0]),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_bounds_are_those_of_all_lists(
    documents: list[tuple[int, int]], k: int, cost: float, decay: float
) -> None:
    grades = {f"d{i}": grade for i, (grade, _) in enumerate(documents) if grade}
    labels = {f"d{i}": label for i, (_, label) in enumerate(documents)}
    bounds = sensitive.bounds(grades, labels, k, cost, decay=decay)
    assert bounds == pytest.approx(enumerated(grades, labels, k, cost, decay), abs=1e-9)


def test_by_hand() -> None:
    assert sensitive.bounds({"a": 2}, {"a": 0, "b": 1}, 5, 12.0) == (3.0, -12.0)
    names = ["nCS-DCG@5", "TERN@5", "SENS@5"]
    scores = sensitive.evaluate({"q": []}, {"q": {"a": 2}}, {"a": 0, "b": 1}, names)
    assert [scores[name]["q"] for name in names] == pytest.approx([0.8, 0, 0])
    assert value(["a", "b"], "CS-DCG@2") == pytest.approx(3 + 1 / math.log2(3) - 12)
    assert value(["b", "d"], "CS-DCG@2", cost=2.0, decay=0.5) == pytest.approx(1 - 2 - 1)


def test_tern_and_sens() -> None:
    assert value(["a", "d"], "TERN@5", penalty=2.0) == -2
    assert value(["a", "d"], "TERN@1") == 1
    assert value(["c"], "TERN@5") == 0
    assert value(["a", "d"], "SENS@5", penalty=0.5) == -0.5
    assert value(["a", "e"], "SENS@5") == pytest.approx(1)
    assert value(["e", "a"], "SENS@5") < 1
    judged = read_lists({"q": ["a", "d", "c"]}, QRELS, LABELS, 3)
    assert tern_documents(judged, Prices(penalty=2.0)).tolist() == [[1, -2, 0]]


def test_visible_ndcg_is_that_of_ir_measures() -> None:
    import ir_measures

    visible = {"q": {"a": 2, "b": 0, "c": 0, "e": 1}}
    ranked = {"q": {"b": 3.0, "e": 2.0, "a": 1.0}}
    expected = ir_measures.calc_aggregate([ir_measures.nDCG @ 3], visible, ranked)
    assert value(["b", "e", "a"], "nDCG-visible@3") == pytest.approx(
        expected[ir_measures.nDCG @ 3], abs=1e-9
    )


def test_queries_that_cannot_count_are_counted() -> None:
    qrels = QRELS | {"only": {"b": 1}, "none": {}}
    run = {"q": ["a"], "other": ["a"], "none": ["a"]}
    scores = sensitive.evaluate(run, qrels, LABELS, ["nDCG-visible", "nCS-DCG@10"])
    assert scores.counts["without judgements"] == 2
    assert scores.counts["without a visible relevant document"] == 1
    assert set(scores["nCS-DCG@10"]) == {"q", "only"}
    assert math.isnan(scores["nDCG-visible"]["only"])
    assert scores["nCS-DCG@10"]["only"] == scores.empty["nCS-DCG@10"]["only"]


def test_where_nothing_can_be_won_or_lost_the_value_is_0_and_counted() -> None:
    scores = sensitive.evaluate({"q": ["a"]}, {"q": {"a": 0}}, {"a": 0}, ["nCS-DCG@3"])
    assert scores["nCS-DCG@3"]["q"] == 0
    assert scores.counts["with best = worst"] == 1


def test_a_list_of_unjudged_documents_is_clipped_and_counted() -> None:
    labels = {"a": 0, "b": 1, "c": 1}
    scores = sensitive.evaluate(
        {"q": ["b", "c"]}, {"q": {"a": 1, "b": 0}}, labels, ["nCS-DCG@3"], pool="judged"
    )
    assert scores["nCS-DCG@3"]["q"] == 0
    assert scores.counts["clipped to [0, 1]"] == 1


def test_means_are_over_topics_beside_the_empty_list() -> None:
    qrels = {name: {"a": 2, "b": 1} for name in ("x1", "x2", "y")}
    run = {"x1": ["a"], "x2": ["b"], "y": ["a"]}
    scores = sensitive.evaluate(run, qrels, LABELS, ["nCS-DCG@2"])
    topics = {"x1": "x", "x2": "x", "y": "y"}
    summary = scores.summary("nCS-DCG@2", topics)
    actual = scores["nCS-DCG@2"]
    assert summary.value == pytest.approx(((actual["x1"] + actual["x2"]) / 2 + actual["y"]) / 2)
    assert summary.value.n == 2
    empty = float(summary.empty)
    assert empty == pytest.approx(scores.empty["nCS-DCG@2"]["y"])
    assert summary.skill == pytest.approx((summary.value - empty) / (1 - empty))
    assert "cost 12" in scores.says
    assert "collection" in scores.says


def test_showing_only_sensitive_documents_has_a_negative_skill() -> None:
    scores = sensitive.evaluate({"q": ["d"]}, QRELS, LABELS, ["nCS-DCG@2"])
    assert scores.summary("nCS-DCG@2").skill < 0


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"run": {"q": ["a", "a"]}}, InputError, "must not repeat"),
        ({"run": {"q": ["zz"]}}, InputError, "must have a label"),
        ({"run": {"q": "a"}}, InputError, "list of document ids"),
        ({"run": {"q": None}}, InputError, "list of document ids"),
        ({"run": {"q": [["a"]]}}, InputError, "list of document ids"),
        ({"qrels": {"q": {"zz": 1}}}, InputError, "must have a label"),
        ({"qrels": {"q": {"a": "2"}}}, InputError, "grade must be an integer"),
        ({"qrels": {"q": {"a": math.nan}}}, InputError, "grade must be an integer"),
        ({"qrels": {"q": {"a": 5_000}}}, InputError, "grade must be an integer"),
        ({"qrels": {}}, InputError, "judgements"),
        ({"labels": LABELS | {"a": 2}}, InputError, "0 or 1"),
        ({"labels": LABELS | {"a": [0]}}, InputError, "0 or 1"),
        ({"cost": -1.0}, ParameterError, "cost"),
        ({"cost": math.nan}, ParameterError, "cost"),
        ({"penalty": -1.0}, ParameterError, "penalty"),
        ({"decay": 1.5}, ParameterError, "decay"),
        ({"pool": "all"}, ParameterError, "pool"),
        ({"measures": ["nCSDCG@10"]}, UnknownNameError, "Did you mean 'nCS-DCG'"),
        ({"measures": ["TERN@0"]}, ParameterError, "integer >= 1"),
        ({"measures": [3]}, ParameterError, "must be a string"),
    ],
)
def test_bad_input(changes: dict[str, Any], error: type[VeilError], says: str) -> None:
    given: dict[str, Any] = {"run": {"q": ["a"]}, "qrels": QRELS, "labels": LABELS}
    with pytest.raises(error, match=says):
        sensitive.evaluate(**(given | {"measures": ["TERN@5"]} | changes))


@pytest.mark.parametrize("k", [0, -1, 1.5, True])
def test_a_depth_is_a_whole_number_from_1_on(k: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match="'k' argument"):
        sensitive.bounds({"a": 1}, {"a": 0}, k, 12.0)


def test_many_queries_are_as_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    labels = {f"d{i}": int(rng.random() < 0.3) for i in range(30)}
    qrels = {
        f"q{q}": {f"d{i}": int(rng.integers(3)) for i in rng.choice(30, 12, replace=False)}
        for q in range(5)
    }
    run = {query: [f"d{i}" for i in rng.choice(30, 8, replace=False)] for query in qrels}
    names = [f"{name}@6" for name in (*MEASURES, "nDCG-visible")]
    together = sensitive.evaluate(run, qrels, labels, names)
    for query in qrels:
        single = sensitive.evaluate({query: run[query]}, {query: qrels[query]}, labels, names)
        for name in names:
            assert single[name][query] == pytest.approx(together[name][query], nan_ok=True)
