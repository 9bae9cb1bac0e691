"""Exact answers and noise of the golden values, on every engine."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.dp.sql.stores import Store, read

from veil import dp

TABLES = ("pums", "pums_several_rows")
EXACT = 1e9  # an epsilon without noise


def cases(shared: Path) -> dict[str, list[dict[str, Any]]]:
    file = shared / "golden" / "dp.json"
    if not file.is_file():
        pytest.skip("the golden values of dp are not at hand")
    found: dict[str, list[dict[str, Any]]] = json.loads(file.read_text())["sql"]
    return found


def policy(case: dict[str, Any]) -> dict[str, Any]:
    bounds = case.get("bounds", [0, 100])
    columns = {
        "age": {"bounds": bounds},
        "income": {"bounds": bounds},
        "sex": {"keys": case.get("keys", [0, 1])},
        "married": {},
    }
    several = {"unit": "pid", "max_rows": case.get("max_rows", 1), "columns": columns}
    return {
        "budget": {"ledger": "none", "epsilon": 1e10},
        "tables": {"pums": {"columns": columns}, "pums_several_rows": several},
    }


def filled(store: Store, shared: Path) -> Store:
    for name in TABLES:
        names, rows = read(shared / "counts" / f"{name}.csv")
        store.put(name, dict.fromkeys(names, "whole"), rows)
    return store


def test_answers_are_exact_without_noise_and_have_the_noise_that_is_told(
    store: Store, shared: Path
) -> None:
    known = cases(shared)
    filled(store, shared)
    for case in known["pums"] + known["pums_several_rows"]:
        with dp.connect(store.url, policy(case), rng=5) as db:
            exact = db.sql(case["sql"], epsilon=EXACT)
            truth = case["truth"] if isinstance(case["truth"], list) else [case["truth"]]
            assert [row[-1] for row in exact.rows] == pytest.approx(truth, rel=1e-12)
            assert [row[:-1] for row in exact.rows] == [
                (key,) if "keys" in case else () for key in case.get("keys", [None])
            ]
            told = db.explain(case["sql"], epsilon=1)
            noisy = db.sql(case["sql"], epsilon=1)
            if "std" in case:
                assert noisy.std[-1] == pytest.approx(case["std"], rel=1e-5)
                assert told.quantities[0].std == pytest.approx(case["std"], rel=1e-5)
            else:
                assert noisy.std[-1] == pytest.approx(case["std_about"], rel=0.05)
            assert noisy.cost.epsilon == told.cost.epsilon == 1
            assert noisy.seeded


def test_errors_of_many_answers_are_those_of_the_law(duck: Store, shared: Path) -> None:
    names, rows = read(shared / "counts" / "pums.csv")
    duck.put("pums", dict.fromkeys(names, "real"), rows)
    age = [row[names.index("age")] for row in rows]
    rule = {
        "budget": {"ledger": "none", "epsilon": 1e4},
        "tables": {"pums": {"columns": {"age": {"bounds": [0, 100]}}}},
    }
    asked = "SELECT COUNT(*), SUM(age), AVG(age) FROM pums WHERE age >= 0"
    with dp.connect(duck.url, rule, rng=11) as db:
        found = [db.sql(asked, epsilon=1) for _ in range(150)]
    values = np.array([table.rows[0] for table in found], dtype=float)
    truth = np.array([len(age), sum(map(int, map(str, age))), np.mean(np.array(age, dtype=float))])
    z = (values - truth) / np.array(found[0].std)
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(150)
    assert np.abs(z.std(axis=0) - 1).max() < 0.3
    assert len(found[0].std) == 3
    told = {part.label for part in db.explain(asked, 1).quantities}
    assert len(told) == 3  # rows, the sum, and the sum from the middle: the count is shared
