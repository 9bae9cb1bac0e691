"""What a query means, on every engine alike: held against Python, without noise."""

import math
import random
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
from tests.dp.sql.stores import Store

from veil import dp
from veil.dp.sql.database import Table
from veil.dp.sql.engine import select

Row = tuple[Any, ...]
_DRAWS = random.Random(4)
_TIMES = (None, "2024-01-31 13:05:09", "2023-12-31 00:00:00", "1999-06-01 23:59:59")
_TEXTS = (None, "a", "b", "C", "ä", "x_y", "50%", "50", "O'Brien", "", "a\nb", "a\\b")
_REALS = (None, 0.0, -0.0, 1.5, -2.25, 1e9, 1e-300, 1e308, -1e308, math.inf, -math.inf)
ROWS: list[Row] = [
    (
        _DRAWS.choice([i % 97, i % 97, None]),
        _DRAWS.choice(_TEXTS),
        _DRAWS.choice(_REALS),
        _DRAWS.choice(_TIMES),
        i % 40,
        _DRAWS.choice([-3, 0, 7, 100, 10**9, 2**53 + 1]),
    )
    for i in range(240)
]
COLUMNS = {"n": "whole", "s": "text", "x": "real", "d": "time", "u": "whole", "m": "whole"}
EXACT = 1e12


def policy(**more: object) -> dict[str, Any]:
    columns = {
        "n": {"bounds": [0, 50]},
        "s": {"keys": ["a", "b", "C", "ä", "nobody", None]},
        "x": {"bounds": [-10, 10]},
        "m": {"bounds": [-5, 50]},
        "d": {},
        "u": {},
    }
    return {
        "budget": {"ledger": "none", "epsilon": 1e15, "delta": 0.9},
        "tables": {"t": {"columns": columns, **more}},
    }


def _in(value: float, low: float, high: float) -> float:
    return min(high, max(low, value))


# A condition, and the same in Python: NULL is not true.
CONDITIONS: list[tuple[str, Callable[..., bool | None]]] = [
    ("n > 10", lambda n, s, x, d, m: n is not None and n > 10),
    ("NOT (n = 10)", lambda n, s, x, d, m: n is not None and n != 10),
    ("n = 10 OR n IS NULL", lambda n, s, x, d, m: n is None or n == 10),
    ("n = 10.0", lambda n, s, x, d, m: n == 10),
    ("n BETWEEN 5 AND 20.5", lambda n, s, x, d, m: n is not None and 5 <= n <= 20),
    ("n NOT IN (1, 2, 3)", lambda n, s, x, d, m: n is not None and n not in (1, 2, 3)),
    ("n", lambda n, s, x, d, m: bool(n)),
    ("n = NULL", lambda n, s, x, d, m: False),
    ("TRUE", lambda n, s, x, d, m: True),
    ("NOT 1 = 1", lambda n, s, x, d, m: False),
    ("m = 9007199254740993", lambda n, s, x, d, m: m == 2**53 + 1),
    ("m = 9007199254740992", lambda n, s, x, d, m: False),
    ("m * m * m > 1e20", lambda n, s, x, d, m: m >= 10**9),
    ("-m > 0", lambda n, s, x, d, m: m < 0),
    ("abs(m) = 3", lambda n, s, x, d, m: m == -3),
    ("x > 1", lambda n, s, x, d, m: x is not None and x > 1),
    ("x * x > 4", lambda n, s, x, d, m: x is not None and abs(x) > 2),
    ("x IN (1.5, 1e308)", lambda n, s, x, d, m: x in (1.5, 1e308)),
    ("n / (n - n) > 0", lambda n, s, x, d, m: False),
    ("x / m > 0.1", lambda n, s, x, d, m: None not in (x, m) and m != 0 and x / m > 0.1),
    ("x - 1 <= n + m", lambda n, s, x, d, m: None not in (x, n) and x - 1 <= n + m),
    ("s = 'O''Brien'", lambda n, s, x, d, m: s == "O'Brien"),
    ("s < 'b'", lambda n, s, x, d, m: s is not None and s < "b"),
    ("s IN ('a', 'ä')", lambda n, s, x, d, m: s in ("a", "ä")),
    ("s LIKE '%_y'", lambda n, s, x, d, m: s == "x_y"),
    ("s LIKE '5%'", lambda n, s, x, d, m: s in ("50%", "50")),
    ("s LIKE '_'", lambda n, s, x, d, m: s is not None and len(s) == 1),
    ("s LIKE 'a%b'", lambda n, s, x, d, m: s in ("a\nb", "a\\b")),
    (r"s LIKE 'a\%'", lambda n, s, x, d, m: s == "a\\b"),
    ("s LIKE 'c'", lambda n, s, x, d, m: False),
    ("s NOT LIKE '%a%'", lambda n, s, x, d, m: s is not None and "a" not in s),
    ("lower(s) = 'c'", lambda n, s, x, d, m: s == "C"),
    ("upper(s) = 'X_Y' OR upper(s) = 'Ä'", lambda n, s, x, d, m: s == "x_y"),
    ("length(s) = 1", lambda n, s, x, d, m: s is not None and len(s) == 1),
    ("CAST(s AS DOUBLE) > 49", lambda n, s, x, d, m: s == "50"),
    ("TRY_CAST(s AS DOUBLE) > 49", lambda n, s, x, d, m: s == "50"),
    ("COALESCE(n, 5) = 5", lambda n, s, x, d, m: n in (None, 5)),
    ("NULLIF(n, 5) IS NULL", lambda n, s, x, d, m: n in (None, 5)),
    ("CASE WHEN n > 50 THEN 1 WHEN s = 'a' THEN 2 END = 2",
     lambda n, s, x, d, m: s == "a" and not (n is not None and n > 50)),
    ("CASE s WHEN 'a' THEN n ELSE 0 END > 3",
     lambda n, s, x, d, m: s == "a" and n is not None and n > 3),
    ("d >= '2023-12-31'", lambda n, s, x, d, m: d is not None and d >= "2023"),
    ("d = DATE '2023-12-31'", lambda n, s, x, d, m: d == _TIMES[2]),
    ("date_trunc('month', d) = '2024-01-01'", lambda n, s, x, d, m: d == _TIMES[1]),
    ("extract(year FROM d) + 1 = 2025", lambda n, s, x, d, m: d == _TIMES[1]),
    ("extract(minute FROM d) = 59", lambda n, s, x, d, m: d == _TIMES[3]),
]  # fmt: skip


