"""What is not answered: refused in a sentence, before anything is charged or read."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.core.errors import BudgetError, ParameterError, VeilError
from veil.dp.sql.database import Database
from veil.dp.sql.engine import select

WORD = "quokka"
FILE = Path(__file__).with_name("refused.sql")
_LONG = [
    "(" * 500 + "n = 1" + ")" * 500,
    "NOT " * 1000 + "n = 1",
    "n = " + " + ".join(["n"] * 200),
    "n = " + "CASE WHEN n = 1 THEN " * 100 + "1" + " END" * 100,
    "n IN (" + ", ".join(["1"] * 1200) + ")",
    "s = '" + "a" * 20_000 + "'",
    "-" * 400 + "n = 1",
    "s = 'a\0b'",
    "n = 1 -- \n; DROP TABLE t",
]
REFUSED = [
    "", "   ", ";", select(["COUNT(*)"] * 101, "t"), *FILE.read_text().splitlines(),
    *(select(["COUNT(*)"], "t", [condition]) for condition in _LONG),
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store("duckdb", tmp_path_factory.mktemp("refusals"))
    kinds = {"n": "whole", "s": "text", "d": "time", "u": "whole", "hidden": "text"}
    store.put("t", kinds, [(1, WORD, "2024-01-01", 1, WORD)])
    store.put("w", {"u": "whole", "k": "text"}, [(1, WORD)])
    store.put("rows_", {"u": "whole", "k": "text"}, [(1, WORD)])
    store.put("other", {"n": "whole"}, [(1,)])
    return store


@pytest.fixture
def db(filled: Store) -> Iterator[Database]:
    columns = {"n": {"bounds": [0, 9]}, "s": {"keys": ["a", "b"]}, "d": {}}
    rule = {
        "budget": {"ledger": "none", "epsilon": 10, "delta": 0.1},
        "tables": {
            "t": {"unit": "u", "columns": columns},
            "w": {"unit": "u", "columns": {"k": {}}},
            "rows_": {"columns": {"u": {}}},
        },
    }
    with dp.connect(filled.url, rule, rng=1) as made:
        yield made


def test_refusals_are_one_sentence_and_cost_nothing(db: Database) -> None:
    for query in REFUSED:
        with pytest.raises(VeilError) as told:
            db.sql(query, epsilon=1, delta=1e-3)
        sentence = str(told.value)
        assert isinstance(told.value, dp.RefusedError), (query, told.value)
        assert sentence.endswith("."), query
        assert "\n" not in sentence
        assert WORD not in sentence
        with pytest.raises(dp.RefusedError):
            db.explain(query, 1, 1e-3)
    assert tuple(db.budget.spent) == (0.0, 0.0)
    assert db.sql("SELECT COUNT(*) FROM t", epsilon=1).rows


@pytest.mark.parametrize(
    "epsilon", [0, -1, float("nan"), float("inf"), True, "1", None, 10**400, [1]]
)
def test_bad_epsilon(db: Database, epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        db.sql("SELECT COUNT(*) FROM t", epsilon)
    assert db.budget.spent.epsilon == 0


@pytest.mark.parametrize("delta", [-1e-9, 1, float("nan"), "0"])
def test_bad_delta(db: Database, delta: float) -> None:
    with pytest.raises(ParameterError, match="delta"):
        db.sql("SELECT COUNT(*) FROM t", 1, delta)


def test_secret_keys_need_a_delta(db: Database) -> None:
    with pytest.raises(ParameterError, match="needs a delta > 0"):
        db.sql("SELECT d, COUNT(*) FROM t GROUP BY d", 1)
    assert db.budget.spent.epsilon == 0


def test_an_epsilon_that_no_noise_can_serve_is_refused_before_it_is_charged(db: Database) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        db.sql("SELECT COUNT(*) FROM t", 1e-30)
    assert db.budget.spent.epsilon == 0


@pytest.mark.parametrize(
    "values",
    [[1], [1, 2, 3], "ab", 5, [1, object()], [1, b"x"], [1, float("nan")], [1, "a\0"],
     [np.array([1, 2]), "a"], [[1], "a"]],
)  # fmt: skip
def test_bad_values(db: Database, values: list[object]) -> None:
    with pytest.raises(dp.RefusedError):
        db.sql("SELECT COUNT(*) FROM t WHERE n = ? AND s = ?", 1, params=values)
    assert db.budget.spent.epsilon == 0


@pytest.mark.parametrize("query", [None, 5, b"SELECT", ["SELECT COUNT(*) FROM t"]])
def test_what_is_no_text_is_no_query(db: Database, query: str) -> None:
    with pytest.raises(dp.RefusedError, match="one SELECT"):
        db.sql(query)
    assert db.budget.spent.epsilon == 0


def test_names_are_found_whatever_their_case_unless_quoted(db: Database) -> None:
    rows = db.sql('SELECT Count(*) FROM T AS "x y" WHERE "x y".N = 1 and X.n = 1'.replace(
        "X.n", '"x y"."n"'), 1e-3).rows  # fmt: skip
    assert len(rows) == 1


def test_a_spent_budget_refuses(db: Database) -> None:
    db.sql("SELECT COUNT(*) FROM t", 9.5)
    with pytest.raises(BudgetError):
        db.sql("SELECT COUNT(*) FROM t", 1)
    assert db.budget.remaining.epsilon == 0.5
    db.explain("SELECT COUNT(*) FROM t", 1)  # what would be told costs nothing
