"""How epsilon is split, what is shared, thresholds, and what is told of a query beforehand."""

import math
from typing import Any

import numpy as np
import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.dp.sql.database import Database
from veil.dp.sql.engine import select

COLUMNS = {"u": "whole", "g": "text", "v": "whole", "x": "real"}


def std(scale: float) -> float:
    q = math.exp(-1 / scale)
    return math.sqrt(2 * q) / (1 - q)


@pytest.fixture
def db(duck: Store) -> Database:
    rows = [(i % 50, "abcd"[min(3, i % 50 // 15)], i % 7, i / 100) for i in range(200)]
    duck.put("t", COLUMNS, rows)
    duck.put("w", COLUMNS, rows)
    columns = {"g": {}, "v": {"bounds": [0, 6]}, "x": {"bounds": [-1, 3]}}
    public = {**columns, "g": {"keys": ["a", "b", "c", "e"]}}
    rule: dict[str, Any] = {
        "budget": {"ledger": "none", "epsilon": 1e9, "delta": 0.99},
        "tables": {
            "t": {"unit": "u", "max_rows": 3, "max_groups": 2, "columns": columns},
            "w": {"columns": public},
        },
    }
    return dp.connect(duck.url, rule, rng=2)


# A query of w, and the labels of its noisy quantities.
SPLITS = [
    ("COUNT(*)", ["rows"]),
    ("COUNT(*), COUNT(*) AS again, COUNT(g)", ["rows", "values of g"]),
    ("AVG(v)", ["values of v", "sum of v, relative to the middle of its bounds"]),
    ("COUNT(v), AVG(v)", ["values of v", "sum of v, relative to the middle of its bounds"]),
    (
        "COUNT(*), AVG(v)",
        ["rows", "values of v", "sum of v, relative to the middle of its bounds"],
    ),
    ("AVG(v), VAR(v), STDDEV(v)", [
        "values of v", "sum of v, relative to the middle of its bounds",
        "sum of squares of v, relative to the middle of its bounds"]),
    ("SUM(v), SUM(x)", ["sum of v", "sum of x"]),
    ("MEDIAN(v), QUANTILE(v, 0.5), QUANTILE(v, 0.9)", ["quantile 0.5 of v", "quantile 0.9 of v"]),
    ("COUNT(DISTINCT g)", ["distinct values of g"]),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "labels"), SPLITS)
def test_epsilon_is_of_the_whole_query(db: Database, asked: str, labels: list[str]) -> None:
    told = db.explain(select([asked], "w"), 1)
    assert [part.label for part in told.quantities] == labels
    assert [part.epsilon for part in told.quantities] == pytest.approx(
        [1 / len(labels)] * len(labels)
    )
    assert told.cost.epsilon == 1
    assert str(told).endswith("per record.")


def test_counts_are_shared_where_no_value_can_be_missing(db: Database, duck: Store) -> None:
    for more in ("v > 0", "v BETWEEN 1 AND 2 AND x > 0", "NOT v IS NULL", "(v IN (1, 2))"):
        told = db.explain(select(["COUNT(*)", "AVG(v)"], "w", [more]), 1)
        assert len(told.quantities) == 2
    for more in ("v > 0 OR x > 0", "x > 0", "COALESCE(v, 1) > 0", "NOT (v > 0)", "v IS NULL"):
        told = db.explain(select(["COUNT(*)", "AVG(v)"], "w", [more]), 1)
        assert len(told.quantities) == 3
    db.close()
    duck.put("n", {"v": "BIGINT NOT NULL"}, [(1,)])
    rule: dict[str, Any] = {
        "budget": {"ledger": "none", "epsilon": 1},
        "tables": {"n": {"columns": {"v": {"bounds": [0, 1]}}}},
    }  # fmt: skip
    with dp.connect(duck.url, rule) as other:
        assert len(other.explain("SELECT COUNT(*), AVG(v) FROM n", 1).quantities) == 2
    duck.put("n", {"v": "whole"}, [(1,), (None,)])
    rule["tables"]["n"]["columns"]["v"]["nullable"] = False
    with dp.connect(duck.url, rule) as other:
        assert len(other.explain("SELECT COUNT(*), AVG(v) FROM n", 1).quantities) == 2


def test_sensitivities(db: Database) -> None:
    """Three rows of a unit count in each of two groups."""
    told = db.explain(
        "SELECT COUNT(*), COUNT(DISTINCT u), SUM(x), AVG(x), COUNT(DISTINCT v) FROM t GROUP BY g",
        6, 1e-6,
    )  # fmt: skip
    found = {part.label: part for part in told.quantities}
    assert found["rows"].sensitivity == 6
    assert found["units"].sensitivity == 2
    assert found["distinct values of v"].sensitivity == 6
    assert found["sum of x"].sensitivity == pytest.approx(18, rel=1e-5)
    assert found["sum of x, relative to the middle of its bounds"].sensitivity == pytest.approx(
        12, rel=1e-5
    )
    assert len(found) == 6
    assert found["rows"].std == pytest.approx(std(6))
    assert found["units"].std == pytest.approx(std(2))
    assert found["sum of x"].std == pytest.approx(math.sqrt(2) * 18, rel=1e-5)
    assert told.threshold == dp.threshold(1.0, 1e-6, 2)
    alone = db.explain("SELECT COUNT(*) FROM t", 1)  # one group: the whole
    assert alone.quantities[0].sensitivity == 3
    public = db.explain("SELECT g, COUNT(*) FROM w GROUP BY g", 1)
    assert (public.groups, public.threshold, public.quantities[0].sensitivity) == (4, None, 1)
    assert "All 4 groups" in str(public)
    assert "drawn at random" in str(told)


def test_groups_below_the_threshold_are_not_told_of(db: Database) -> None:
    """Of groups with 15, 15, 15 and 5 units the last one is never shown at this threshold."""
    seen: dict[object, int] = {}
    for _ in range(30):
        found = db.sql("SELECT g, COUNT(*) FROM t GROUP BY g", 10.0, 1e-9)
        assert found.threshold == dp.threshold(5.0, 1e-9, 2)
        for row in found.rows:
            seen[row[0]] = seen.get(row[0], 0) + 1
    assert "d" not in seen
    assert all(seen[key] > 20 for key in "abc")
    only_keys = db.sql("SELECT g FROM t GROUP BY g", 1e6, 1e-9)
    assert only_keys.rows == [("a",), ("b",), ("c",), ("d",)]


def test_public_groups_are_all_told_of(db: Database) -> None:
    found = db.sql("SELECT g, COUNT(*), AVG(x) FROM w GROUP BY g", 1e9)
    assert [row[:2] for row in found.rows] == [("a", 60), ("b", 60), ("c", 60), ("e", 0)]
    assert all(-1 <= row[2] <= 3 for row in found.rows)  # type: ignore[operator]
    assert len(found.errors) == 4


def test_averages_stay_within_their_bounds_and_their_noise_is_told(db: Database) -> None:
    values, stds = [], []
    for _ in range(40):
        found = db.sql("SELECT AVG(x) FROM w", 0.5)
        values.append(float(found.rows[0][0] or 0))
        stds.append(found.std[0])
    truth = sum(i / 100 for i in range(200)) / 200
    assert np.std(values) == pytest.approx(np.median(stds), rel=0.4)
    assert abs(np.mean(values) - truth) < 4 * np.median(stds) / math.sqrt(40)
    tiny = db.sql("SELECT AVG(x), VAR(x), STDDEV(x) FROM w WHERE v > 100", 1e-3)
    (row,) = tiny.rows
    assert -1 <= row[0] <= 3  # type: ignore[operator]
    assert 0 <= row[1] <= 8  # type: ignore[operator]


def test_numbers_by_name_and_by_place(db: Database) -> None:
    found = db.sql("SELECT g, COUNT(*) AS n FROM w GROUP BY g", 1)
    assert found.std["n"] == found.std[1] == found.std[-1] == pytest.approx(std(1))
    assert list(found.std) == [0.0, found.std[1]]


def test_what_a_seed_repeats(duck: Store, db: Database) -> None:
    del db
    rule = {"budget": {"ledger": "none", "epsilon": 9}, "tables": {"w": {"columns": {}}}}
    found = []
    for seed in (3, 3, 4, None):
        with dp.connect(duck.url, rule, rng=seed) as made:
            found.append([made.sql("SELECT COUNT(*) FROM w", 0.01).rows for _ in range(4)])
            assert made.sql("SELECT COUNT(*) FROM w", 1).seeded is (seed is not None)
    assert found[0] == found[1]
    assert found[0] != found[2] != found[3]
