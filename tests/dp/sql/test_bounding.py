"""What of a unit counts: it alone decides, uniformly, and never more than was declared."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.dp.sql.stores import Store

from veil import dp
from veil.dp.sql.database import Database

Row = tuple[int | None, str, int | None]
COLUMNS = {"u": "whole", "g": "text", "v": "whole"}
EXACT = 1e12
QUERIES = [
    "SELECT g, COUNT(*), SUM(v), COUNT(v), COUNT(DISTINCT u) FROM {} GROUP BY g",
    "SELECT g, COUNT(*) FROM {} GROUP BY g",
    "SELECT COUNT(*), SUM(v), COUNT(DISTINCT u) FROM {}",
]
Found = dict[tuple[str, object], np.ndarray[Any, Any]]


def answers(
    store: Store,
    tables: Sequence[Sequence[Row]],
    most: tuple[int, int],
    keys: list[str] | None,
    seed: int = 7,
) -> list[Found]:
    """Ask everything of the rows of each table, always with the same seed; noise is 0."""
    names = [f"t{i}" for i in range(len(tables))]
    store.put_all(COLUMNS, dict(zip(names, tables, strict=True)))
    g = {} if keys is None else {"keys": keys}
    table = {
        "unit": "u", "max_rows": most[0], "max_groups": most[1],
        "columns": {"g": g, "v": {"bounds": [-5, 20]}},
    }  # fmt: skip
    rule = {
        "budget": {"ledger": "none", "epsilon": 1e15, "delta": 0.99},
        "tables": dict.fromkeys(names, table),
    }
    with dp.connect(store.url, rule) as db:
        return [_asked(db, name, 0.9 if keys is None else 0.0, seed) for name in names]


def _asked(db: Database, table: str, delta: float, seed: int) -> Found:
    found: Found = {}
    for query in QUERIES:
        seeded = Database(db._engine, db.tables, dp.Budget(1e15, 0.99), rng=seed)
        asked = seeded.sql(query.format(table), EXACT, delta)
        wide = 1 if "GROUP" in query else 0
        for row in asked.rows:
            found[query, row[0] if wide else None] = np.array(row[wide:], dtype=np.int64)
    return found


def difference(one: Found, other: Found) -> dict[tuple[str, object], list[int]]:
    keys = {**one, **other}
    found = {key: one.get(key, 0 * keys[key]) - other.get(key, 0 * keys[key]) for key in keys}
    return {key: value.tolist() for key, value in found.items() if value.any()}


rows_of_units = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 4), st.none()),
        st.sampled_from("abc"),
        st.one_of(st.integers(-9, 30), st.none(), st.just(3)),
    ),
    max_size=30,
)


def check(store: Store, rows: list[Row], most: tuple[int, int], mixed: random.Random) -> None:
    """Take a unit away: only what it counted for is gone, and that is what it counts for alone."""
    units = [*sorted({row[0] for row in rows if row[0] is not None}), 99]
    tables = [rows]
    for unit in units:
        left = [row for row in rows if row[0] != unit]
        mixed.shuffle(left)  # the order in which rows are stored plays no part
        tables += [left, [row for row in rows if row[0] == unit]]
    everything, *found = answers(store, tables, most, ["a", "b", "c", "d"])
    for i in range(len(units)):
        left_found, mine, own = found[2 * i], found[2 * i + 1], tables[2 * i + 2]
        assert difference(everything, left_found) == difference(mine, {})
        for query in QUERIES:
            part = [value for (asked, _), value in mine.items() if asked == query]
            groups = sum(bool(value.any()) for value in part)
            counts = sum(int(value[0]) for value in part)
            assert groups <= (most[1] if "GROUP" in query else 1)
            assert counts <= most[0] * (most[1] if "GROUP" in query else 1)
            wanted = Counter(row[1] if "GROUP" in query else None for row in own)
            kept = sorted((min(most[0], count) for count in wanted.values()), reverse=True)
            assert counts <= sum(kept)
            assert groups == min(len(wanted), most[1] if "GROUP" in query else 1)


@settings(
    max_examples=6, deadline=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(rows=rows_of_units, most=st.tuples(st.integers(1, 3), st.integers(1, 3)))
@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_unit_changes_what_it_counts_for_and_nothing_else(
    tmp_path: Path, engine: str, rows: list[Row], most: tuple[int, int]
) -> None:
    check(Store(engine, tmp_path), rows, most, random.Random(1))


@pytest.mark.parametrize("most", [(1, 1), (2, 1), (1, 2), (3, 2)])
def test_the_same_of_units_with_many_equal_rows(store: Store, most: tuple[int, int]) -> None:
    mixed = random.Random(5)
    rows: list[Row] = [
        (mixed.randrange(4), mixed.choice("abc"), mixed.choice([1, 1, 1, 7, None]))
        for _ in range(50)
    ]
    check(store, rows, most, mixed)


def test_secret_keys_are_bounded_alike(store: Store) -> None:
    mixed = random.Random(6)
    rows: list[Row] = [(i % 30, mixed.choice("abc"), i % 9) for i in range(200)]
    (public,) = answers(store, [rows], (2, 1), ["a", "b", "c"])
    (secret,) = answers(store, [rows], (2, 1), None)
    assert difference(secret, public) == {}


def test_samples_are_uniform(store: Store) -> None:
    """Of 1,200 units each row, group and pair of equal rows is drawn as often as it should be."""
    units = 1_200
    rows: list[Row] = []
    for u in range(units):
        rows += [(u, "a", 0), (u, "a", 0), (u, "a", 1), (u, "b", 20), (u, "b", 20), (u, "c", 5)]
    (found,) = answers(store, [rows], (1, 1), ["a", "b", "c"])
    one_group = [found[QUERIES[0], key] for key in "abc"]
    close = 4 * np.sqrt(units * 2 / 9)
    assert all(abs(int(value[0]) - units / 3) < close for value in one_group)
    assert sum(int(value[0]) for value in one_group) == units
    ones = int(one_group[0][1])  # a third of the rows of group a
    assert abs(ones - int(one_group[0][0]) / 3) < 4 * np.sqrt(units / 3 * 2 / 9)
    total = int(found[QUERIES[2], None][1])
    mean, variance = 46 / 6, (1 + 800 + 25) / 6 - (46 / 6) ** 2
    assert abs(total - units * mean) < 4 * np.sqrt(units * variance)
    (other,) = answers(store, [rows], (1, 1), ["a", "b", "c"], seed=8)
    assert difference(found, other) != {}  # another seed, another sample


def test_every_query_has_a_sample_of_its_own(duck: Store) -> None:
    duck.put("t", COLUMNS, [(i // 2, "a", i % 2) for i in range(200)])
    table = {"unit": "u", "columns": {"v": {"bounds": [0, 1]}}}
    rule = {"budget": {"ledger": "none", "epsilon": 1e15}, "tables": {"t": table}}
    with dp.connect(duck.url, rule) as db:
        found = {db.sql("SELECT SUM(v) FROM t", EXACT).rows[0][0] for _ in range(12)}
        assert not db.seeded
    assert len(found) > 3
    assert all(20 < int(value) < 80 for value in found if isinstance(value, int))
