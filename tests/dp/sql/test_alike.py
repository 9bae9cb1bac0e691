"""What is one unit, or one group, and what is two: nobody's rows count as another's."""

import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.core.errors import InputError, RefusedError
from veil.dp.sql.engines.sqlite import SQLite
from veil.dp.sql.statements import exact_of, write_statements

EVERYTHING = {"ledger": "none", "epsilon": 1e15, "delta": 0.9}


def policy(columns: dict[str, Any], unit: str | None = "person", **more: object) -> dict[str, Any]:
    rule = {"columns": columns, **more} | ({} if unit is None else {"unit": unit})
    return {"budget": EVERYTHING, "tables": {"t": rule}}


def exact(url: str, given: dict[str, Any], query: str) -> list[tuple[Any, ...]]:
    with dp.connect(url, given) as db:
        return db.sql(query, epsilon=1e9, delta=1e-3).rows


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_an_order_that_a_column_asks_for_makes_no_two_units_one(
    engine: str, tmp_path: Path
) -> None:
    """One row more would else change which row of another unit counts."""
    store, kind = Store(engine, tmp_path), "VARCHAR COLLATE NOCASE"
    store.put("t", {"person": kind, "x": "real"}, [["a", 1.0], ["A", 2.0], ["b", 3.0]])
    for query in ("SELECT COUNT(DISTINCT person) FROM t", "SELECT COUNT(*) FROM t"):
        assert exact(store.url, policy({"x": {"bounds": [0, 9]}}), query) == [(3,)]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.parametrize("unit", [None, "person"])
def test_an_order_that_a_column_asks_for_makes_no_two_groups_one(
    engine: str, unit: str | None, tmp_path: Path
) -> None:
    """Which of two spellings a group is told by would else depend on a single row."""
    store, kind = Store(engine, tmp_path), "VARCHAR COLLATE NOCASE"
    rows = [["a", "ROME"], ["b", "rome"], ["c", "Rome"], ["d", "rome"]]
    store.put("t", {"person": kind, "town": kind}, rows)
    listed = policy({"town": {"keys": ["rome"]}}, unit)
    query = "SELECT town, COUNT(*) FROM t GROUP BY town"
    assert exact(store.url, listed, query) == [("rome", 2)]
    assert exact(store.url, listed, "SELECT COUNT(*) FROM t WHERE town = 'rome'") == [(2,)]
    assert exact(store.url, listed, "SELECT COUNT(DISTINCT town) FROM t") == [(3,)]


def test_units_keep_all_their_digits(store: Store) -> None:
    types = {"duckdb": "DECIMAL(30, 0)", "sqlite": "INTEGER", "postgresql": "numeric"}
    large = 2**60
    store.put("t", {"person": types[store.engine], "x": "real"}, [[large, 1.0], [large + 1, 2.0]])
    query = "SELECT COUNT(DISTINCT person), COUNT(*) FROM t"
    assert exact(store.url, policy({"x": {"bounds": [0, 9]}}), query) == [(2, 2)]


@pytest.mark.parametrize(
    ("engine", "one", "other"),
    [
        ("duckdb", "HUGEINT", "DOUBLE"),
        ("duckdb", "DATE", "TIMESTAMP"),
        ("sqlite", "REAL", ""),
        ("postgresql", "numeric", "float8"),
    ],
)
def test_units_of_other_types_are_not_joined(
    engine: str, one: str, other: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """A unit of one table would be several of the other, or fail to be compared."""
    server = str(request.getfixturevalue("server")) if engine == "postgresql" else ""
    store = Store(engine, tmp_path, server)
    store.put("a", {"person": one, "x": "real"}, [])
    store.put("b", {"person": other, "y": "real"}, [])
    given = {
        "budget": EVERYTHING,
        "tables": {
            "a": {"unit": "person", "columns": {"x": {}}},
            "b": {"unit": "person", "columns": {"y": {}}},
        },
    }
    with dp.connect(store.url, given) as db, pytest.raises(RefusedError, match="same type"):
        db.explain("SELECT COUNT(*) FROM a JOIN b USING (person)")


def test_texts_that_are_told_alike_are_one_group(tmp_path: Path) -> None:
    """Bytes that are no Unicode look the same: a unit counts once in what they are told as."""
    file = tmp_path / "data.sqlite"
    with closing(sqlite3.connect(file)) as made:
        made.execute("CREATE TABLE t (person INTEGER, town TEXT)")
        made.execute("INSERT INTO t VALUES (1, CAST(x'FF' AS TEXT)), (1, CAST(x'FE' AS TEXT))")
        made.commit()
    with dp.connect(f"sqlite:{file}", policy({"town": {}}, max_groups=2)) as db:
        made_plan = db._prepare("SELECT town, COUNT(*) FROM t GROUP BY town", 1.0, 1e-3, ())
        asked = write_statements(made_plan.plan, SQLite.speech)
        statements = [one.statement._replace(values=(7,)) for one in asked]
        found = exact_of(asked, db._engine.run(statements))
    assert [list(numbers.values()) for numbers in found.numbers.values()] == [[1]]


@pytest.mark.parametrize(
    ("engine", "column"),
    [("duckdb", "y INTEGER AS (CAST(s AS INTEGER))"), ("sqlite", "y INTEGER AS (abs(s))")],
)
def test_a_column_that_is_computed_when_it_is_read_is_refused(
    engine: str, column: str, tmp_path: Path
) -> None:
    """It can fail on a row, and an answer that fails tells that the row is there."""
    store = Store(engine, tmp_path)
    store.run(f"CREATE TABLE t (s VARCHAR, {column})")
    with pytest.raises(InputError, match="unsupported type"):
        dp.connect(store.url, policy({"y": {}}, unit=None))


@pytest.mark.parametrize("key", [1.5, 2**63])
def test_keys_of_whole_numbers_are_whole(duck: Store, key: float) -> None:
    duck.put("t", {"n": "whole"}, [])
    with pytest.raises(InputError, match="64-bit integers"):
        dp.connect(duck.url, policy({"n": {"keys": [1, key]}}, unit=None))


def test_a_condition_cannot_grow_without_end(duck: Store) -> None:
    """Parts that are said several times multiply where they are within each other."""
    duck.put("t", {"x": "real"}, [])
    nested = "x"
    for _ in range(8):
        nested = f"abs(coalesce({nested}, 0))"
    with dp.connect(duck.url, policy({"x": {}}, unit=None)) as db:
        tracemalloc.start()
        try:
            with pytest.raises(RefusedError, match="too long"):
                db.explain(f"SELECT COUNT(*) FROM t WHERE {nested} > 1")  # noqa: S608 - of ours
            assert tracemalloc.get_traced_memory()[1] < 10_000_000
        finally:
            tracemalloc.stop()
