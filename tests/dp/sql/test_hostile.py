"""One row that is made to break a query: nothing but its own contribution shows."""

import math
from collections.abc import Iterable
from typing import Any

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.core.errors import VeilError
from veil.dp.sql.database import Database
from veil.dp.sql.engine import select

COLUMNS = {"n": "whole", "x": "real", "s": "text", "d": "time", "u": "text"}
PLAIN = [(i % 9, i / 7, f"name {i % 5}", f"2024-01-{i % 28 + 1:02} 10:00:00", f"p{i % 12}")
         for i in range(60)]  # fmt: skip
_NUL = "a\0b"
HOSTILE: list[tuple[Any, ...]] = [
    (10**9, 1e308, "'; DROP TABLE t; --", "9999-12-31 23:59:59", "p1' OR '1'='1"),
    (-(2**63), math.inf, '"; SELECT 1; --', "0001-01-01 00:00:00", ""),
    (2**63 - 1, -math.inf, "%" * 50, None, "\U0001f600"),
    (0, math.nan, "x" * 20_000, "2024-01-01 00:00:00", "x" * 5_000),
    (None, 5e-324, "\n\t\\", None, None),
    (7, -0.0, "1e400", None, "p1"),
    (7, 1e-200, "99999999999999999999", None, "p1"),
]
QUERIES = [
    "SELECT COUNT(*) FROM t WHERE n * n * n * n > 3",
    "SELECT COUNT(*) FROM t WHERE n / x > 3 AND x * x * x < 1e40",
    "SELECT COUNT(*) FROM t WHERE 1 / (n - n) > 0 OR x / 0 > 1 OR -n < abs(x)",
    "SELECT SUM(n), AVG(n), VARIANCE(n), COUNT(DISTINCT n) FROM t",
    "SELECT SUM(x), AVG(x), STDDEV(x), COUNT(DISTINCT x) FROM t",
    "SELECT COUNT(*) FROM t WHERE CAST(s AS DOUBLE) + 1 > 0 OR length(s) * n > 5",
    "SELECT COUNT(*) FROM t WHERE lower(s) LIKE '%a%b%c%d%' OR upper(s) = 'X'",
    "SELECT COUNT(*) FROM t WHERE date_trunc('day', d) > '2024-01-15' AND extract(day FROM d) > 5",
    "SELECT s, COUNT(*), SUM(x) FROM t GROUP BY s",
    "SELECT n, COUNT(*) FROM t GROUP BY n",
    "SELECT x, COUNT(*) FROM t GROUP BY x",
    "SELECT d, COUNT(*) FROM t GROUP BY d",
    "SELECT MEDIAN(n), QUANTILE(x, 0.25) FROM t",
    "SELECT COUNT(*) FROM t WHERE COALESCE(x, n) > 2 AND CASE WHEN s = 'a' THEN n ELSE x END > 1",
]


def rule(tables: Iterable[str], *, unit: bool) -> dict[str, Any]:
    columns = {
        "n": {"bounds": [-3, 9]}, "x": {"bounds": [-1.5, 7.25]}, "s": {}, "d": {},
    }  # fmt: skip
    more = {"unit": "u", "max_rows": 2, "max_groups": 2} if unit else {}
    return {
        "budget": {"ledger": "none", "epsilon": 1e15, "delta": 0.9},
        "tables": {table: {"columns": columns, **more} for table in tables},
    }


def behaviour(db: Database, table: str) -> list[str]:
    """Tell how each query ends: with columns of these types, or in this sentence."""
    told = []
    seeded = Database(db._engine, db.tables, dp.Budget(1e15, 0.9), rng=3)
    for query in QUERIES:
        try:
            asked = f"{query} ".replace(" FROM t ", f" FROM {table} ")
            found = seeded.sql(asked, 1e9, 0.01)
            told.append(f"{found.columns} {found.cost} {found.threshold} {found.std[0]}")
            assert all(math.isfinite(value) for row in found.rows for value in row
                       if isinstance(value, float) and value != row[0])  # fmt: skip
        except VeilError as error:
            told.append(str(error))
    return told


@pytest.mark.parametrize("unit", [False, True])
def test_one_hostile_row_changes_no_behaviour(store: Store, unit: bool) -> None:
    rows = list(HOSTILE)
    if store.engine == "sqlite":  # it stores whatever it is given
        rows += [("text", "text", 5, b"\xff\xfe", b"\x00"), (1.5, b"\x01", b"\xff", 17, 17),
                 (3, 1.0, _NUL, "2024-13-45", _NUL)]  # fmt: skip
    if store.engine == "duckdb":
        rows.append((3, 1.0, _NUL, None, _NUL))
    tables = {"t": PLAIN, "all_": [*PLAIN, *rows]}
    tables |= {f"t{i}": [*PLAIN, row] for i, row in enumerate(rows)}
    store.put_all(COLUMNS, tables)
    if store.engine == "sqlite":
        store.run(
            "INSERT INTO all_ VALUES (1, 1, CAST(x'ff61' AS TEXT), CAST(x'ff' AS TEXT), 'a')"
        )
    with dp.connect(store.url, rule(tables, unit=unit)) as db:
        without = behaviour(db, "t")
        assert not any("did not answer" in one for one in without)
        for table in ["all_"] if unit else tables:
            assert behaviour(db, table) == without, table


def test_a_row_counts_for_no_more_than_its_bounds(store: Store) -> None:
    tables = {"t": PLAIN} | {f"t{i}": [*PLAIN, row] for i, row in enumerate(HOSTILE[:5])}
    store.put_all(COLUMNS, tables)
    with dp.connect(store.url, rule(tables, unit=False), rng=3) as db:
        found = [
            db.sql(select(["COUNT(*)", "SUM(n)", "SUM(x)"], table), 1e12).rows[0]
            for table in tables
        ]
    for row in found[1:]:
        changes = [float(b) - float(a) for a, b in zip(found[0], row, strict=True)]  # type: ignore[arg-type]
        assert changes[0] == 1
        assert -3 <= changes[1] <= 9
        assert -1.5001 <= changes[2] <= 7.2501