def test_conditions(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    with dp.connect(store.url, policy(), rng=1) as db:
        for condition, holds in CONDITIONS:
            kept = [row for row in ROWS if holds(*row[:4], row[5])]
            (found,) = db.sql(select(["COUNT(*)", "SUM(n)"], "t", [condition]), EXACT).rows
            total = sum(_in(row[0], 0, 50) for row in kept if row[0] is not None)
            assert found == (len(kept), total), condition


def test_values_are_bound(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    with dp.connect(store.url, policy(), rng=1) as db:

        def count(condition: str, *values: object) -> object:
            found = db.sql(select(["COUNT(*)"], "t", [condition]), EXACT, params=values)
            return found.rows[0][0]

        assert count("s = ?", "O'Brien") == sum(row[1] == "O'Brien" for row in ROWS)
        assert count("s = ?", "0 OR 1=1") == 0
        assert count("s = ?", "x' OR '1'='1") == 0
        assert count("? = s AND n > ?", "a", 3) == count("s = 'a' AND n > 3")
        assert count("n = ?", None) == 0
        assert count("d >= ?", date(2023, 12, 31)) == count("d >= '2023-12-31'")
        assert count("n IN (?, ?) OR n = ?", 1, 2.0, True) == count("n IN (1, 2)")
        assert count("u = ?", 0) == 6
        with pytest.raises(dp.RefusedError, match="the same kind"):  # the notes' user_id=0 OR 1=1
            count("u = ?", "0 OR 1=1")


def test_numbers(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    n = [_in(row[0], 0, 50) for row in ROWS if row[0] is not None]
    x = [_in(row[2], -10, 10) for row in ROWS if row[2] is not None]
    mean = math.fsum(x) / len(x)
    spread = math.fsum((one - mean) ** 2 for one in x)
    with dp.connect(store.url, policy(), rng=1) as db:
        (found,) = db.sql(
            "SELECT COUNT(*), COUNT(n), COUNT(DISTINCT s), COUNT(DISTINCT x), SUM(n), SUM(x),"
            " AVG(x), VAR_POP(x), VAR(x), STDDEV(x), AVG(n) FROM t", EXACT,
        ).rows  # fmt: skip
        (ranks,) = db.sql("SELECT MEDIAN(n), QUANTILE(n, 0), QUANTILE(x, 1) FROM t", EXACT).rows
    assert found[:5] == (240, len(n), 11, 9, sum(n))  # -0.0 is 0.0
    assert found[5:] == pytest.approx((
        math.fsum(x), mean, spread / len(x), spread / (len(x) - 1),
        math.sqrt(spread / (len(x) - 1)), sum(n) / len(n),
    ), rel=1e-5)  # fmt: skip
    low, high = sorted(n)[len(n) // 2 - 1 : len(n) // 2 + 1]
    assert isinstance(ranks[0], int)
    assert low <= ranks[0] <= high + 1
    assert ranks[1] == 0
    assert 1.5 <= float(ranks[2] or 0) <= 10  # nothing lies between the largest values


def test_ranks_of_equal_values(store: Store) -> None:
    values = [0] * 80 + [1] * 20
    store.put("t", {"n": "whole", "x": "real"}, [(n, n / 4) for n in values])
    listed = {"n": {"bounds": [0, 50]}, "x": {"bounds": [0, 1]}}
    policy = {"budget": {"ledger": "none", "epsilon": 1e13}, "tables": {"t": {"columns": listed}}}
    with dp.connect(store.url, policy, rng=1) as db:
        asked = "SELECT MEDIAN(n), QUANTILE(n, 0.9), QUANTILE(n, 0.75), MEDIAN(x) FROM t"
        (ranks,) = db.sql(asked, EXACT).rows
    assert ranks == (0, 1, 0, 0.0)


def groups(found: Table) -> dict[object, tuple[object, ...]]:
    return {row[0]: row[1:] for row in found.rows}


def test_groups(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    with dp.connect(store.url, policy(), rng=1) as db:
        found = db.sql("SELECT s, COUNT(*), SUM(m) FROM t GROUP BY s", EXACT)
        assert [row[0] for row in found.rows] == [None, "C", "a", "b", "nobody", "ä"]
        assert found.threshold is None
        for key, (count, total) in groups(found).items():
            kept = [row for row in ROWS if row[1] == key]
            assert (count, total) == (len(kept), sum(_in(row[5], -5, 50) for row in kept))
        times = db.sql("SELECT d, COUNT(*) FROM t GROUP BY d", EXACT, 0.1)
        assert times.rows == [(one, sum(row[3] == one for row in ROWS)) for one in
                              sorted(filter(None, _TIMES))]  # fmt: skip
        assert times.threshold == 2
        numbers = db.sql("SELECT x, COUNT(*) FROM t GROUP BY x", EXACT, 0.1)
        assert {row[0]: row[1] for row in numbers.rows} == {
            one: sum(row[2] == one for row in ROWS) for one in set(_REALS) - {None}
        }


def test_what_comes_after_the_noise(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    with dp.connect(store.url, policy(), rng=1) as db:

        def keys(rest: str, *values: object) -> list[object]:
            asked = " ".join([select(["s", "COUNT(*) AS c"], "t", by=["s"]), rest])
            return [row[0] for row in db.sql(asked, EXACT, params=values).rows]

        count = {key: sum(row[1] == key for row in ROWS) for key in ("C", "a", "b", "ä", None)}
        by_count = sorted([None, "C", "a", "b", "nobody", "ä"],
                          key=lambda key: count.get(key, 0))  # fmt: skip
        assert keys("ORDER BY c") == by_count
        assert keys("ORDER BY 2 DESC, s LIMIT 2") == sorted(
            count, key=lambda key: (-count[key], key is not None, key or ""))[:2]  # fmt: skip
        assert keys("ORDER BY s DESC NULLS FIRST LIMIT 2 OFFSET 1") == ["ä", "nobody"]
        assert keys("ORDER BY s LIMIT ? OFFSET ?", 1, 2) == ["a"]
        assert keys("HAVING COUNT(*) = 0") == ["nobody"]
        assert keys("HAVING c BETWEEN 1 AND 1000 AND NOT s = 'a' AND SUM(m) / COUNT(*) > -9") == [
            "C", "b", "ä",
        ]  # fmt: skip
        assert keys("HAVING s = ? OR c < -1", "b") == ["b"]
        assert keys("HAVING c / (c - c) > 1") == []
        assert keys("HAVING -c > 0 OR NULL") == []


def test_a_join_by_the_unit(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    other = [(i % 45, "pq"[i % 2], i % 7) for i in range(90)]
    store.put("w", {"u": "whole", "k": "text", "z": "whole"}, other)
    rule = policy(unit="u", max_rows=100, max_groups=2)
    rule["tables"]["w"] = {
        "unit": "u", "max_rows": 9,
        "columns": {"k": {"keys": ["p", "q"]}, "z": {"bounds": [0, 6]}, "u": {}},
    }  # fmt: skip
    asked = "SELECT b.k, COUNT(*), SUM(z) FROM t AS a JOIN w AS b USING (u) WHERE n > 3 GROUP BY k"
    with dp.connect(store.url, rule, rng=1) as db:
        found = groups(db.sql(asked, EXACT))
    kept = [(o[1], o[2]) for row in ROWS for o in other if row[4] == o[0] and (row[0] or 0) > 3]
    assert found == {
        key: (sum(one == key for one, _ in kept), sum(z for one, z in kept if one == key))
        for key in "pq"
    }


def test_many_public_keys(store: Store) -> None:
    store.put("t", COLUMNS, ROWS)
    rule = policy()
    rule["tables"]["t"]["columns"]["s"] = {"keys": [f"k{i}" for i in range(200)] + ["a", "ä"]}
    rule["tables"]["t"]["columns"]["n"] = {"keys": list(range(90)), "bounds": [0, 96]}
    rule["tables"]["t"]["columns"]["x"] = {"keys": [i + 0.5 for i in range(90)] + [0]}
    with dp.connect(store.url, rule, rng=1) as db:
        for column, at in (("s", 1), ("n", 0), ("x", 2)):
            found = groups(db.sql(select([column, "COUNT(*)"], "t", by=[column]), EXACT))
            truth = {key: (sum(row[at] == key for row in ROWS),) for key in found}
            assert found == truth
